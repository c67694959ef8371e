"""Failures: grouped by what went wrong, looked at, and started again without sending anything twice."""

from collections import Counter
from datetime import timedelta

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import assert_kept, email, graph, work
from tests.resources.campaign_scenes import ANN, deploy, make_contacts
from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid, NotFound
from tidings.domain.flow.outcome import Accepted, Rejected
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

FLOW = graph(email("one", to="{{ to }}"))


async def fail_executions(
    engine: Engine, provider: FakeProvider, count: int = 3, error: str = "450 busy, id {}"
) -> None:
    await engine.workflows.apply(ANN, "flow", FLOW)
    for number in range(count):
        to = f"x{number}@example.com"
        provider.script[to] = [Rejected(error.format(1000 + number))]
        await engine.executions.trigger(ANN, "flow", {"to": to}, f"k{number}")
    await work(engine)


async def fail_a_run(engine: Engine, provider: FakeProvider) -> None:
    await make_contacts(engine, 4)
    provider.script |= {
        "p1@example.com": [Rejected("450 busy, id 77")],
        "p2@example.com": [Rejected("450 busy, id 78")],
        "p3@example.com": [Rejected("550 <p3@example.com> unknown")],
    }
    await deploy(engine)
    await engine.work_everything()


async def test_failures_of_one_kind_are_one_group_whatever_they_belong_to(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stranger: Caller
) -> None:
    await fail_executions(engine, provider)
    first = clock.time
    clock.advance(hours=1)
    await fail_a_run(engine, provider)

    found = await engine.failures.groups(ANN.workspace)

    assert [(one.text, one.count, one.people) for one in sorted(found.items, key=lambda one: -one.count)] == [
        ("450 busy, id #", 5, 5),
        ("550 <‹address›> unknown", 1, 1),
    ]
    busy = next(one for one in found.items if one.count == 5)
    assert (busy.first_at, busy.last_at) == (first, clock.time)
    assert (busy.channels, busy.providers, busy.workflows) == (["email"], ["fake"], ["flow"])
    assert found.complete
    lately = await engine.failures.groups(ANN.workspace, clock.time)
    assert {one.count for one in lately.items} == {1, 2}
    assert (await engine.failures.groups(stranger.workspace)).items == []


async def test_the_failures_of_a_group_are_listed_page_by_page(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await fail_executions(engine, provider, 3)
    clock.advance(minutes=1)
    await fail_a_run(engine, provider)
    [group] = [one for one in (await engine.failures.groups(ANN.workspace)).items if one.count == 5]

    seen, cursor = [], None
    while True:
        page = await engine.failures.items(ANN.workspace, group.id, limit=2, cursor=cursor)
        seen += page.items
        cursor = page.next_cursor
        if cursor is None:
            break

    assert sorted(one.recipient or "" for one in seen) == [
        *("p1@example.com", "p2@example.com", "x0@example.com", "x1@example.com", "x2@example.com"),
    ]
    assert [one.at for one in seen] == sorted((one.at for one in seen), reverse=True)
    assert {one.workflow_name for one in seen} == {None, "flow"}
    with pytest.raises(InputInvalid, match="cursor"):
        await engine.failures.items(ANN.workspace, group.id, cursor="nonsense")


async def test_a_group_is_started_again_at_a_rate_and_nothing_of_it_twice(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stranger: Caller
) -> None:
    await fail_executions(engine, provider, 3)
    await fail_a_run(engine, provider)
    [group] = [one for one in (await engine.failures.groups(ANN.workspace)).items if one.count == 5]
    provider.answer = Accepted("m-1")

    planned = await engine.failures.replay(ANN, group.id, dry_run=True)
    done = await engine.failures.replay(ANN, group.id, per_minute=2)
    calls = len(provider.calls)
    await engine.work_everything()
    at_once = Counter(call.recipient for call in provider.calls[calls:])
    clock.advance(minutes=5)
    await engine.work_everything()
    again = await engine.failures.replay(ANN, group.id)

    assert (planned.executions, planned.items, planned.runs, planned.refused) == (3, 2, [], {})
    assert (done.executions, done.items, len(done.runs)) == (3, 2, 1)
    assert done.last_at is not None
    assert done.last_at - (clock.time - timedelta(minutes=5)) == timedelta(minutes=1)
    assert (again.executions, again.items, again.refused) == (0, 0, {"it was tried again before": 2})
    assert sum(one for name, one in at_once.items() if name.startswith("x")) == 1
    sent = Counter(call.recipient for call in provider.calls[calls:])
    assert {sent[f"x{number}@example.com"] for number in range(3)} == {1}
    assert max(sent[name] for name in ("p1@example.com", "p2@example.com")) == 1
    assert sent["p3@example.com"] == 0
    await assert_kept(engine)
    with pytest.raises(NotFound):
        await engine.failures.replay(stranger, group.id)


async def test_what_cannot_be_started_again_is_said_with_the_reason(engine: Engine, provider: FakeProvider) -> None:
    await engine.workflows.apply(ANN, "flow", graph({**email("one"), "onFailure": "continue"}))
    provider.script = {"ada@example.com": [Rejected("no mailbox")]}
    await engine.executions.trigger(ANN, "flow", {}, "k1")
    await work(engine)
    [group] = (await engine.failures.groups(ANN.workspace)).items

    done = await engine.failures.replay(ANN, group.id)

    assert (group.text, done.executions, done.items) == ("no mailbox", 0, 0)
    assert done.refused == {"its execution went on without it": 1}
    with pytest.raises(InputInvalid, match="perMinute 0"):
        await engine.failures.replay(ANN, group.id, per_minute=0)
