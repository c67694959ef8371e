"""Moving an enrollment to another version: the same step, the next one, or the end; nobody gets a step twice."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.domain.flow.execution import (
    ExecutionState,
    ExecutionStatus,
    Finish,
    Frontier,
    ItemState,
    Plan,
    Ready,
    Sleep,
    begin,
    decide,
)
from tidings.domain.flow.item import ItemStatus
from tidings.domain.sequences.change_version import Left, Moved, Position, VersionSteps, move
from tidings.domain.sequences.form import steps_in
from tidings.domain.workflows.definition import parse_workflow

BEGUN = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def line(*steps: tuple[str, int, int] | tuple[str, int, int, int], **settings: object) -> VersionSteps:
    """Steps as (id, order, day) or (id, order, day, hour)."""
    written = [
        {"id": id, "stepOrder": order, "dayOffset": day, "channel": "email", "content": "c"}
        | ({"sendHour": hour[0]} if hour else {})
        for id, order, day, *hour in steps
    ]
    raw = {"sequence": settings, "steps": written}
    return VersionSteps({step.id: step for step in steps_in(raw)}, parse_workflow(raw))


OLD = line(("a", 1, 0), ("b", 2, 3), ("c", 3, 7))


def standing(node: str, *open_nodes: str, done: dict[str, Any] | None = None, due: datetime = BEGUN) -> Position:
    return Position(Frontier((Ready(node, due),)), done or {}, BEGUN, "Europe/Berlin", open_nodes)


def moved(where: Position, new: VersionSteps, now: datetime = BEGUN + DAY) -> Moved:
    found = move(where, OLD, new, now)
    assert isinstance(found, Moved)
    return found


def test_whoever_waits_for_a_step_waits_for_the_same_step_by_its_new_time() -> None:
    new = line(("a", 1, 0), ("x", 2, 2), ("b", 3, 5, 9), timezone="contact")

    found = moved(standing("wait_b"), new)

    assert (found.cursor, found.due_at) == ("wait_b", datetime(2026, 6, 6, 7, tzinfo=UTC))
    assert found.frontier == Frontier((Ready("wait_b", datetime(2026, 6, 6, 7, tzinfo=UTC)),), frozenset({0, 1, 2, 3}))


def test_a_new_time_that_is_past_is_now() -> None:
    now = BEGUN + 2 * DAY

    assert moved(standing("wait_b"), line(("a", 1, 0), ("b", 2, 1)), now).due_at == now


def test_a_time_counted_from_the_step_before_starts_when_that_was_done() -> None:
    done = {"a": {"status": "sent", "at": (BEGUN + DAY / 2).isoformat()}, "wait_a": {"status": "completed"}}
    new = line(("a", 1, 0), ("b", 2, 4), offsetFrom="previous")

    assert moved(standing("wait_b", done=done), new).due_at == BEGUN + DAY / 2 + 4 * DAY
    assert moved(standing("wait_b"), new).due_at == BEGUN + 4 * DAY


@pytest.mark.parametrize(
    ("new", "target"),
    [
        (line(("a", 1, 0), ("c", 3, 7)), "wait_c"),
        (line(("a", 1, 0), ("instead", 2, 3), ("c", 3, 7)), "wait_instead"),
        (line(("a", 1, 0), ("later", 9, 9)), "wait_later"),
        (line(("early", 1, 0), ("c", 3, 7)), "wait_c"),
        (line(("c", 3, 7), ("a", 4, 7), ("d", 5, 8)), "wait_c"),
        (line(("a", 4, 7), ("d", 5, 8)), "wait_d"),  # a was sent already
        (line(("a", 1, 0)), None),
    ],
)
def test_whose_step_is_gone_waits_for_the_next_one_or_is_done(new: VersionSteps, target: str | None) -> None:
    found = moved(standing("wait_b", done={"a": {"status": "sent"}, "wait_a": {}}), new)

    assert found.cursor == target
    assert [ready.node for ready in found.frontier.ready] == ([target] if target else [])
    if target is None:
        assert found.due_at is None


def test_whose_message_is_under_way_stays_at_it_and_keeps_its_time() -> None:
    due = BEGUN + timedelta(minutes=4)

    found = moved(standing("b", "b", due=due), line(("a", 1, 0), ("x", 2, 1), ("b", 3, 9)))

    assert found == Moved(Frontier((Ready("b", due),), frozenset(range(5))), "b", None)


def test_a_message_under_way_of_a_step_that_is_gone_keeps_its_enrollment_where_it_is() -> None:
    new = line(("a", 1, 0), ("c", 3, 7))

    assert isinstance(move(standing("b", "b"), OLD, new, BEGUN), Left)
    assert isinstance(move(standing("wait_c", "b"), OLD, new, BEGUN), Left)  # in doubt, and walked past
    assert isinstance(move(Position(Frontier(), {}, BEGUN, None, ()), OLD, new, BEGUN), Left)


ORDERS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True)


@given(ORDERS, ORDERS, st.data())
def test_wherever_it_is_moved_it_comes_to_the_end_and_no_step_is_planned_twice(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    old = line(*((id, place, place) for place, id in enumerate(before)))
    new = line(*((id, place, place) for place, id in enumerate(after)))
    moment = BEGUN
    execution = ExecutionState(UUID(int=1), ExecutionStatus.ENQUEUED, begin(old.graph, BEGUN), {}, BEGUN)
    planned: list[str] = []
    stops_after = data.draw(st.integers(0, len(before)))
    while len(planned) < stops_after:
        execution, moment = walk(old, execution, moment, planned)
    execution, action = decide(old.graph, execution, [], moment)
    if isinstance(action, Finish):
        return

    where = Position(execution.frontier, execution.vars, BEGUN, None, ())
    found = move(where, old, new, moment)

    assert isinstance(found, Moved)
    execution = replace(execution, frontier=found.frontier)
    while not isinstance(decide(new.graph, execution, sent(planned), moment)[1], Finish):
        execution, moment = walk(new, execution, moment, planned)
    assert len(planned) == len(set(planned))


def sent(planned: list[str]) -> list[ItemState]:
    return [ItemState(node, ItemStatus.SENT, False, None, 1, "m", None) for node in planned]


def walk(
    line: VersionSteps, execution: ExecutionState, moment: datetime, planned: list[str]
) -> tuple[ExecutionState, datetime]:
    """One look at it: send what is planned, or sleep. Items that exist are the plan of their step."""
    execution, action = decide(line.graph, execution, sent(planned), moment)
    if isinstance(action, Plan):
        planned.append(action.node.id)
        return decide(line.graph, execution, sent(planned), moment)[0], moment
    return execution, action.until if isinstance(action, Sleep) else moment
