"""The walk: it ends, runs nothing twice, and no branch waits for another."""

import dataclasses
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from tests.domain.graphs import delay, function, graph_of, graphs, send
from tidings.domain.comparison import Compare, Op
from tidings.domain.flow.doubt import LOOK_AGAIN
from tidings.domain.flow.execution import (
    Action,
    Deliver,
    ExecutionState,
    ExecutionStatus,
    Finish,
    ItemState,
    Plan,
    Sleep,
    begin,
    decide,
    first_ready,
    pass_node,
)
from tidings.domain.flow.graph import Branch, Delay, Doer, Edge, Form, Function, Graph, OnDoubt, OnFailure, Send
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.node_result import result_of

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ENDED = {ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED}


def started(graph: Graph, status: ExecutionStatus = ExecutionStatus.ENQUEUED) -> ExecutionState:
    return ExecutionState(UUID(int=1), status, begin(graph, NOW), {}, NOW)


def item(
    node: str,
    status: ItemStatus = ItemStatus.QUEUED,
    *,
    in_doubt: bool = False,
    retry_at: datetime | None = None,
    error: str | None = None,
    message_id: str | None = None,
) -> ItemState:
    return ItemState(node, status, in_doubt, retry_at, 1, message_id, error)


SENT, FAILED, SKIPPED = ItemStatus.SENT, ItemStatus.FAILED, ItemStatus.SKIPPED


# The graph walk alone, with branches


@settings(max_examples=150)
@given(graphs(), st.data())
def test_whatever_branches_are_taken_every_edge_is_settled_and_no_node_runs_twice(
    graph: Graph, data: st.DataObject
) -> None:
    frontier, ran = begin(graph, NOW), []
    while frontier.ready:
        node = data.draw(st.sampled_from([ready.node for ready in frontier.ready]))
        out = graph.edges_out[node]
        taken = data.draw(st.none() | st.sets(st.sampled_from(out))) if out else None
        note(f"{node} takes {taken}")
        before, frontier = frontier, pass_node(graph, frontier, node, NOW, taken)
        ran.append(node)
        assert before.arrived <= frontier.arrived
        assert before.dead <= frontier.dead

    assert len(ran) == len(set(ran))
    assert frontier.arrived.isdisjoint(frontier.dead)
    assert frontier.arrived | frontier.dead == frozenset(range(len(graph.edges)))
    reached = {graph.edges[edge].target for edge in frontier.arrived} | {graph.entry}
    assert set(ran) == reached


@given(graphs())
def test_without_branches_every_node_runs_once_after_all_before_it(graph: Graph) -> None:
    frontier, ran = begin(graph, NOW), []
    while ready := first_ready(graph, frontier):
        ran.append(ready.node)
        frontier = pass_node(graph, frontier, ready.node, NOW)

    assert sorted(ran) == sorted(graph.nodes)
    assert all(ran.index(edge.source) < ran.index(edge.target) for edge in graph.edges)
    assert not frontier.dead


def test_a_join_waits_for_every_branch_that_still_lives() -> None:
    diamond = graph_of([delay(name) for name in "abcd"], "ab", "ac", "bd", "cd")

    at_both = pass_node(diamond, begin(diamond, NOW), "a", NOW)
    after_b = pass_node(diamond, at_both, "b", NOW)
    after_c = pass_node(diamond, after_b, "c", NOW)

    assert {ready.node for ready in at_both.ready} == {"b", "c"}
    assert {ready.node for ready in after_b.ready} == {"c"}
    assert {ready.node for ready in after_c.ready} == {"d"}


def test_a_branch_not_taken_dies_all_the_way_and_the_join_goes_on() -> None:
    graph = graph_of([delay(name) for name in "abcxd"], "ab", "ac", "cx", "xd", "bd")

    after_a = pass_node(graph, begin(graph, NOW), "a", NOW, taken={0})
    after_b = pass_node(graph, after_a, "b", NOW)

    assert [ready.node for ready in after_a.ready] == ["b"]
    assert [ready.node for ready in after_b.ready] == ["d"]


def test_taking_no_branch_at_all_ends_the_walk() -> None:
    graph = graph_of([delay(name) for name in "abc"], "ab", "bc")

    assert pass_node(graph, begin(graph, NOW), "a", NOW, taken=()).ready == ()


def test_nodes_due_at_once_go_in_the_order_of_the_definition() -> None:
    graph = graph_of([delay("a"), send("z"), send("b")], "ab", "az")

    _, action = decide(graph, started(graph), [], NOW)

    assert action == Plan(send("z"))


