"""Whose turn it is where more is due than a claim takes, and who may have one more batch under way."""

from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from math import inf
from typing import TypeAlias
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import email, graph
from tidings.domain.flow.ids import Shard, Workspace, tenant_part, workspace_hash
from tidings.domain.flow.item import Fence
from tidings.domain.flow.queue import Claimed, Kind, Lane
from tidings.engine import Engine, Trigger
from tidings.kernel.calls.weights import Weights
from tidings.kernel.flow import turns
from tidings.kernel.flow.claim import claim_due
from tidings.kernel.process import claim_turns
from tidings.kernel.process.claim_turns import DueWork, LaneTurns
from tidings.kernel.process.in_hand import AT_ONCE, LONG_SECONDS, InHand

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LANE = Lane.TRANSACTIONAL
BATCHES = AT_ONCE[LANE]


def of(tenant: str, workspace: str = "w") -> int:
    return workspace_hash(tenant, workspace)


def served(lane: LaneTurns, backlog: dict[int, float], claims: int, limit: int = 100) -> Counter[int]:
    """How many rows each gets in so many claims, while nobody's backlog ends."""
    rows: Counter[int] = Counter()
    for _ in range(claims):
        for workspace in lane.next_turn(backlog, limit):
            rows[workspace] += int(min(limit, backlog[workspace]))
    return rows


# Turns


def test_one_alone_gets_every_turn() -> None:
    assert served(LaneTurns(Weights()), {of("a"): inf}, 10) == {of("a"): 1000}


def test_a_hundred_workspaces_of_a_tenant_get_as_much_as_one_of_another() -> None:
    many = {of("many", str(number)): inf for number in range(100)}

    rows = served(LaneTurns(Weights()), {**many, of("one"): inf}, 200)

    assert 9_500 <= rows[of("one")] <= 10_500
    assert max(rows[one] for one in many) - min(rows[one] for one in many) <= 100


@pytest.mark.parametrize("whole_tenant", [False, True])
def test_a_weight_of_three_gets_three_times_as_much(whole_tenant: bool) -> None:
    weights = Weights()
    heavy, light = (of("heavy"), of("light")) if whole_tenant else (of("a", "heavy"), of("a", "light"))
    weights.update({tenant_part(heavy): 3} if whole_tenant else {}, {} if whole_tenant else {heavy: 3}, NOW)

    rows = served(LaneTurns(weights), {heavy: inf, light: inf}, 400)

    assert 2.9 <= rows[heavy] / rows[light] <= 3.1


def test_who_comes_late_is_next_and_is_not_paid_for_the_time_before() -> None:
    lane = LaneTurns(Weights())
    served(lane, {of("a"): inf}, 50)

    assert lane.next_turn({of("a"): inf, of("late"): inf}, 100) == [of("late")]
    rows = served(lane, {of("a"): inf, of("late"): inf}, 100)
    assert abs(rows[of("a")] - rows[of("late")]) <= 200


def test_among_very_many_tenants_each_workspace_of_one_has_its_turn() -> None:
    lane = LaneTurns(Weights())
    many = {of(str(number)): inf for number in range(1_100)} | {of("two", "a"): inf, of("two", "b"): inf}

    rows = served(lane, many, 4 * 1_101)

    assert rows[of("two", "a")] == rows[of("two", "b")] > 0


def test_those_with_little_to_do_share_a_claim_and_one_with_much_has_its_own() -> None:
    lane, little = LaneTurns(Weights()), {of(str(number)): 2.0 for number in range(200)}

    first, second = (lane.next_turn({**little, of("much"): inf}, 100) for _ in range(2))

    assert sorted(map(len, (first, second))) == [1, 50]
    assert [of("much")] in (first, second)


# Batches under way


def leases(*workspaces: int) -> list[Claimed]:
    return [Claimed(uuid4(), Kind.EXECUTION, Fence(1), 0, None, NOW, whose) for whose in workspaces]


def test_a_workspace_with_all_its_batches_under_way_keeps_nobody_else_from_having_one() -> None:
    in_hand = InHand()
    with ExitStack() as batches:
        for _ in range(BATCHES):
            assert in_hand.may_claim(LANE, of("a"))
            batches.enter_context(in_hand.hold(LANE, leases(of("a")), lambda: None))

        assert not in_hand.may_claim(LANE, of("a"))
        assert not in_hand.is_open(LANE)
        assert in_hand.may_claim(LANE, of("b"))
        assert in_hand.is_open(Lane.CAMPAIGNS)

    assert in_hand.is_open(LANE)


