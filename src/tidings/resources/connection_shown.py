"""Connections and the kinds of providers as people see them. Reached from connections.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec.structs import replace

from tidings.domain.connections.kind import ProviderKind
from tidings.domain.flow.readiness import Staff
from tidings.storage.connections import ListedConnection
from tidings.storage.rests import StoredRest
from tidings.storage.routes import ChannelRoute
from tidings.views.connections import KindDocument, KindSetting, ProviderConnection, ProviderKindView


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of all providers at one moment."""

    now: datetime
    staff: Staff
    resting: Mapping[str, StoredRest]

    def shown(self, one: ListedConnection) -> ProviderConnection:
        """Return a connection with its state."""
        view = ProviderConnection(
            id=one.id,
            name=one.name,
            channel=one.channel,
            provider=one.kind,
            settings=one.settings,
            credentials=one.credential_names,
            limits=msgspec.to_builtins(one.limits),
            position=one.position,
            weight=one.weight,
            sticky=one.is_sticky,
            enabled=one.is_enabled,
            created_at=one.created_at,
            updated_at=one.updated_at,
        )
        return self._with_state(view, one.provider)

    def shown_route(self, route: ChannelRoute) -> ProviderConnection:
        """Return what the operator has set up for a channel, as a connection."""
        view = ProviderConnection(
            id=uuid5(NAMESPACE_OID, f"{route.channel}:{route.provider}"),  # always the same, and nothing's own
            name=route.provider,
            channel=route.channel,
            provider=route.provider,
            operators=True,
            created_at=route.since,
        )
        return self._with_state(view, route.provider)

    def _with_state(self, view: ProviderConnection, provider: str) -> ProviderConnection:
        rest = self.resting.get(provider)
        until = rest.until if rest and rest.until > self.now else None
        state = "resting" if until else "ready" if self.staff.serves(provider) else "unserved"
        is_tried = rest is not None and rest.since is not None
        return replace(
            view,
            state=state if view.enabled else "disabled",
            circuit="open" if until else "halfOpen" if is_tried else "closed",
            rests_until=until,
            # What the operator's provider said may be about another workspace's message.
            reason=rest.reason if rest and not view.operators else None,
        )


def shown_kind(kind: ProviderKind) -> ProviderKindView:
    """Return what can be connected, and what it must be told."""
    settings = [
        KindSetting(
            name=one.name,
            doc=one.doc,
            type=one.type,
            required=one.is_required,
            secret=one.is_secret,
            default=one.default,
            choices=one.choices,
            example=one.example,
        )
        for one in kind.settings
    ]
    documents = [KindDocument(title=one.title, read_on=one.read_on.isoformat()) for one in kind.follows]
    return ProviderKindView(
        name=kind.name, title=kind.title, channels=kind.channels, settings=settings, documents=documents
    )