def test_the_longest_chain_is_walked_in_one_go() -> None:
    names = [f"n{number}" for number in range(2000)]
    edges = tuple(Edge(one, other) for one, other in pairwise(names))
    chain = Graph("n0", {name: delay(name) for name in names}, edges)

    execution, action = decide(chain, started(chain), [], NOW)

    assert action == Finish()
    assert execution.status is ExecutionStatus.COMPLETED
    assert len(execution.vars) == 2000


# What a node does with its items


@pytest.mark.parametrize(
    ("items", "action"),
    [
        ([], Plan),
        ([item("a")], Deliver),
        ([item("a", retry_at=NOW)], Deliver),
        ([item("a", retry_at=NOW + HOUR)], Sleep),
        ([item("a", SENT), item("a", retry_at=NOW + HOUR)], Sleep),
        ([item("a", retry_at=NOW + HOUR), item("a")], Deliver),
        ([item("a", SENT)], Finish),
        ([item("a", SKIPPED)], Finish),
        ([item("a", FAILED)], Finish),
        ([item("a", in_doubt=True)], Finish),
        ([item("a", in_doubt=True, retry_at=NOW + HOUR)], Sleep),
        ([item("a", in_doubt=True, retry_at=NOW)], Deliver),
    ],
)
def test_a_lone_send_asks_for_what_its_items_need(items: list[ItemState], action: type[Action]) -> None:
    graph = graph_of([send("a")])

    _, decided = decide(graph, started(graph), items, NOW)

    assert isinstance(decided, action)


@pytest.mark.parametrize(
    ("items", "on_failure", "status"),
    [
        ([item("a", SENT)], OnFailure.ABORT, ExecutionStatus.COMPLETED),
        ([item("a", FAILED, error="no")], OnFailure.ABORT, ExecutionStatus.FAILED),
        ([item("a", FAILED, error="no")], OnFailure.CONTINUE, ExecutionStatus.COMPLETED),
        ([item("a", FAILED, error="no"), item("a", SENT)], OnFailure.ABORT, ExecutionStatus.FAILED),
        ([item("a", FAILED, error="no"), item("a", SENT)], OnFailure.CONTINUE, ExecutionStatus.COMPLETED),
        ([item("a", FAILED, error="no"), item("a", in_doubt=True)], OnFailure.ABORT, ExecutionStatus.FAILED),
        ([item("a", FAILED, error="no"), item("a", SKIPPED)], OnFailure.ABORT, ExecutionStatus.FAILED),
        ([item("a", SENT), item("a", SKIPPED)], OnFailure.ABORT, ExecutionStatus.COMPLETED),
        ([item("a", SKIPPED)], OnFailure.ABORT, ExecutionStatus.COMPLETED),
    ],
)
def test_a_send_fails_its_execution_when_any_recipient_failed(
    items: list[ItemState], on_failure: OnFailure, status: ExecutionStatus
) -> None:
    graph = graph_of([send("a", on_failure)])

    execution, action = decide(graph, started(graph), items, NOW)

    assert action == Finish()
    assert execution.status is status
    if status is ExecutionStatus.FAILED:
        of_how_many = "" if {item.status for item in items} <= {FAILED, SKIPPED} else "1 of 2 recipients failed: "
        assert (execution.error, execution.error_node) == (f"{of_how_many}no", "a")


def test_what_a_send_came_to_is_in_vars_with_how_many_went_how() -> None:
    node = send("a")
    sent, failed = item("a", SENT, message_id="m-1"), item("a", FAILED, error="no")
    said = {"messageId": "m-1", "at": NOW.isoformat()}

    def shown(*items: ItemState) -> object:
        return result_of(node, items, NOW)

    assert shown(sent) == shown(sent, sent) == {"status": "sent", **said}
    assert shown(failed, sent, item("a", in_doubt=True)) == {
        "status": "partial",
        **said,
        "error": "1 of 3 recipients failed: no",
        "recipients": {"failed": 1, "sent": 1, "in_doubt": 1},
    }
    assert shown(sent, item("a", SKIPPED)) == {"status": "sent", **said, "recipients": {"sent": 1, "skipped": 1}}


def test_a_contact_that_was_reached_at_one_of_its_addresses_is_reached() -> None:
    graph = graph_of([dataclasses.replace(send("a"), to=())])
    items = [item("a", SENT, message_id="m-1"), item("a", FAILED, error="no such device")]

    execution, action = decide(graph, started(graph), items, NOW)

    assert (action, execution.status) == (Finish(), ExecutionStatus.COMPLETED)
    assert execution.vars["a"] == {
        "status": "sent",
        "messageId": "m-1",
        "at": NOW.isoformat(),
        "recipients": {"sent": 1, "failed": 1},
    }


