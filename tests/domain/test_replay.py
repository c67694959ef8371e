"""Reopening a failed execution: which items are tried again, which are not, and when it is refused."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from tidings.domain.flow.execution import Frontier, Ready
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.replay import FailedExecution, Reopening, ReplayRefused, TriedItem, reopen

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def failed(*nodes: str) -> FailedExecution:
    """One that stands at these nodes and failed at the first."""
    frontier = Frontier(tuple(Ready(node, LATER) for node in nodes), frozenset({0}), frozenset({3}))
    return FailedExecution(frontier, {"before": 1, nodes[0]: 2}, "no", nodes[0], Lane.TRANSACTIONAL)


def item(
    number: int,
    status: ItemStatus = ItemStatus.FAILED,
    node: str = "a",
    *,
    in_doubt: bool = False,
    marks: int = 1,
    uncertain: bool = False,
) -> TriedItem:
    return TriedItem(UUID(int=number), node, status, in_doubt, marks, uncertain)


def reopened(execution: FailedExecution, *items: TriedItem) -> Reopening:
    found = reopen(execution, items, NOW)
    assert isinstance(found, Reopening)
    return found


def test_the_node_that_failed_is_ready_now_and_the_others_when_they_were() -> None:
    found = reopened(failed("a", "b"))

    assert found.frontier == Frontier((Ready("a", NOW), Ready("b", LATER)), frozenset({0}), frozenset({3}))
    assert (found.cursor, found.vars) == ("a", {"before": 1})
    assert (found.requeued, found.forgotten) == ([], [])


def test_refused_items_are_tried_again_and_sent_ones_are_not() -> None:
    found = reopened(failed("a"), item(1), item(2, ItemStatus.SENT), item(3, ItemStatus.SKIPPED), item(4, marks=0))

    assert (set(found.requeued), found.forgotten) == ({UUID(int=1), UUID(int=4)}, [])


def test_items_that_nothing_was_ever_called_for_are_planned_anew() -> None:
    found = reopened(failed("a"), item(1, marks=0), item(2, marks=0))

    assert (found.requeued, set(found.forgotten)) == ([], {UUID(int=1), UUID(int=2)})


def test_items_of_the_other_nodes_it_stands_at_are_tried_again_and_those_behind_it_are_not() -> None:
    found = reopened(failed("a", "b"), item(1), item(2, node="b"), item(3, node="before"))

    assert set(found.requeued) == {UUID(int=1), UUID(int=2)}


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([item(1, ItemStatus.QUEUED, in_doubt=True)], "in doubt"),
        ([item(1, uncertain=True)], "nobody knows"),
        ([item(1, ItemStatus.QUEUED, in_doubt=True), item(2, uncertain=True)], "in doubt"),
    ],
)
def test_a_node_of_which_everything_may_have_arrived_is_refused(items: list[TriedItem], reason: str) -> None:
    found = reopen(failed("a"), items, NOW)

    assert isinstance(found, ReplayRefused)
    assert reason in found.reason


def test_what_may_have_arrived_is_left_alone_beside_what_is_tried_again() -> None:
    found = reopened(failed("a"), item(1, uncertain=True), item(2, ItemStatus.QUEUED, in_doubt=True), item(3))

    assert (found.requeued, found.forgotten) == ([UUID(int=3)], [])


def test_a_node_of_which_something_was_sent_is_walked_past() -> None:
    found = reopened(failed("a"), item(1, ItemStatus.SENT), item(2, ItemStatus.QUEUED, in_doubt=True))

    assert (found.requeued, found.forgotten) == ([], [])


def test_a_call_of_an_idempotent_function_is_repeated_whatever_became_of_it() -> None:
    execution = msgspec.structs.replace(failed("a"), idempotent=frozenset({"a"}))

    given_up = reopened(execution, item(1, uncertain=True))
    doubtful = reopened(execution, item(1, ItemStatus.QUEUED, in_doubt=True))

    assert (given_up.requeued, doubtful.requeued) == ([UUID(int=1)], [])
    assert isinstance(reopen(failed("a"), [item(1, uncertain=True)], NOW), ReplayRefused)


def test_a_node_whose_only_failure_may_have_arrived_is_not_tried_again_though_others_were_reached() -> None:
    found = reopen(failed("a"), [item(1, ItemStatus.SENT), item(2, uncertain=True)], NOW)

    assert isinstance(found, ReplayRefused)
    assert "nobody knows" in found.reason
