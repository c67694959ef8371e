"""Erase a person who is no contact, by their address: one bounded page of one table in one shard at a time.

Reached from resources/address_erasure.py. No index finds an address inside data, so everything of the workspace is read
once; nothing on the way of sending pays for that. What is the person's own is emptied as with a contact; in what is
somebody else's, the address is replaced. Each statement commits alone, and all of it may be repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, assert_never
from uuid import UUID

from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.sought import SoughtAddress
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.erase import BY_ADDRESS, erase_events, erase_executions, erase_items
from tidings.storage import erase
from tidings.storage import erase_address as storage
from tidings.views.rules import RuleAudience

PAGE = 2_000
CHUNK = 200
MOST_LISTED = 5_000
LEASES_END_WITHIN_SECONDS = 5.0
LOOK_SECONDS = 0.1


class SearchStage(StrEnum):
    """What is looked through, in this order: a contact who has the address ends it before anything is erased."""

    CONTACTS = "contacts"
    EXECUTIONS = "executions"
    EVENTS = "events"
    ITEMS = "items"
    LISTS = "lists"
    AUDIT = "audit"


STAGES = tuple(SearchStage)


@dataclass
class Erasing:
    """One erasure: what for, and what was found so far."""

    kernel: Kernel
    workspace: Workspace
    sought: SoughtAddress
    now: datetime
    dry_run: bool
    found: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("executions", "events", "items", "listed", "mentions", "open"), 0)
    )

    def count(self, name: str, ids: Sequence[object]) -> None:
        """Add to what was found."""
        self.found[name] += len(ids)

    async def read(self, statement: Callable[..., Awaitable[Any]], **given: object) -> Any:
        """Run a reading statement."""
        return await self.kernel.db.persist(partial(statement, **given), alone=True)

    async def redact(self, statement: Callable[..., Awaitable[None]], shard: Shard, ids: Sequence[UUID]) -> None:
        """Replace the address in other people's records."""
        if ids and not self.dry_run:
            change = partial(statement, shard=shard, ids=ids, pattern=self.sought.pattern)
            await self.kernel.db.persist(change, alone=True)


async def erase_page(erasing: Erasing, stage: SearchStage, shard: Shard, after: UUID | None) -> UUID | None:
    """Look through one page and erase what is found; return where the next begins, or None after the last."""
    match stage:
        case SearchStage.CONTACTS:
            return await _paged(erasing, shard, after, storage.end_of_contacts, storage.seek_contacts, _contacts)
        case SearchStage.EXECUTIONS:
            return await _paged(erasing, shard, after, storage.end_of_executions, storage.seek_executions, _executions)
        case SearchStage.EVENTS:
            return await _paged(erasing, shard, after, storage.end_of_events, storage.seek_events, _events)
        case SearchStage.ITEMS:
            return await _paged(erasing, shard, after, storage.end_of_items, storage.seek_items, _items)
        case SearchStage.LISTS:
            await _lists(erasing, shard)
            return None
        case SearchStage.AUDIT:
            return await _paged(erasing, shard, after, storage.end_of_audit, storage.seek_audit, _audit)
        case _:
            assert_never(stage)


async def _paged(
    erasing: Erasing,
    shard: Shard,
    after: UUID | None,
    find_end: Callable[..., Awaitable[UUID | None]],
    seek: Callable[..., Awaitable[Any]],
    work: Callable[[Erasing, Shard, Any], Awaitable[None]],
) -> UUID | None:
    own = {} if find_end in (storage.end_of_items, storage.end_of_audit) else {"workspace": erasing.workspace}
    upto: UUID | None = await erasing.read(find_end, shard=shard, after=after, size=PAGE, **own)
    bounds = {"workspace": erasing.workspace, "sought": erasing.sought, "after": after, "upto": upto}
    if found := await erasing.read(seek, shard=shard, **bounds):
        await work(erasing, shard, found)
    return upto


async def _contacts(erasing: Erasing, shard: Shard, found: Sequence[storage.Mention]) -> None:
    if own := [str(one.id) for one in found if one.is_own]:
        named = ", ".join(own[:5])
        raise Conflict(f"the address is a contact's: delete that contact first, and what is left by address ({named})")
    ids = [one.id for one in found]
    erasing.count("mentions", ids)
    await erasing.redact(storage.redact_contacts, shard, ids)


async def _executions(erasing: Erasing, shard: Shard, found: Sequence[storage.Mention]) -> None:
    own = [one.id for one in found if one.is_own]
    ended = [one.id for one in found if not one.is_own and not one.is_live]
    erasing.count("executions", own)
    erasing.count("mentions", ended)
    erasing.count("open", [one for one in found if one.is_live and not one.is_own])
    for ids in _chunks([] if erasing.dry_run else own):
        await _erase_executions(erasing, shard, ids)
    await erasing.redact(storage.redact_executions, shard, ended)
    await erasing.redact(storage.redact_log, shard, ended)


