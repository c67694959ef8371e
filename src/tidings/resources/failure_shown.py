"""Failures as people see them: groups, and pages of what is in one. Reached from failures.py."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self
from uuid import UUID

import msgspec

from tidings.domain.errors import InputInvalid
from tidings.domain.flow.failure_text import failure_id
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import NEWEST
from tidings.kernel.kernel import Kernel
from tidings.resources.names import name_contacts, name_executions, name_providers, name_runs
from tidings.storage.failures import FoundFailure
from tidings.views.failures import Failure, FailureGroup
from tidings.views.pages import Page

LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A place in the order of failures: by their times, and of one time by their ids."""

    at: datetime = LATEST
    id: UUID = NEWEST

    @classmethod
    def read(cls, cursor: str | None) -> Self:
        """Return where the last page ended, or before everything."""
        if cursor is None:
            return cls()
        try:
            at, id = msgspec.json.decode(urlsafe_b64decode(cursor.encode("ascii")), type=tuple[datetime, UUID])
        except (ValueError, msgspec.MsgspecError):
            raise InputInvalid(
                f"cursor {cursor[:50]!r} is not one of ours; take nextCursor from the page before"
            ) from None
        return cls(at.astimezone(UTC), id)

    def written(self) -> str:
        """Return the cursor of the page after this place."""
        return urlsafe_b64encode(msgspec.json.encode((self.at, self.id))).decode()


async def shown_groups(
    kernel: Kernel, workspace: Workspace, by_text: Mapping[str, Sequence[FoundFailure]]
) -> list[FailureGroup]:
    """Return groups with the names of what they happened to, the latest first."""
    found = [one for group in by_text.values() for one in group]
    workflows = await name_executions(kernel, workspace, {one.execution_id for one in found})
    campaigns = await name_runs(kernel, workspace, {one.run_id for one in found})
    providers = await name_providers(kernel, workspace, {one.call[1] for one in found if one.call})
    groups = [
        FailureGroup(
            id=failure_id(text),
            text=text,
            example=max(group, key=lambda one: one.at).error,
            count=len(group),
            people=len({one.contact_id or (one.call[2] if one.call else one.id) for one in group}),
            first_at=min(one.at for one in group),
            last_at=max(one.at for one in group),
            channels=sorted({one.call[0] for one in group if one.call}),
            providers=sorted({providers.get(one.call[1], one.call[1]) for one in group if one.call}),
            workflows=_names(workflows, (one.execution_id for one in group)),
            campaigns=_names(campaigns, (one.run_id for one in group)),
        )
        for text, group in by_text.items()
    ]
    return sorted(groups, key=lambda one: one.last_at, reverse=True)


def _names(named: Mapping[UUID, str], ids: Iterable[UUID | None]) -> list[str]:
    return sorted({named[id] for id in ids if id is not None and id in named})


async def page_of_failures(
    kernel: Kernel, workspace: Workspace, found: Sequence[tuple[Sequence[FoundFailure], Moment | None]], limit: int
) -> Page[Failure]:
    """Return the latest of what each shard has found; none from before where a shard has stopped to look."""
    stopped = max((stop for _, stop in found if stop), default=None)
    merged = sorted((one for some, _ in found for one in some), key=_place, reverse=True)
    known = [one for one in merged if stopped is None or _place(one) >= stopped]
    items = known[:limit]
    end = _place(items[-1]) if len(known) > limit else stopped
    return Page(await _shown(kernel, workspace, items), end.written() if end else None)


def _place(one: FoundFailure) -> Moment:
    return Moment(one.at, one.id)


async def _shown(kernel: Kernel, workspace: Workspace, found: Sequence[FoundFailure]) -> list[Failure]:
    contacts = await name_contacts(kernel, workspace, [one.contact_id for one in found])
    workflows = await name_executions(kernel, workspace, [one.execution_id for one in found])
    campaigns = await name_runs(kernel, workspace, [one.run_id for one in found])
    providers = await name_providers(kernel, workspace, [one.call[1] for one in found if one.call])
    return [
        Failure(
            id=one.id,
            at=one.at,
            error=one.error,
            channel=one.call[0] if one.call else None,
            provider=providers.get(one.call[1], one.call[1]) if one.call else None,
            recipient=one.call[2] if one.call else None,
            contact_id=one.contact_id,
            contact=contacts.get(one.contact_id),
            workflow_name=workflows.get(one.execution_id) if one.execution_id else None,
            campaign_name=campaigns.get(one.run_id) if one.run_id else None,
            node=one.node,
            execution_id=one.execution_id,
            item_id=one.item_id,
            run_id=one.run_id,
            event_id=one.event_id,
        )
        for one in found
    ]
