"""001, sections 2, 4, 5, 7 and 9: what is recorded of a trigger instance, and of the workers that execute it."""

import asyncio
import socket
from datetime import datetime, timedelta

import httpx2

from tests.conftest import ManualClock
from tests.http.conftest import Person, person
from tests.requirements.conftest import (
    ADA,
    Json,
    MakeEngine,
    define,
    delay,
    email,
    graph,
    in_call,
    log_of,
    recipients,
    show,
    sms,
    trigger,
    work_for,
)
from tests.worker.conftest import running, until
from tidings import Engine, __version__
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.domain.roles import Role
from tidings.providers.fake import FakeProvider
from tidings.worker.loop import Worker

BUSY = RetryLater("421 try again later")
GONE = Rejected("550 no such mailbox")
BOTH = ["a@example.com", "b@example.com"]


def at(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


async def ids_listed(reader: Person, status: str) -> list[str]:
    return [one["id"] for one in (await reader.get("/v1/executions", params={"status": status})).json()["data"]]


async def counted(engine: Engine) -> dict[str, int]:
    """What `/metrics` says of executions, counted now."""
    return {str(status): count for status, count in (await engine.health.totals()).executions.items()}


# 2 The worker service


async def test_001_2_a_worker_service_registers_and_shows_up(engine: Engine, http: httpx2.AsyncClient) -> None:
    """2: workerService: where it runs, its version, since when, and what it serves; its own key may look,
    but where it runs is the operator's affair."""
    service, host = [await person(engine, http, role) for role in (Role.WORKER_SERVICE, Role.OPERATOR)]
    before = (await service.get("/v1/workers")).json()["data"]

    async with running(Worker(engine)):
        await until(engine.providers.workers)
        [shown] = (await service.get("/v1/workers")).json()["data"]
        [whole] = (await host.get("/v1/workers")).json()["data"]

    assert before == (await service.get("/v1/workers")).json()["data"] == []
    assert (whole["host"], shown["version"]) == (socket.gethostname(), __version__)
    assert at(shown["startedAt"]) == at(shown["lastSeenAt"]) == await engine.kernel.clock.now()
    served = {one["provider"]: one["channels"] for one in shown["serves"]}
    assert {"email", "sms"} <= set(served["fake"])


# 4 States


async def test_001_4_processing_begins_with_the_first_claim_and_never_goes_back(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """4: between retries, and while it waits, on every surface: it has started, and it says when."""
    provider.script = {ADA["email"]: [BUSY, BUSY]}
    await define(manager, graph(email(), delay(duration="PT1H"), sms()))
    fresh = await trigger(operator)
    id, begun_at = fresh["id"], clock.time + timedelta(minutes=3)
    counts = [await counted(engine)]
    clock.time = begun_at
    provider.hang = asyncio.Event()
    async with in_call(engine, lambda: len(provider.calls)):
        seen = [await show(operator, id)]
        counts.append(await counted(engine))
        clock.advance(seconds=5)
        provider.hang.set()
        await asyncio.wait_for(_until_tried(operator, id), 20)
    provider.hang = None
    for _ in range(3):
        seen.append(await show(operator, id))
        assert await ids_listed(operator, "processing") == [id]
        assert await ids_listed(operator, "enqueued") == []
        counts.append(await counted(engine))
        clock.time = datetime.fromisoformat(seen[-1]["availableAt"])
        await engine.work_everything()
    done = await show(operator, id)

    assert (fresh["status"], fresh["startedAt"]) == ("enqueued", None)
    assert [one["status"] for one in seen] == ["processing"] * 4
    assert [one["cursor"] for one in seen] == ["hello", "hello", "hello", "wait"]
    assert {at(one["startedAt"]) for one in [*seen, done]} == {begun_at}
    assert counts == [{"enqueued": 1}] + [{"processing": 1}] * 4


async def _until_tried(operator: Person, id: str) -> None:
    while (await show(operator, id))["attempts"] == 0:
        await asyncio.sleep(0.02)


async def test_001_4_the_first_claim_is_noted_though_its_worker_dies(
    manager: Person, operator: Person, make_engine: MakeEngine, clock: ManualClock
) -> None:
    """4: durably: whoever goes on with it finds when it began."""
    died, lives = FakeProvider(), FakeProvider()
    died.hang, begun_at = asyncio.Event(), clock.time
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    async with in_call(await make_engine(died), lambda: len(died.calls)):
        clock.advance(seconds=1)
    left = await show(operator, id)
    await work_for(await make_engine(lives), clock, minutes=10)

    assert left["status"] == "processing"
    assert at(left["startedAt"]) == at((await show(operator, id))["startedAt"]) == begun_at


async def test_001_4_what_is_stopped_before_it_began_has_not_started(
    manager: Person, operator: Person, engine: Engine
) -> None:
    """4: a worker that only obeys a pause or a cancel does not start anything."""
    await define(manager, graph(email()))
    paused, cancelled = [(await trigger(operator, key=key))["id"] for key in ("p", "c")]
    await operator.post(f"/v1/executions/{paused}/pause")
    await operator.post(f"/v1/executions/{cancelled}/cancel")
    await engine.work_everything()
    resumed = (await operator.post(f"/v1/executions/{paused}/resume")).json()

    assert (resumed["status"], resumed["startedAt"]) == ("enqueued", None)
    ended = await show(operator, cancelled)
    assert (ended["status"], ended["startedAt"]) == ("cancelled", None)


# 5 Attempts


async def test_001_5_attempts_are_still_counted_after_a_success(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """5: while it waits, when later nodes succeed at once or fail, and at the end."""
    provider.script = {ADA["email"]: [BUSY], ADA["phone"]: [BUSY]}
    await define(manager, graph(email(), delay(duration="PT1H"), sms()))
    id = (await trigger(operator))["id"]
    seen = [await show(operator, id)]
    for _ in range(4):
        await engine.work_everything()
        seen.append(await show(operator, id))
        if seen[-1]["availableAt"]:
            clock.time = datetime.fromisoformat(seen[-1]["availableAt"])

    assert [one["cursor"] for one in seen] == ["hello", "hello", "wait", "nudge", None]
    assert [one["attempts"] for one in seen] == [0, 1, 2, 2, 3]
    assert [one["retryCount"] for one in seen] == [0, 0, 1, 1, 2]
    assert [line["attempts"] for line in await log_of(operator, id)] == [2, 1, 2]


# 7 The log


async def test_001_7_the_log_keeps_the_context_that_each_node_saw(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """7: "context snapshots": the input and the variables as they were, also of ways that ran beside it."""
    fork = {"id": "fork", "type": "branch"}
    nodes = [email("first"), delay(duration="PT1H"), email("aside", to="b@example.com"), fork, sms("last")]
    edges = [("first", "wait"), ("wait", "fork"), ("fork", "last"), ("first", "aside")]
    definition = graph(*nodes, edges=edges)
    definition["edges"][2]["condition"] = {"path": "vars.first.status", "op": "equals", "value": "sent"}
    await define(manager, definition)
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    clock.advance(hours=1)
    await engine.work_everything()

    lines, results = {line["node"]: line for line in await log_of(manager, id)}, (await show(operator, id))["vars"]
    saw = {node: set(line["context"]["vars"]) for node, line in lines.items()}
    assert saw == {
        "first": set(),
        "aside": {"first"},
        "wait": {"first", "aside"},
        "fork": {"first", "aside", "wait"},
        "last": {"first", "aside", "wait", "fork"},
    }
    for line in lines.values():
        assert line["context"]["data"] == ADA
        assert line["context"]["leftOut"] == []
        assert all(value == results[name] for name, value in line["context"]["vars"].items())
    assert lines["first"]["saw"] == {"subject": "Hi", "body": "Good day, Ada"}


async def test_001_7_a_context_that_is_large_is_shown_without_its_largest_values(
    manager: Person, operator: Person, engine: Engine
) -> None:
    """7: a line of the log is never larger than 64 KiB and what the node itself did."""
    await define(manager, graph(email()))
    id = (await trigger(operator, {**ADA, "document": "x" * 70_000}))["id"]
    await engine.work_everything()

    [line] = await log_of(manager, id)
    assert line["context"] == {"data": ADA, "vars": {}, "leftOut": ["data.document"]}
    assert (await show(operator, id))["inputPayload"]["document"] == "x" * 70_000


# 9 Some of several recipients


async def test_001_9_a_node_that_reached_only_some_of_its_recipients_says_so(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """9: in its status, its error, its variables and among the dead letters; a retry reaches the others alone."""
    provider.script = {"b@example.com": [GONE]}
    await define(manager, graph(email(to=BOTH), sms()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    failed, [line] = await show(operator, id), await log_of(operator, id)
    dead = (await operator.get("/v1/dead-letters", params={"node": "hello"})).json()["data"]
    await operator.post(f"/v1/executions/{id}/retry")
    await engine.work_everything()
    done = await show(operator, id)

    error = "1 of 2 recipients failed: 550 no such mailbox"
    assert (failed["status"], failed["errorStep"], failed["errorMessage"]) == ("failed", "hello", error)
    assert [one["id"] for one in dead] == [id]
    result: Json = failed["vars"]["hello"]
    assert (result["status"], result["error"], result["recipients"]) == ("partial", error, {"sent": 1, "failed": 1})
    assert (line["status"], line["error"]) == ("partial", error)
    assert recipients(provider) == [*BOTH, "b@example.com", ADA["phone"]]
    assert (done["status"], done["vars"]["hello"]["status"]) == ("completed", "sent")


async def test_001_9_a_walk_told_to_go_on_goes_on_and_still_says_so(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """9: with `onFailure: continue` whoever was not reached stands in the log and in `vars`."""
    provider.script = {"b@example.com": [GONE]}
    told = sms(body="{{ vars.hello.status }}, {{ vars.hello.recipients.failed }} failed")
    await define(manager, graph(email(to=BOTH, onFailure="continue"), told))
    id = (await trigger(operator))["id"]
    await engine.work_everything()

    assert provider.calls[-1].payload["body"] == "partial, 1 failed"
    assert (await show(operator, id))["status"] == "completed"
    assert [line["status"] for line in await log_of(operator, id)] == ["partial", "sent"]
