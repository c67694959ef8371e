"""The model's guards and the real statements, side by side: after every random step the rows must be the same.

One owner at a time with two items. Fences and mark numbers are often stale on purpose; times are pushed by the test.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, cast
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.kernel.scenes import Sql, email, graph
from tests.model import guards
from tests.model.guards import Wish
from tests.model.states import Fact, Item, Row, Status, Time
from tidings.domain.flow.execution import ExecutionState, ExecutionStatus, Frontier
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id, make_id
from tidings.domain.flow.item import Channel, Fence, ItemId, ItemStatus, OwnerId, Planned, Reserved
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Claimed, Kind, Lane, Stop
from tidings.domain.flow.retry import GRAPH
from tidings.engine import Engine
from tidings.kernel.process.claim_floor import BEGINNING
from tidings.storage import claim, finalize, outbox, release, resolve
from tidings.storage.claim import ClaimScope
from tidings.storage.database import Tx
from tidings.storage.release import MovedExecution
from tidings.testing import marked_item

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PAST, FUTURE = NOW - timedelta(minutes=1), NOW + timedelta(hours=1)
TIMES: dict[Time, datetime | None] = {"none": None, "later": FUTURE, "due": PAST}
OWNERS, STEPS = 30, 40

ROW = "select fence, leased, due_at <= $2 as due, wake, stop is not null as stop, crashes from queue where id = $1"
ITEMS = """
    select ordinal, status, marked_attempt, coalesce(marked_fence, 0) as marked_fence,
           marked_at is not null as marked, attempts, in_doubt,
           case when retry_at is null then 'none' when retry_at <= $2 then 'due' else 'later' end as retry
      from outbox where execution_id = $1