def test_batches_that_take_long_leave_their_places_to_other_workspaces_and_tenants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_hand, time = InHand(), Time(monkeypatch)
    with ExitStack() as batches:
        for _ in range(BATCHES):
            batches.enter_context(in_hand.hold(LANE, leases(of("a")), lambda: None))
        batches.enter_context(in_hand.hold(LANE, leases(of("b")), lambda: None))

        assert not in_hand.may_claim(LANE, of("a", "another"))
        assert not in_hand.may_claim(LANE, of("b"))
        time.passed += 2 * LONG_SECONDS

        assert in_hand.may_claim(LANE, of("a", "another"))
        assert in_hand.may_claim(LANE, of("b"))
        assert not in_hand.may_claim(LANE, of("a"))


class Time:
    """The time that batches are told, and so how long they take."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = 0.0
        monkeypatch.setattr("tidings.kernel.process.in_hand.monotonic", lambda: self.passed)


def test_a_tenant_has_no_more_batches_for_having_many_workspaces(monkeypatch: pytest.MonkeyPatch) -> None:
    in_hand, time = InHand(), Time(monkeypatch)
    with ExitStack() as batches:
        for number in range(2 * BATCHES):
            batches.enter_context(in_hand.hold(LANE, leases(of("a", str(number))), lambda: None))
        time.passed += 2 * LONG_SECONDS

        assert not in_hand.may_claim(LANE, of("a", "one more"))
        assert in_hand.may_claim(LANE, of("b"))


def test_what_is_released_no_longer_counts_although_its_batch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    in_hand, told, time = InHand(), list[str](), Time(monkeypatch)
    mine = leases(*[of("a")] * 2, of("b"))
    with ExitStack() as batches:
        for _ in range(BATCHES - 1):
            batches.enter_context(in_hand.hold(LANE, leases(of("a")), lambda: None))
        batches.enter_context(in_hand.hold(LANE, mine, lambda: told.append("released")))

        time.passed += 2 * LONG_SECONDS
        in_hand.release([mine[0].id])
        assert not in_hand.may_claim(LANE, of("a"))
        in_hand.release([mine[1].id])

        assert in_hand.may_claim(LANE, of("a"))
        assert told == ["released"] * 2


# On the database


async def start(engine: Engine, workspace: Workspace, count: int) -> None:
    await engine.define("flow", graph(email()), workspace)
    keys = (key for number in range(100_000) if workspace.bucket_of(key := f"k{number}") % engine.kernel.shards == 0)
    await engine.trigger_many("flow", [Trigger(next(keys), {}) for _ in range(count)], workspace)


async def claimed(engine: Engine, times: int, limit: int = 20) -> Counter[int]:
    rows: Counter[int] = Counter()
    for _ in range(times):
        rows.update(lease.workspace_hash for lease in await claim_due(engine.kernel, Shard(0), LANE, limit))
    return rows


async def test_weights_act_on_the_backlog_that_is_there(engine: Engine, sql: Sql) -> None:
    heavy, light = Workspace("heavy"), Workspace("light")
    await start(engine, heavy, 200)
    await start(engine, light, 200)
    await sql.execute("insert into tenants (tenant_id, weight, updated_at) values ('heavy', 3, $1)", NOW)

    rows = await claimed(engine, 9)

    assert rows.total() == 180
    assert 2 <= rows[heavy.hash] / rows[light.hash] <= 5  # the first claim took what was due first


async def test_everything_is_claimed_once_by_turns(engine: Engine) -> None:
    counts = {Workspace("flood", f"w{number}"): 3 for number in range(10)} | {Workspace("flood"): 90, Workspace("b"): 7}
    for workspace, count in counts.items():
        await start(engine, workspace, count)

    rows = await claimed(engine, 30, limit=10)

    assert rows == {workspace.hash: count for workspace, count in counts.items()}


async def test_a_look_goes_on_where_the_last_one_ended_and_finds_everybody(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOST_LOOKED_AT", 3)
    workspaces = [Workspace(f"t{number}") for number in range(10)]
    for workspace in workspaces:
        await start(engine, workspace, 2)
    work = engine.kernel.turns.work((Shard(0), LANE))

    for _ in range(4):
        await turns._look(engine.kernel, (Shard(0), LANE), 20)

    assert work.due == {workspace.hash: 2 for workspace in workspaces}


async def test_what_crashed_is_claimed_alone_by_turns_too(engine: Engine, clock: ManualClock) -> None:
    await start(engine, Workspace("a"), 5)
    await start(engine, Workspace("b"), 5)
    await claimed(engine, 1, limit=10)
    clock.advance(minutes=10)
    work = engine.kernel.turns.work((Shard(0), LANE))
    work.is_contested = True

    rows = await claimed(engine, 1, limit=10)

    assert rows.total() == 1


def test_rule_19_who_has_work_is_looked_up_again_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who came since without a notification waits no longer than that."""
    work, time = DueWork(), 100.0
    monkeypatch.setattr(claim_turns, "monotonic", lambda: time)
    assert work.is_old

    work.learn({1: 5.0}, None, seconds=0.001)
    assert not work.is_old

    time += claim_turns.LOOK_AGAIN_SECONDS
    assert work.is_old