def test_a_node_waiting_for_a_retry_holds_up_no_other_branch() -> None:
    graph = graph_of([delay("a"), send("b"), send("c"), send("d")], "ab", "ac", "cd")
    waiting = item("b", retry_at=NOW + HOUR)
    execution, _ = decide(graph, started(graph), [], NOW)

    execution, first = decide(graph, execution, [waiting], NOW)
    execution, second = decide(graph, execution, [waiting, item("c", SENT)], NOW)
    execution, third = decide(graph, execution, [waiting, item("c", SENT), item("d", SENT)], NOW)
    _, fourth = decide(graph, execution, [waiting], NOW + HOUR)

    assert [action.node.id for action in (first, second) if isinstance(action, Plan)] == ["c", "d"]
    assert third == Sleep(NOW + HOUR)
    assert isinstance(fourth, Deliver)
    assert fourth.node.id == "b"


def test_a_fact_that_came_from_elsewhere_ends_the_wait() -> None:
    graph = graph_of([send("a"), send("b")], "ab")
    execution, action = decide(graph, started(graph), [item("a", retry_at=NOW + HOUR)], NOW)
    assert action == Sleep(NOW + HOUR)

    _, action = decide(graph, execution, [item("a", SENT)], NOW)

    assert isinstance(action, Plan)


def test_a_walk_goes_on_past_doubt_unless_the_node_holds() -> None:
    doubtful = [item("a", in_doubt=True)]
    going = graph_of([send("a", on_doubt=OnDoubt.CONTINUE), send("b")], "ab")
    holding = graph_of([send("a", on_doubt=OnDoubt.HOLD), send("b")], "ab")

    gone_on, next_action = decide(going, started(going), doubtful, NOW)
    held, parked = decide(holding, started(holding), doubtful, NOW)
    _, still_parked = decide(holding, held, doubtful, NOW + LOOK_AGAIN)
    _, resolved = decide(holding, held, [item("a", SENT)], NOW + timedelta(seconds=1))

    assert isinstance(next_action, Plan)
    assert gone_on.vars["a"] == {"status": "in_doubt", "messageId": None, "at": NOW.isoformat()}
    assert parked == Sleep(NOW + LOOK_AGAIN)
    assert still_parked == Sleep(NOW + 2 * LOOK_AGAIN)
    assert isinstance(resolved, Plan)


@pytest.mark.parametrize("status", [ExecutionStatus.FAILED, ExecutionStatus.CANCELLED])
def test_what_has_ended_walks_no_further(status: ExecutionStatus) -> None:
    graph = graph_of([send("a")])

    assert decide(graph, started(graph, status), [], NOW)[1] == Finish()


# Functions, branches, and times


def test_what_a_function_gave_is_its_result() -> None:
    graph = graph_of([function("a")])
    called = replace(item("a", SENT), result={"ticket": 7})

    execution, action = decide(graph, started(graph), [called], NOW)

    assert (action, execution.vars) == (Finish(), {"a": {"ticket": 7}})


def test_a_function_that_failed_and_is_walked_past_shows_its_error() -> None:
    graph = graph_of([function("a", OnFailure.CONTINUE)])

    execution, _ = decide(graph, started(graph), [item("a", FAILED, error="no such ticket")], NOW)

    assert execution.status is ExecutionStatus.COMPLETED
    assert execution.vars["a"] == {
        "status": "failed",
        "messageId": None,
        "at": NOW.isoformat(),
        "error": "no such ticket",
    }


def test_a_doubtful_function_holds_the_walk_by_default() -> None:
    graph = graph_of([function("a"), send("b")], "ab")

    assert decide(graph, started(graph), [item("a", in_doubt=True)], NOW)[1] == Sleep(NOW + LOOK_AGAIN)


FAILED_CALL = {"status": "failed", "messageId": None, "at": NOW.isoformat(), "error": "gone"}


def test_steps_see_results_or_errors_by_their_number() -> None:
    steps = Graph("a", {"a": function("a"), "b": function("b")}, (Edge("a", "b"),), form=Form.STEPS)
    own_words = {"status": "failed", "error": "no such guest"}  # a function may answer this, and it is a result

    for said in ({"id": 1}, own_words):
        results = {"a": said, "b": FAILED_CALL}
        assert steps.context({"name": "Ada"}, results) == {
            "name": "Ada",
            "vars": results,
            "step_0_result": said,
            "step_1_error": "gone",
        }


