"""How many slots each may have, however long the calls of the first to come hang."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from itertools import count

import pytest

from tidings.domain.flow.ids import tenant_part, workspace_hash
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.fair_use import FairUse
from tidings.kernel.calls.slots import Slots
from tidings.kernel.calls.turn_queue import Turn, TurnQueue
from tidings.kernel.calls.weights import Weights

LANE = Lane.TRANSACTIONAL


def of(tenant: str, workspace: str = "w") -> int:
    return workspace_hash(tenant, workspace)


def take_all(use: FairUse, whose: int, size: int) -> int:
    """Take one after the other for as long as a workspace may; return how many that were."""
    for taken in count():
        if not use.may_take(whose, size - use.taken):
            return taken
        use.take(whose)
    raise AssertionError


@pytest.mark.parametrize("size", [1, 2, 16])
def test_one_alone_gets_all_of_a_few(size: int) -> None:
    assert take_all(FairUse(Weights()), of("a"), size) == size


def test_one_alone_gets_nearly_all_of_many_and_the_rest_goes_to_who_comes_next() -> None:
    use = FairUse(Weights())

    taken = [take_all(use, of(tenant), 900) for tenant in "abc"]

    assert 830 <= taken[0] <= 850
    assert all(taken)
    assert taken == sorted(taken, reverse=True)


def test_a_tenant_gets_no_more_over_a_hundred_workspaces_than_over_one() -> None:
    one, hundred = FairUse(Weights()), FairUse(Weights())

    alone = take_all(one, of("a"), 900)
    spread = sum(take_all(hundred, of("a", str(number)), 900) for number in range(100))

    assert spread <= alone + 100
    assert hundred.may_take(of("b"), 900 - hundred.taken)


def test_as_many_may_be_taken_at_once_as_one_by_one() -> None:
    at_once, one_by_one = FairUse(Weights()), FairUse(Weights())

    more = at_once.more_for(of("a"), 100)

    assert abs(more - take_all(one_by_one, of("a"), 100)) <= 1


def test_a_weight_takes_more_of_what_is_left() -> None:
    weights = Weights()
    weights.update({tenant_part(of("heavy")): 9}, {}, datetime(2026, 1, 1, tzinfo=UTC))

    assert FairUse(weights).more_for(of("heavy"), 900) > FairUse(weights).more_for(of("a"), 900)


async def test_a_newcomer_gets_a_slot_at_once_while_the_calls_of_another_hang_and_its_tasks_wait() -> None:
    slots = Slots(100)
    while slots.take(LANE, of("hangs")):
        pass
    waiting = [asyncio.create_task(slots.wait(LANE, of("hangs", str(number)))) for number in range(20)]
    await asyncio.sleep(0)

    assert slots.take(LANE, of("newcomer"))
    assert slots.promise(LANE, 1, of("newcomer")) == 1
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def served(queue: TurnQueue, turns: int) -> Counter[int]:
    """Who gets the next slots, while everybody always has a task that waits."""
    got: Counter[int] = Counter()
    for _ in range(turns):
        turn = queue.peek(lambda _: True)
        assert turn
        queue.take(turn)
        got[turn.whose] += 1
        queue.add(waiting_of(turn.whose))
    return got


def waiting_of(whose: int) -> Turn:
    return Turn(0, whose, asyncio.get_running_loop().create_future())


async def test_workspaces_of_a_tenant_take_turns_whatever_turns_other_tenants_have() -> None:
    queue = TurnQueue(Weights())
    everybody = [of("a", "one"), of("a", "two"), of("b")]
    for whose in everybody:
        queue.add(waiting_of(whose))

    got = served(queue, 400)

    assert [got[whose] for whose in everybody] == [100, 100, 200]


async def test_tenants_take_turns_for_a_slot_that_comes_free_however_many_tasks_one_of_them_has() -> None:
    slots, order = Slots(1), list[str]()
    assert slots.take(LANE, of("busy"))

    async def wait(tenant: str, workspace: str) -> None:
        assert await slots.wait(LANE, of(tenant, workspace))
        order.append(tenant)

    tasks = [asyncio.create_task(wait("busy", str(number))) for number in range(5)]
    tasks += [asyncio.create_task(wait("other", "w"))]
    await asyncio.sleep(0)
    for number in range(6):
        slots.leave(LANE, of("busy") if not number else taken_by(order, number))
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert order.index("other") <= 1


def taken_by(order: list[str], number: int) -> int:
    """The workspace that holds the one slot: tasks are served in the order in which they came within a tenant."""
    tenant = order[-1]
    return of("other") if tenant == "other" else of("busy", str(order[:number].count("busy") - 1))
