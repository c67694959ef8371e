"""Take a deleted contact out of the work for it: work under way is stopped, and finished work keeps only its outcome.

Reached from resources/contact_erasure.py when a contact is deleted, and from executions.py and event_people.py for what
was held or stored meanwhile. Each statement is bounded and commits alone: together they would take locks in another
order than facts do. Safe to repeat.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.item import ItemId, ItemStatus
from tidings.domain.flow.queue import Lane
from tidings.domain.people.contact import DELETED
from tidings.kernel.kernel import Kernel
from tidings.storage import erase, outbox
from tidings.storage.database import Tx
from tidings.views.rules import RuleAudience

PAGE = 200


class ErasureReason(NamedTuple):
    """What is told of erased work: why it was skipped, and what stands in place of errors and reasons."""

    skipped: str
    errors: str


WITH_CONTACT = ErasureReason(DELETED, "erased with the contact")
BY_ADDRESS = ErasureReason("the address was erased", "erased by address")

Statement = Callable[[Tx], Awaitable[object]]
Decisions = Sequence[Mapping[str, object]]


async def erase_everywhere(kernel: Kernel, contact_id: UUID) -> None:
    """Stop and erase the work for a contact in every shard: an execution's key decides its shard, not its contact."""
    for shard in kernel.every_shard():
        await erase_work(kernel, shard, [contact_id])
        for lane in (Lane.TRANSACTIONAL, Lane.SEQUENCES, Lane.CAMPAIGNS):
            kernel.notifier.tell(shard, lane)


async def erase_work(kernel: Kernel, shard: Shard, contact_ids: Iterable[UUID | None]) -> None:
    """Stop and erase what one shard has for deleted contacts."""
    for contact_id in filter(None, contact_ids):
        now = await kernel.clock.now()
        await _each_page(
            kernel,
            partial(erase.list_executions_to_erase, shard=shard, contact_id=contact_id),
            partial(erase_executions, kernel, shard, now),
        )
        await _each_page(
            kernel,
            partial(erase.list_items_to_erase, shard=shard, contact_id=contact_id),
            partial(erase_items, kernel, shard, now),
        )
        await _erase_tests(kernel, shard, now, contact_id)
        for audience in RuleAudience:
            await _each_page(
                kernel,
                partial(erase.list_events_to_erase, shard=shard, contact_id=contact_id, audience=audience),
                partial(erase_events, kernel, shard, now, audience),
            )


async def _each_page(
    kernel: Kernel, list_page: Callable[..., Awaitable[list[UUID]]], work: Callable[[list[UUID]], Awaitable[None]]
) -> None:
    after: UUID | None = None
    while True:
        page = await kernel.db.persist(partial(list_page, after=after, limit=PAGE), alone=True)
        if page:
            await work(page)
        if len(page) < PAGE:
            return
        after = page[-1]


async def _erase_tests(kernel: Kernel, shard: Shard, now: datetime, contact_id: UUID) -> None:
    """Erase the test sends that show a contact: they went to somebody else, and say everything about it."""
    while True:
        find = partial(erase.list_shown_tests, shard=shard, contact_id=contact_id, limit=PAGE)
        shown = await kernel.db.persist(find, alone=True)
        if not shown:
            return
        places = [(one.run_id, one.ordinal) for one in shown]
        await _alone(kernel, partial(erase.erase_audience, shard=shard, places=places))
        await erase_items(kernel, shard, now, [one.id for one in shown if one.id])


async def erase_executions(
    kernel: Kernel, shard: Shard, now: datetime, ids: Sequence[UUID], why: ErasureReason = WITH_CONTACT
) -> None:
    """Stop executions, and empty them, their items and their log."""
    await _alone(kernel, partial(erase.stop_work, shard=shard, ids=ids, now=now))
    find = partial(erase.find_items_of_executions, shard=shard, ids=ids)
    await _erase_items(kernel, shard, await kernel.db.persist(find, alone=True), why)
    await _alone(
        kernel,
        partial(erase.erase_executions, shard=shard, ids=ids, deleted=why.skipped, erased=why.errors),
        partial(erase.erase_log, shard=shard, ids=ids, erased=why.errors),
        partial(erase.erase_history, shard=shard, ids=ids),
    )


async def erase_items(
    kernel: Kernel, shard: Shard, now: datetime, ids: Sequence[UUID], why: ErasureReason = WITH_CONTACT
) -> None:
    """Skip and erase a person's own items, in jobs too; an item whose call is under way or in doubt stays so."""
    skip = partial(
        outbox.settle_unmarked_items,
        shard=shard,
        ids=[ItemId(id) for id in ids],
        statuses=[ItemStatus.SKIPPED] * len(ids),
        errors=[why.skipped] * len(ids),
        now=now,
    )
    await _alone(kernel, skip, partial(erase.wake_owners, shard=shard, ids=ids, now=now))
    await _erase_items(kernel, shard, ids, why)


async def erase_events(
    kernel: Kernel,
    shard: Shard,
    now: datetime,
    audience: RuleAudience,
    ids: Sequence[UUID],
    why: ErasureReason = WITH_CONTACT,
) -> None:
    """Erase a deleted lead's events as a whole; take anybody else out of them, and let them go on.

    Items for the other people stay; but the payload of a fallback names everybody.
    """
    is_whole = audience is RuleAudience.LEAD
    found = await kernel.db.persist(partial(erase.find_events_to_erase, shard=shard, ids=ids), alone=True)
    jobs = [one.job_id for one in found if one.job_id]
    if is_whole and jobs:
        await _alone(kernel, partial(erase.stop_work, shard=shard, ids=jobs, now=now))
    find = partial(erase.find_items_of_events, shard=shard, ids=ids, fallbacks_only=not is_whole)
    items = await kernel.db.persist(find, alone=True)
    if items:
        await erase_items(kernel, shard, now, items, why)
    whose = None if is_whole else audience
    emptied = [one._replace(decisions=_unexplained(one.decisions, whose, why.errors)) for one in found]
    await _alone(kernel, partial(erase.erase_events, shard=shard, events=emptied, audience=whose))


def _unexplained(decisions: Decisions | None, audience: RuleAudience | None, reason: str) -> Decisions | None:
    """Return decisions without their reasons, which may quote an address: those about one person, or (None) all."""
    if decisions is None:
        return None
    return [{**one, "reason": reason} if audience in {None, one.get("audience")} else dict(one) for one in decisions]


async def _erase_items(kernel: Kernel, shard: Shard, ids: Sequence[UUID], why: ErasureReason) -> None:
    if ids:
        await _alone(
            kernel,
            partial(erase.erase_items, shard=shard, ids=ids, deleted=why.skipped, erased=why.errors),
            partial(erase.erase_attempts, shard=shard, ids=ids, erased=why.errors),
            partial(erase.erase_history, shard=shard, ids=ids),
        )


async def _alone(kernel: Kernel, *statements: Statement) -> None:
    for statement in statements:
        await kernel.db.persist(statement, alone=True)