def test_the_accumulated_context_has_the_fields_of_results_where_the_caller_gave_no_such_name() -> None:
    steps = Graph("a", {name: function(name) for name in "abc"}, (Edge("a", "b"), Edge("b", "c")), form=Form.STEPS)
    results = {"c": {"id": 3, "name": "Eve"}, "a": {"id": 1, "first": True}, "b": FAILED_CALL}

    assert steps.accumulated({"name": "Ada"}, results) == {
        "name": "Ada",
        "id": 3,
        "first": True,
        "a": results["a"],
        "c": results["c"],
        "step_0_result": results["a"],
        "step_1_error": "gone",
        "step_2_result": results["c"],
    }
    graph = Graph("a", steps.nodes, steps.edges)
    assert graph.accumulated({"name": "Ada"}, results) == {"name": "Ada", **results}


def forked(*conditions: Compare | None) -> Graph:
    nodes = {"a": Branch("a")} | {f"n{place}": send(f"n{place}") for place in range(len(conditions))}
    edges = [Edge("a", f"n{place}", condition) for place, condition in enumerate(conditions)]
    return Graph("a", nodes, tuple(edges))


PRO, GOLD = Compare(("plan",), Op.EQUALS, "pro"), Compare(("vip",), Op.EXISTS)


@pytest.mark.parametrize(
    ("graph", "data", "taken"),
    [
        (forked(PRO, GOLD, None), {"plan": "pro", "vip": 1}, "n0"),
        (forked(PRO, GOLD, None), {"plan": "free", "vip": 1}, "n1"),
        (forked(PRO, GOLD, None), {"plan": "free"}, "n2"),
        (forked(None, PRO), {"plan": "pro"}, "n1"),
        (forked(PRO), {"plan": "free"}, None),
    ],
)
def test_a_branch_takes_the_first_edge_that_holds_or_else_its_default(
    graph: Graph, data: dict[str, object], taken: str | None
) -> None:
    execution, action = decide(graph, replace(started(graph), input=data), [], NOW)

    assert execution.vars == {"a": {"status": "completed", "taken": taken}}
    assert action == (Plan(send(taken)) if taken else Finish())
    assert len(execution.frontier.dead) == len(graph.edges) - (taken is not None)


@pytest.mark.parametrize(
    ("until", "data"), [("2026-03-02T11:00:00+01:00", {}), ("{{ at }}", {"at": "2026-03-02T10:00"})]
)
def test_a_delay_until_a_time_sleeps_until_then(until: str, data: dict[str, object]) -> None:
    graph = graph_of([Delay("a", until=until), send("b")], "ab")
    execution = replace(started(graph), input=data)

    asleep, action = decide(graph, execution, [], NOW)
    _, woken = decide(graph, asleep, [], NOW + HOUR)

    assert action == Sleep(NOW + HOUR)
    assert woken == Plan(send("b"))


def test_a_time_that_is_past_is_due_now() -> None:
    graph = graph_of([Delay("a", until="2020-01-01"), send("b")], "ab")

    assert decide(graph, started(graph), [], NOW)[1] == Plan(send("b"))


@pytest.mark.parametrize("given", ["soon", None, 5, ""])
def test_a_variable_that_is_no_time_fails_the_execution_with_the_reason(given: object) -> None:
    graph = graph_of([Delay("a", until="{{ at }}")])

    execution, action = decide(graph, replace(started(graph), input={"at": given}), [], NOW)

    assert (action, execution.status, execution.error_node) == (Finish(), ExecutionStatus.FAILED, "a")
    assert "is not a time" in str(execution.error)


def test_waiting_for_a_time_holds_up_no_other_branch() -> None:
    graph = graph_of([delay("a"), Delay("b", until="2026-03-03"), send("c")], "ab", "ac")

    assert decide(graph, started(graph), [], NOW)[1] == Plan(send("c"))


# Everything together: items that succeed, fail, retry and fall into doubt in any order