"""


@dataclass
class Pair:
    """An owner in the database, and the same owner in the model."""

    engine: Engine
    sql: Sql
    random: Random
    owner: UUID
    row: Row | None
    items: list[Item | None]
    fences: list[int]
    lane: Lane = Lane.TRANSACTIONAL

    @property
    def shard(self) -> Shard:
        return self.engine.kernel.shard_of(self.owner)

    async def commit(self, write: Callable[[Tx], Any]) -> Any:
        async with self.engine.kernel.db.transaction() as tx:
            return await write(tx)

    def fence(self) -> int:
        """The right one mostly; else one of before."""
        is_stale = self.row is None or self.random.random() < 0.3
        return self.random.choice(self.fences) if self.row is None or is_stale else self.row.fence

    def attempt(self, item: Item) -> int:
        return max(item.marked_attempt + self.random.choice([0, 0, -1]), 0)

    def existing(self) -> list[int]:
        return [place for place, item in enumerate(self.items) if item is not None]

    def id(self, place: int) -> ItemId:
        return ItemId(make_id(bucket_of_id(self.owner), PAST, self.owner.int % 2**61 + place))

    def outgoing(self, place: int, fence: int, *, attempt: int, attempts: int = 0, in_doubt: bool = False) -> Outgoing:
        row = reserved_row(self, place, marked_attempt=attempt, attempts=attempts, in_doubt=in_doubt)
        return Outgoing(row, Fence(fence), {}, GRAPH)

    async def real(self) -> tuple[Row | None, list[Item | None]]:
        """What the database has."""
        row = await self.sql.fetchrow(ROW, self.owner, NOW)
        items: list[Item | None] = [None, None]
        for found in await self.sql.fetch(ITEMS, self.owner, NOW):
            values = dict(found)
            place = values.pop("ordinal")
            items[place] = Item(**values)
        return (Row(**dict(row)) if row else None), items


# The steps: each does the same to both sides.


async def claimed(pair: Pair) -> None:
    until = FUTURE + timedelta(microseconds=len(pair.fences))
    taken = await pair.commit(
        lambda tx: claim.claim_due(tx, scope=ClaimScope(pair.shard, pair.lane, BEGINNING, NOW, until, 10))
    )
    row = guards.claim(pair.row)
    assert [(one.fence, one.crashes, one.stop is not None) for one in taken.leases if one.id == pair.owner] == (
        [(row.fence, row.crashes, row.stop)] if row else []
    )
    if row:
        pair.row = row
        pair.fences.append(row.fence)
        reread = await pair.commit(
            lambda tx: claim.reread_claim(tx, shard=pair.shard, lane=pair.lane, lease_until=until)
        )
        assert [one.id for one in reread] == [pair.owner]
        assert guards.reread(pair.row, row.fence)


async def renewed(pair: Pair) -> None:
    fence = pair.fence()
    held = await pair.commit(
        lambda tx: claim.renew_leases(tx, shard=pair.shard, ids=[pair.owner], fences=[Fence(fence)], lease_until=FUTURE)
    )
    row = guards.renew(pair.row, fence)
    assert bool(held) is (row is not None)
    pair.row = row or pair.row


async def gave_back(pair: Pair) -> None:
    fence = pair.fence()
    await pair.commit(
        lambda tx: claim.give_back_leases(tx, shard=pair.shard, ids=[pair.owner], fences=[Fence(fence)], due_at=FUTURE)
    )
    pair.row = guards.give_back(pair.row, fence)


async def reserved(pair: Pair) -> None:
    place, fence = pair.random.randrange(2), pair.fence()
    planned = Planned(
        id=pair.id(place),
        owner=OwnerId(pair.owner),
        fence=Fence(fence),
        node="hello",
        visit=1,
        ordinal=place,
        channel=Channel.EMAIL,
        provider="fake",
        recipient="ada@example.com",
        payload={},
        key=pair.owner.bytes + bytes([place] * 16),
        workspace=Workspace(),
    )
    wish = pair.random.random() < 0.5
    await pair.commit(lambda tx: outbox.reserve_items(tx, shard=pair.shard, items=[planned], marks=[wish], now=NOW))
    pair.items[place] = guards.reserve(pair.row, pair.items[place], fence, wish=wish)
    found = await pair.commit(lambda tx: outbox.reread_reserved(tx, shard=pair.shard, items=[planned]))
    assert bool(found) is guards.reread_reserved(pair.row, pair.items[place], fence)


def reserved_row(pair: Pair, place: int, *, marked_attempt: int, attempts: int, in_doubt: bool) -> Reserved:
    return Reserved(
        id=pair.id(place),
        owner=OwnerId(pair.owner),
        node="hello",
        ordinal=place,
        channel=Channel.EMAIL,
        provider="fake",
        recipient="ada@example.com",
        payload={},
        key=b"",
        attempts=attempts,
        marked_attempt=marked_attempt,
        retry_at=None,
        marked_at=None,
        first_marked_at=None,
        in_doubt=in_doubt,
        workspace=Workspace(),
    )


async def marked(pair: Pair, place: int, item: Item) -> None:
    again = item.in_doubt if pair.random.random() < 0.8 else not item.in_doubt
    read = pair.attempt(item)
    wish = Wish(pair.fence(), read + 1, item.attempts + 1, again)
    outgoing = pair.outgoing(place, wish.fence, attempt=read, attempts=item.attempts, in_doubt=again)
    for _ in range(pair.random.choice([1, 2])):  # the second is what follows an unknown commit
        done = await pair.commit(lambda tx: outbox.mark_items(tx, shard=pair.shard, outgoing=[outgoing], now=NOW))
        held = pair.items[place]
        assert held is not None
        assert bool(done) is guards.may_mark(pair.row, held, wish)
        pair.items[place] = guards.mark(pair.row, held, wish)


async def unmarked(pair: Pair, place: int, item: Item) -> None:
    fence = item.marked_fence if pair.random.random() < 0.8 else pair.fence()
    attempt, doubtful = pair.attempt(item), pair.random.random() < 0.5
    mark = replace(marked_item(attempt=attempt), id=pair.id(place), owner=OwnerId(pair.owner), fence=Fence(fence))
    unstarted = mark, pair.outgoing(place, fence, attempt=attempt, in_doubt=doubtful)
    await pair.commit(lambda tx: outbox.unmark_items(tx, shard=pair.shard, items=[unstarted], now=NOW))
    pair.row, pair.items[place] = guards.unmark(pair.row, item, fence, attempt, doubtful=doubtful)


async def told(pair: Pair, place: int, item: Item) -> None:
    status = pair.random.choice(["queued"] * 8 + ["sent", "failed"])
    retry = pair.random.choice(["none", "later"]) if status == "queued" else "none"
    flags = pair.random.random() < 0.5, pair.random.random() < 0.5
    fact = Fact(pair.fence(), pair.attempt(item), cast(Status, status), *flags, cast(Time, retry))
    stored = finalize.Fact(
        pair.id(place),
        Fence(fact.fence),
        fact.attempt,
        ItemStatus(status),
        fact.unknown,
        fact.uses_attempt,
        TIMES[fact.retry],
    )
    taken = await pair.commit(lambda tx: finalize.finalize_items(tx, shard=pair.shard, facts=[stored], now=NOW))
    assert bool(taken) is guards.takes_fact(item, fact)
    pair.row, pair.items[place] = guards.finalize(pair.row, item, fact)


async def doubted(pair: Pair, place: int, item: Item) -> None:
    fence, attempt = pair.fence(), pair.attempt(item)
    lost = pair.outgoing(place, fence, attempt=attempt)
    await pair.commit(lambda tx: finalize.doubt_items(tx, shard=pair.shard, items=[lost.item], fences=[lost.fence]))
    pair.items[place] = guards.doubt(pair.row, item, fence, attempt)


async def cleared(pair: Pair, place: int, item: Item) -> None:
    fence, attempt = pair.fence(), pair.attempt(item)
    lost = pair.outgoing(place, fence, attempt=attempt)
    await pair.commit(
        lambda tx: finalize.clear_doubtful_items(tx, shard=pair.shard, items=[lost.item], fences=[lost.fence])
    )
    pair.items[place] = guards.clear(pair.row, item, fence, attempt)


async def scheduled(pair: Pair, place: int, item: Item) -> None:
    fence, retry = pair.fence(), cast(Time, pair.random.choice(["none", "later"]))
    lost = pair.outgoing(place, fence, attempt=item.marked_attempt)
    await pair.commit(
        lambda tx: finalize.schedule_doubtful_items(
            tx, shard=pair.shard, items=[lost.item], fences=[lost.fence], retry_at=[TIMES[retry]]
        )
    )
    pair.items[place] = guards.schedule(pair.row, item, fence, retry)


async def settled(pair: Pair, place: int, item: Item) -> None:
    status = cast(Status, pair.random.choice(["skipped", "failed"]))
    await pair.commit(
        lambda tx: outbox.settle_unmarked_items(
            tx, shard=pair.shard, ids=[pair.id(place)], statuses=[ItemStatus(status)], errors=["why"], now=NOW
        )
    )
    pair.items[place] = guards.settle(item, status)


async def released(pair: Pair) -> None:
    fence, stop = pair.fence(), bool(pair.row and pair.row.stop and pair.random.random() < 0.3)
    due = cast(Time, pair.random.choice(["due", "due", "later", "later", "none"]))
    lease = Claimed(pair.owner, Kind.EXECUTION, Fence(fence), 0, Stop.CANCEL if stop else None, NOW)
    status = ExecutionStatus.COMPLETED if due == "none" else ExecutionStatus.ENQUEUED
    execution = ExecutionState(pair.owner, status, Frontier(), {}, NOW)
    move = MovedExecution(lease, execution, None, NOW if due == "none" else None, TIMES[due])
    lost = await pair.commit(lambda tx: release.release_executions(tx, shard=pair.shard, moves=[move], now=NOW))
    pair.row, has_moved = guards.release(pair.row, fence, due, stop=stop)
    assert bool(lost) is not has_moved


async def woken(pair: Pair) -> None:
    at = cast(Time, pair.random.choice(["due", "later"]))
    found = await pair.commit(
        lambda tx: release.wake_owner(tx, shard=pair.shard, id=pair.owner, at=PAST if at == "due" else FUTURE)
    )
    assert found is (pair.row is not None)
    pair.row = pair.row and guards.wake(pair.row, at)


async def cancelled(pair: Pair) -> None:
    await pair.commit(lambda tx: resolve.stop_owner(tx, shard=pair.shard, id=pair.owner, stop=Stop.CANCEL, now=NOW))
    pair.row = pair.row and guards.cancel(pair.row)


async def time_passed(pair: Pair) -> None:
    await pair.sql.execute("update queue set due_at = $2 where id = $1", pair.owner, PAST)
    pair.row = pair.row and pair.row._replace(due=True)


OF_OWNERS = [claimed, claimed, renewed, reserved, reserved, released, woken, time_passed, time_passed]
SELDOM = [gave_back, cancelled]
OF_ITEMS = [
    *(marked, marked, marked, marked, marked, unmarked, unmarked, told, told, told),
    *(doubted, doubted, cleared, scheduled, settled),
]


async def take_step(pair: Pair) -> str:
    random = pair.random
    if (places := pair.existing()) and random.random() < 0.6:
        place = random.choice(places)
        about_item, item = random.choice(OF_ITEMS), pair.items[place]
        assert item is not None
        await about_item(pair, place, item)
        return about_item.__name__
    about_owner = random.choice(SELDOM if random.random() < 0.1 else OF_OWNERS)
    await about_owner(pair)
    return about_owner.__name__


@pytest.mark.parametrize("seed", range(4))
async def test_the_guards_do_what_the_statements_do(engine: Engine, sql: Sql, seed: int) -> None:
    random, seen = Random(seed), set[str]()
    await engine.define("flow", graph(email()))
    for number in range(OWNERS):
        await sql.execute("delete from queue")
        owner = (await engine.trigger("flow", {}, f"k{number}")).id
        await sql.execute("update queue set due_at = $1, fence = 1", PAST)  # 0 is the model's word for null
        pair = Pair(engine, sql, random, owner, None, [None, None], [])
        pair.row, pair.items = await pair.real()
        assert pair.row is not None
        pair.fences.append(pair.row.fence)
        for _ in range(STEPS):
            step = await take_step(pair)
            seen.add(step)
            assert await pair.real() == (pair.row, pair.items), f"after {step}, owner {number} of seed {seed}"

    assert {step.__name__ for step in [*OF_OWNERS, *OF_ITEMS]} <= seen
