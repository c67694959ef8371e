"""Rules as people manage them and as events are routed by them.

Reached from resources/rules.py and kernel/start/event.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from tidings.domain.errors import Conflict
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import channels_needing_routes
from tidings.domain.paging import Span
from tidings.domain.people.recipients import RuleAudience
from tidings.domain.rules.rule import RuleDefinition, RuleKey, read_rule
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("rules")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShownRule:
    """A rule as a person sees it."""

    id: UUID
    trigger: str
    channel: Channel
    audience: RuleAudience
    enabled: bool
    steps: Sequence[Json]
    created_at: datetime
    updated_at: datetime
    not_ready: Sequence[Channel] = ()
    """The channels of its steps that no provider is set up for: the items of those fail, or fall back."""

    @property
    def channels(self) -> Sequence[Channel]:
        """What its enabled steps send over."""
        return channels_needing_routes(step.channel for step in self.rule.enabled_steps)

    @property
    def key(self) -> RuleKey:
        """What it is known by."""
        return RuleKey(self.trigger, self.channel, self.audience)

    @property
    def rule(self) -> RuleDefinition:
        """The rule as it is routed by."""
        read = read_rule(
            {
                "trigger": self.trigger,
                "channel": self.channel,
                "audience": self.audience,
                "enabled": self.enabled,
                "steps": self.steps,
            },
            is_stored=True,
        )
        return RuleDefinition(read.key, read.enabled, read.steps, self.id)


async def insert_rule(
    tx: Tx,
    *,
    id: UUID,
    tenant: str,
    workspace: str,
    key: RuleKey,
    enabled: bool,
    steps: Sequence[Json],
    required: Sequence[str],
    now: datetime,
) -> None:
    """Make a rule unless its key is taken."""
    await tx.fetch(
        _SQL["insert_rule"],
        id=id,
        tenant=tenant,
        workspace=workspace,
        trigger=key.trigger,
        channel=key.channel,
        audience=key.audience,
        enabled=enabled,
        steps=steps,
        required=required,
        now=now,
    )


async def lock_rule(
    tx: Tx, *, tenant: str, workspace: str, id: UUID | None = None, key: RuleKey | None = None
) -> ShownRule | None:
    """One rule by id or by key, kept until the transaction ends."""
    row = await tx.fetch_one(_SQL["lock_rule"], tenant=tenant, workspace=workspace, id=id, **_named(key))
    return _rule(row) if row else None


async def update_rule(
    tx: Tx, *, id: UUID, key: RuleKey, enabled: bool, steps: Sequence[Json], required: Sequence[str], now: datetime
) -> None:
    """Make a rule say this, or raise Conflict when another has the key."""
    try:
        await tx.fetch(
            _SQL["update_rule"],
            id=id,
            trigger=key.trigger,
            channel=key.channel,
            audience=key.audience,
            enabled=enabled,
            steps=steps,
            required=required,
            now=now,
        )
    except asyncpg.UniqueViolationError as error:
        raise Conflict(f"there is a rule for {key} already; change that one") from error


async def delete_rule(tx: Tx, *, tenant: str, workspace: str, id: UUID) -> bool:
    """Remove a rule; False when there is none."""
    return await tx.fetch_one(_SQL["delete_rule"], tenant=tenant, workspace=workspace, id=id) is not None


async def find_rule(
    tx: Tx, *, tenant: str, workspace: str, id: UUID | None = None, key: RuleKey | None = None
) -> ShownRule | None:
    """One rule by id or by key, if there is one."""
    row = await tx.fetch_one(_SQL["find_rule"], tenant=tenant, workspace=workspace, id=id, **_named(key))
    return _rule(row) if row else None


async def list_rules(
    tx: Tx,
    *,
    tenant: str,
    workspace: str,
    trigger: str | None,
    channel: str | None,
    audience: str | None,
    enabled: bool | None,
    span: Span,
    limit: int,
) -> list[ShownRule]:
    """A workspace's rules, newest first."""
    rows = await tx.fetch(
        _SQL["list_rules"],
        tenant=tenant,
        workspace=workspace,
        trigger=trigger,
        channel=channel,
        audience=audience,
        enabled=enabled,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_rule(row) for row in rows]


async def rules_of_trigger(tx: Tx, *, tenant: str, workspace: str, trigger: str) -> list[ShownRule]:
    """What an event of this trigger is routed by."""
    rows = await tx.fetch(_SQL["rules_of_trigger"], tenant=tenant, workspace=workspace, trigger=trigger)
    return [_rule(row) for row in rows]


async def read_enabled(tx: Tx, *, ids: Sequence[UUID]) -> Mapping[UUID, bool | None]:
    """Whether each of some rules is enabled; None where it was deleted."""
    return {row["id"]: row["enabled"] for row in await tx.fetch(_SQL["read_enabled"], ids=ids)}


async def list_triggers(tx: Tx, *, tenant: str, workspace: str) -> list[str]:
    """Every trigger that some rule of a workspace knows."""
    return [row["trigger"] for row in await tx.fetch(_SQL["list_triggers"], tenant=tenant, workspace=workspace)]


def _named(key: RuleKey | None) -> dict[str, str | None]:
    trigger, channel, audience = key or (None, None, None)
    return {"trigger": trigger, "channel": channel, "audience": audience}


def _rule(row: Row) -> ShownRule:
    return ShownRule(
        id=row["id"],
        trigger=row["trigger"],
        channel=Channel(row["channel"]),
        audience=RuleAudience(row["audience"]),
        enabled=row["enabled"],
        steps=row["steps"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