async def _erase_executions(erasing: Erasing, shard: Shard, ids: Sequence[UUID]) -> None:
    """Erase executions; those that a worker holds once more when it lets go, since it writes what it has learned."""
    await erase_executions(erasing.kernel, shard, erasing.now, ids, BY_ADDRESS)
    waited = 0.0
    while held := await erasing.read(storage.find_leased, shard=shard, ids=ids):
        if waited >= LEASES_END_WITHIN_SECONDS:
            erasing.count("open", held)
            break
        await asyncio.sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS
    if waited:
        await erase_executions(erasing.kernel, shard, erasing.now, ids, BY_ADDRESS)


async def _events(erasing: Erasing, shard: Shard, found: Sequence[storage.MentioningEvent]) -> None:
    people = {
        RuleAudience.LEAD: [one.id for one in found if one.is_lead],
        RuleAudience.PARTNER: [one.id for one in found if one.is_partner and not one.is_lead],
        RuleAudience.AGENT: [one.id for one in found if one.is_agent and not one.is_lead],
    }
    others = [one.id for one in found if not one.is_lead]
    erasing.count("events", [one for one in found if one.is_lead or one.is_partner or one.is_agent])
    erasing.count("mentions", [one for one in found if not (one.is_lead or one.is_partner or one.is_agent)])
    for audience, ids in people.items():
        for chunk in _chunks([] if erasing.dry_run else ids):
            await erase_events(erasing.kernel, shard, erasing.now, audience, chunk, BY_ADDRESS)
    await erasing.redact(storage.redact_events, shard, others)


async def _items(erasing: Erasing, shard: Shard, found: Sequence[storage.MentionedItem]) -> None:
    own = [one for one in found if one.is_own]
    ended = [one for one in found if not one.is_own and not one.is_live]
    erasing.count("items", own)
    erasing.count("mentions", ended)
    erasing.count("open", [one for one in found if one.is_live and not one.is_own])
    if erasing.dry_run:
        return
    for some in _chunks(own):
        await erase_items(erasing.kernel, shard, erasing.now, [one.id for one in some], BY_ADDRESS)
        await _erase_listed(erasing, shard, [(one.run_id, one.ordinal) for one in some if one.run_id])
    ids = [one.id for one in ended]
    await erasing.redact(storage.redact_items, shard, ids)
    await erasing.redact(storage.redact_attempts, shard, ids)
    await _redact_listed(erasing, shard, [(one.run_id, one.ordinal) for one in ended if one.run_id])


async def _lists(erasing: Erasing, shard: Shard) -> None:
    """Take the address off lists of which nothing is an item yet: whoever plans them skips what has no recipient."""
    run_ids = [
        id
        for home in erasing.kernel.every_shard()
        for id in await erasing.read(storage.list_unplanned_lists, shard=home, workspace=erasing.workspace)
    ]
    if not run_ids:
        return
    while True:
        given = {"run_ids": run_ids, "sought": erasing.sought, "limit": MOST_LISTED}
        found: list[storage.ListedMention] = await erasing.read(storage.seek_listed, shard=shard, **given)
        own, others = [one for one in found if one.is_own], [one for one in found if not one.is_own]
        erasing.count("listed", own)
        erasing.count("mentions", others)
        if not erasing.dry_run:
            await _erase_listed(erasing, shard, [(one.run_id, one.ordinal) for one in own])
            await _redact_listed(erasing, shard, [(one.run_id, one.ordinal) for one in others])
        if erasing.dry_run or len(found) < MOST_LISTED:
            return


async def _erase_listed(erasing: Erasing, shard: Shard, places: Sequence[tuple[UUID, int]]) -> None:
    if places:
        empty = partial(erase.erase_audience, shard=shard, places=places)
        await erasing.kernel.db.persist(empty, alone=True)


async def _redact_listed(erasing: Erasing, shard: Shard, places: Sequence[tuple[UUID, int]]) -> None:
    if places:
        change = partial(
            storage.redact_listed,
            shard=shard,
            run_ids=[run_id for run_id, _ in places],
            ordinals=[ordinal for _, ordinal in places],
            pattern=erasing.sought.pattern,
        )
        await erasing.kernel.db.persist(change, alone=True)


async def _audit(erasing: Erasing, shard: Shard, found: Sequence[storage.Mention]) -> None:
    ids = [one.id for one in found]
    erasing.count("mentions", ids)
    await erasing.redact(storage.redact_audit, shard, ids)


def _chunks(found: Sequence[Any]) -> list[Sequence[Any]]:
    return [found[first : first + CHUNK] for first in range(0, len(found), CHUNK)]
