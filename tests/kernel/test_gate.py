"""The gate: one question before every mark, asked for a batch at once."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Fence, ItemId, ItemStatus, Marked, OwnerId, Planned, Reserved
from tidings.domain.flow.lateness import Appointment
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel.calls.slots import Rest
from tidings.kernel.gate.answer import NOW, Answer, Later, Never
from tidings.kernel.gate.check import Ask, GateCheck, Item
from tidings.kernel.gate.gate import Gate
from tidings.testing import marked_item


def reserved(number: int, provider: str = "fake", *, in_doubt: bool = False) -> Reserved:
    return Reserved(
        id=ItemId(UUID(int=number)),
        owner=OwnerId(UUID(int=100 + number)),
        node="hello",
        ordinal=0,
        channel=Channel.EMAIL,
        provider=provider,
        recipient="ada@example.com",
        payload={},
        key=b"",
        attempts=0,
        marked_attempt=0,
        retry_at=None,
        marked_at=None,
        first_marked_at=None,
        in_doubt=in_doubt,
        workspace=Workspace(),
    )


def marked_of(item: Reserved) -> Marked:
    return marked_item(item.recipient, provider=item.provider)


class Says:
    """A check that answers as it is told, and remembers for how many items it was asked."""

    def __init__(self, answer: Callable[[Item], Answer] | None) -> None:
        self.answer, self.asked = answer, 0

    def concerns(self, _items: Sequence[Item]) -> bool:
        return self.answer is not None

    async def prepare(self, items: Sequence[Item], _now: object) -> Ask | None:
        self.asked = len(items)
        return self.answer


@pytest.fixture
def gate(engine: Engine, clock: ManualClock) -> Gate:
    return Gate(engine.kernel, Lane.TRANSACTIONAL, {}, clock.time)


def with_checks(gate: Gate, *checks: GateCheck) -> Gate:
    gate._checks = checks
    return gate


async def test_whatever_nothing_speaks_against_may_leave_now(gate: Gate, clock: ManualClock) -> None:
    assert await gate.ask([reserved(1), reserved(2)], clock.time) == {}


async def test_the_first_check_that_speaks_against_an_item_answers_for_it(gate: Gate, clock: ManualClock) -> None:
    first, second = reserved(1), reserved(2)
    never, later = Never("refused"), Later(clock.time, "busy")
    quiet = Says(None)
    with_checks(gate, quiet, Says(lambda item: never if item.id == first.id else NOW), Says(lambda _: later))

    assert await gate.ask([first, second], clock.time) == {first.id: never, second.id: later}
    assert quiet.asked == 2


async def test_a_check_that_concerns_nothing_of_a_batch_is_not_asked_any_more(gate: Gate, clock: ManualClock) -> None:
    quiet, later = Says(None), Later(clock.time, "busy")
    with_checks(gate, quiet, Says(lambda _: later)).watch([reserved(1)])

    assert await gate.ask([reserved(1)], clock.time) == {UUID(int=1): later}
    assert quiet.asked == 0


async def test_a_provider_s_rest_lets_its_items_wait_until_then_and_no_others(
    engine: Engine, gate: Gate, clock: ManualClock
) -> None:
    until = clock.time + timedelta(seconds=30)
    await gate.ask([], clock.time)  # the rests are read
    engine.kernel.rests.extend({"fake": Rest(until, "not so fast")})

    answers = await gate.ask([reserved(1), reserved(2, "nobody")], clock.time)

    assert answers[UUID(int=1)] == Later(until, "its provider rests")
    assert isinstance(other := answers[UUID(int=2)], Later)
    assert other.why == "this worker does not serve its provider"


async def test_a_worker_that_drains_marks_nothing_and_begins_nothing(
    engine: Engine, gate: Gate, clock: ManualClock
) -> None:
    item = reserved(1)
    assert gate.still_allows(marked_of(item), item, clock.time)

    engine.kernel.draining.set()

    assert await gate.ask([item], clock.time) == {item.id: Later(clock.time, "this worker drains")}
    assert not gate.still_allows(marked_of(item), item, clock.time)


async def test_what_is_too_late_never_leaves_unless_it_may_have_arrived(gate: Gate, clock: ManualClock) -> None:
    late, doubtful = reserved(1), reserved(2, in_doubt=True)
    appointment = Appointment(clock.time - timedelta(hours=2), timedelta(hours=1))
    gate.lateness.appointments |= {late.id: appointment, doubtful.id: appointment}

    answers = await gate.ask([late, doubtful], clock.time)

    assert answers.keys() == {late.id}
    assert isinstance(answer := answers[late.id], Never)
    assert (answer.status, answer.why.split(":")[0]) == (ItemStatus.SKIPPED, "late by 2")


async def test_items_that_are_only_planned_are_asked_about_alike(
    engine: Engine, gate: Gate, clock: ManualClock
) -> None:
    planned = Planned(
        id=ItemId(UUID(int=1)),
        owner=OwnerId(UUID(int=2)),
        fence=Fence(1),
        node="hello",
        visit=1,
        ordinal=0,
        channel=Channel.EMAIL,
        provider="fake",
        recipient="ada@example.com",
        payload={},
        key=b"",
        workspace=Workspace(),
    )
    engine.kernel.draining.set()

    assert (await gate.ask([planned], clock.time)).keys() == {planned.id}