class Walk(RuleBasedStateMachine):
    """One execution as the kernel moves it, with a provider that may do anything."""

    @initialize(graph=graphs(), status=st.sampled_from([ExecutionStatus.ENQUEUED, ExecutionStatus.PAUSED]))
    def start(self, graph: Graph, status: ExecutionStatus) -> None:
        self.graph, self.now = graph, NOW
        self.execution = started(graph, status)
        self.items: list[ItemState] = []
        self.planned: list[str] = []
        self.decide()

    def decide(self) -> None:
        before = self.execution.frontier
        self.execution, self.action = decide(self.graph, self.execution, self.items, self.now)
        assert before.arrived <= self.execution.frontier.arrived
        again = decide(self.graph, self.execution, self.items, self.now)
        assert again == (self.execution, self.action), "deciding twice changes nothing"

    def own(self, node: Doer) -> list[int]:
        """The items that may be called for now."""
        return [
            place
            for place, one in enumerate(self.items)
            if one.node == node.id
            and one.status is ItemStatus.QUEUED
            and (one.retry_at <= self.now if one.retry_at else not one.in_doubt)
        ]

    @precondition(lambda self: isinstance(self.action, Plan))
    @rule(recipients=st.integers(1, 3), failed=st.booleans())
    def plan(self, recipients: int, failed: bool) -> None:
        assert isinstance(self.action, Plan)
        node = self.action.node.id
        self.planned.append(node)
        status = ItemStatus.FAILED if failed else ItemStatus.QUEUED
        self.items += [replace(item(node, status), attempts=0) for _ in range(recipients)]
        self.decide()

    @precondition(lambda self: isinstance(self.action, Deliver))
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        assert isinstance(self.action, Deliver)
        due = self.own(self.action.node)
        assert due, "asked to deliver, but nothing is due"
        for place in due:
            self.items[place] = data.draw(self.outcomes(self.items[place]))
        self.decide()

    def outcomes(self, one: ItemState) -> st.SearchStrategy[ItemState]:
        later = st.timedeltas(timedelta(seconds=1), timedelta(days=1)).map(lambda wait: self.now + wait)
        settled = replace(one, in_doubt=False, retry_at=None, attempts=one.attempts + 1)
        return st.one_of(
            st.sampled_from([SENT, FAILED, SKIPPED]).map(lambda status: replace(settled, status=status)),
            later.map(lambda at: replace(settled, retry_at=at)),
            (st.none() | later).map(lambda at: replace(settled, in_doubt=True, retry_at=at)),
        )

    @precondition(lambda self: isinstance(self.action, Sleep))
    @rule(share=st.sampled_from([0.5, 1, 3]))
    def wait(self, share: float) -> None:
        assert isinstance(self.action, Sleep)
        self.now += (self.action.until - self.now) * share
        self.decide()

    @rule()
    def look_again(self) -> None:
        self.decide()

    @precondition(lambda self: any(one.in_doubt for one in self.items))
    @rule(data=st.data(), status=st.sampled_from([SENT, FAILED, ItemStatus.QUEUED]))
    def resolve(self, data: st.DataObject, status: ItemStatus) -> None:
        place = data.draw(st.sampled_from([place for place, one in enumerate(self.items) if one.in_doubt]))
        self.items[place] = replace(self.items[place], status=status, in_doubt=False, retry_at=None)
        self.decide()

    @invariant()
    def no_node_is_planned_twice(self) -> None:
        assert len(self.planned) == len(set(self.planned))

    @invariant()
    def it_ends_or_sleeps_until_later_or_asks(self) -> None:
        ready = self.execution.frontier.ready
        match self.action:
            case Finish():
                assert self.execution.status in ENDED
                assert not ready or self.execution.status is ExecutionStatus.FAILED
            case Sleep(until):
                assert until > self.now
                assert until == min(one.due_at for one in ready), "somebody is due and nobody looks"
                assert self.execution.status not in ENDED
            case Plan(node) | Deliver(node):
                assert node.id in {one.node for one in ready}

    @invariant()
    def a_settled_branch_is_held_up_by_nobody(self) -> None:
        """Whoever sleeps has no ready node that could be planned, called for or passed."""
        if isinstance(self.action, Sleep):
            for one in self.execution.frontier.ready:
                node = self.graph.nodes[one.node]
                assert one.due_at > self.now
                assert not isinstance(node, Send | Function) or not self.own(node)
                assert not isinstance(node, Send | Function) or any(each.node == node.id for each in self.items)

    def teardown(self) -> None:
        """However it stands now, with a provider that takes everything it ends."""
        for _ in range(10 * len(self.graph.nodes) + 10):
            match self.action:
                case Finish():
                    return
                case Plan(node):
                    self.items.append(item(node.id))
                case Deliver(node):
                    for place in self.own(node):
                        self.items[place] = replace(self.items[place], status=SENT, in_doubt=False, retry_at=None)
                case Sleep(until):
                    self.now = until
                    held = [place for place, one in enumerate(self.items) if one.in_doubt and one.retry_at is None]
                    for place in held:
                        self.items[place] = replace(self.items[place], status=SENT, in_doubt=False)
            self.decide()
        raise AssertionError("the walk does not end")


Walk.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestWalk = Walk.TestCase
