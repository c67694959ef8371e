"""The path of an execution through its graph: the state of each node, and the edges it took."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import work
from tidings.domain.caller import Caller
from tidings.domain.errors import NotFound
from tidings.domain.flow.outcome import Rejected, RetryLater, Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.executions import ExecutionPath

NODES: Sequence[Mapping[str, object]] = [
    {"id": "which", "type": "branch"},
    {"id": "vip", "type": "email", "to": "vip@example.com", "subject": "Hi", "body": "Hi"},
    {"id": "plain", "type": "email", "to": "plain@example.com", "subject": "Hi", "body": "Hi"},
    {"id": "wait", "type": "delay", "duration": "P1D"},
    {"id": "last", "type": "email", "to": "last@example.com", "subject": "Hi", "body": "Hi"},
]
FLOW: Mapping[str, object] = {
    "entryNodeId": "which",
    "nodes": NODES,
    "edges": [
        {"from": "which", "to": "vip", "condition": {"path": "plan", "op": "equals", "value": "vip"}},
        {"from": "which", "to": "plain"},
        {"from": "vip", "to": "wait"},
        {"from": "plain", "to": "wait"},
        {"from": "wait", "to": "last"},
    ],
}


async def walk(engine: Engine, caller: Caller) -> UUID:
    await engine.workflows.apply(caller, "flow", FLOW)
    started = await engine.executions.trigger(caller, "flow", {"plan": "free"}, "k1")
    await work(engine)
    return started.id


def states(path: ExecutionPath) -> dict[str, str]:
    return {node.id: node.state.value for node in path.nodes}


async def test_it_says_which_way_was_taken_and_what_waits_until_when(
    engine: Engine, clock: ManualClock, caller: Caller, stranger: Caller
) -> None:
    id = await walk(engine, caller)

    path = await engine.executions.path(caller.workspace, id)

    assert states(path) == {
        "which": "done",
        "vip": "notReached",
        "plain": "done",
        "wait": "waiting",
        "last": "notReached",
    }
    edges = {(one.from_, one.to): one.state.value for one in path.edges}
    assert edges == {
        ("which", "vip"): "dead",
        ("which", "plain"): "taken",
        ("vip", "wait"): "dead",
        ("plain", "wait"): "taken",
        ("wait", "last"): "open",
    }
    waiting = next(one for one in path.nodes if one.id == "wait")
    assert (waiting.until, waiting.why) == (clock.time + timedelta(days=1), "waits for a while")
    assert [one.visits for one in path.nodes] == [1, 0, 1, 1, 0]
    with pytest.raises(NotFound):
        await engine.executions.path(stranger.workspace, id)


async def test_at_the_end_every_node_on_the_way_is_done(engine: Engine, clock: ManualClock, caller: Caller) -> None:
    id = await walk(engine, caller)
    clock.advance(days=1)
    await work(engine)

    path = await engine.executions.path(caller.workspace, id)

    assert path.status == "completed"
    assert [one.id for one in path.nodes if one.state.value == "done"] == ["which", "plain", "wait", "last"]
    last = path.nodes[-1]
    assert (last.started_at, last.attempts) == (clock.time, 1)


@pytest.mark.parametrize(
    ("answer", "state", "why"),
    [
        (Rejected("mailbox is full"), "failed", "mailbox is full"),
        (RetryLater("busy", timedelta(hours=1)), "waiting", "busy"),
    ],
)
async def test_a_node_that_failed_or_is_tried_again_says_why(
    engine: Engine, caller: Caller, provider: FakeProvider, answer: Rejected | RetryLater, state: str, why: str
) -> None:
    provider.script = {"plain@example.com": [answer]}
    id = await walk(engine, caller)

    path = await engine.executions.path(caller.workspace, id)

    plain = next(one for one in path.nodes if one.id == "plain")
    assert (plain.state, plain.why) == (state, why)


async def test_a_paused_execution_and_one_held_in_doubt_say_so(
    engine: Engine, caller: Caller, provider: FakeProvider
) -> None:
    id = await walk(engine, caller)
    await engine.executions.pause(caller, id)
    paused = await engine.executions.path(caller.workspace, id)
    provider.script = {"plain@example.com": [Unknown("cut off")]}
    flow = {**FLOW, "nodes": [{**one, "onDoubt": "hold"} if one["id"] == "plain" else one for one in NODES]}
    await engine.workflows.apply(caller, "flow", flow)
    held = (await engine.executions.trigger(caller, "flow", {"plan": "free"}, "k2")).id
    await work(engine)

    doubtful = await engine.executions.path(caller.workspace, held)

    assert next(one.why for one in paused.nodes if one.id == "wait") == "paused"
    plain = next(one for one in doubtful.nodes if one.id == "plain")
    assert (plain.state, plain.until, plain.why) == (
        *("waiting", None),
        "in doubt: a person has to say whether it arrived",
    )
