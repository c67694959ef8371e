"""001, sections 5, 7, 8 and 9: how triggers are worked on, through delays, failures and the death of workers."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.kernel.scenes import assert_kept
from tests.requirements.conftest import (
    ADA,
    Json,
    MakeEngine,
    Sql,
    define,
    delay,
    email,
    graph,
    in_call,
    log_of,
    recipients,
    show,
    sms,
    statuses,
    trigger,
    work_for,
)
from tests.worker.conftest import running, until
from tidings import Engine
from tidings.domain.flow.outcome import Rejected, RetryLater
from tidings.providers.fake import FakeProvider
from tidings.worker.loop import Worker

BUSY = RetryLater("421 try again later")
GONE = Rejected("550 no such mailbox")


async def start_many(operator: Person, count: int) -> list[str]:
    people = [{**ADA, "email": f"p{number}@example.com"} for number in range(count)]
    return [(await trigger(operator, data, key=data["email"]))["id"] for data in people]


# 5 Workers


async def test_001_5_workers_shall_concurrently_process_trigger_instances(
    manager: Person, operator: Person, engine: Engine, make_engine: MakeEngine, provider: FakeProvider
) -> None:
    """5, first statement: two workers share what there is, and nobody is written to twice."""
    elsewhere = FakeProvider()
    other = await make_engine(elsewhere)
    await define(manager, graph(email()))
    ids = await start_many(operator, 30)

    await asyncio.gather(engine.work_everything(limit=1), other.work_everything(limit=1))

    sent = recipients(provider) + recipients(elsewhere)
    assert provider.calls
    assert elsewhere.calls
    assert sorted(sent) == sorted(f"p{number}@example.com" for number in range(30))
    assert await statuses(operator, ids) == {"completed"}
    await assert_kept(engine)


async def test_001_5_workers_shall_hold_exclusive_claim_locks(
    manager: Person, operator: Person, engine: Engine, make_engine: MakeEngine, provider: FakeProvider
) -> None:
    """5: what one worker has claimed, another does not touch."""
    elsewhere = FakeProvider()
    other = await make_engine(elsewhere)
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    provider.hang = asyncio.Event()

    async with in_call(engine, lambda: len(provider.calls)):
        moved = await other.work_everything()
        shown = await show(operator, id)

    assert (moved, elsewhere.calls) == (0, [])
    assert (shown["status"], shown["availableAt"]) == ("processing", None)


async def test_001_5_nodes_are_executed_sequentially_per_workflow_dag(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """5: each after all that lead to it, one at a time, and each once."""
    nodes = [email(name, to=f"{name}@example.com") for name in ("a", "b", "c", "d")]
    await define(manager, graph(*nodes, edges=[("a", "c"), ("a", "b"), ("b", "d"), ("c", "d")]))
    id = (await trigger(operator))["id"]
    await engine.work_everything()

    lines = await log_of(operator, id)
    assert recipients(provider) == [f"{name}@example.com" for name in ("a", "b", "c", "d")]
    assert [line["node"] for line in lines] == ["a", "b", "c", "d"]
    assert all(one["endedAt"] <= next_["startedAt"] for one, next_ in pairwise(lines))


@pytest.mark.parametrize(("node", "channel", "to"), [(email("send"), "email", "email"), (sms("send"), "sms", "phone")])
async def test_001_5_email_and_sms_nodes_render_their_templates_send_and_record_results_in_vars(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider, node: Json, channel: str, to: str
) -> None:
    """5: EmailNode and SmsNode."""
    node["body"] = "{% if name %}Dear {{ name | upcase }}{% endif %}"
    await define(manager, graph(node))
    id = (await trigger(operator))["id"]
    await engine.work_everything()

    [call] = provider.calls
    result = (await show(operator, id))["vars"]["send"]
    assert (call.channel, call.recipient, call.payload["body"]) == (channel, ADA[to], "Dear ADA")
    assert (result["status"], result["messageId"]) == ("sent", call.key.hex())
    assert datetime.fromisoformat(result["at"]).tzinfo is not None


async def test_001_5_a_delay_node_schedules_resumption_and_updates_available_at(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """5: DelayNode, "updates `availableAt` accordingly"."""
    await define(manager, graph(email(), delay(duration="PT90M"), sms()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()

    waiting = await show(operator, id)

    assert (waiting["cursor"], waiting["status"]) == ("wait", "processing")
    assert datetime.fromisoformat(waiting["availableAt"]) == clock.time + timedelta(minutes=90)


async def test_001_5_failures_increment_attempts_with_exponential_backoff(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """5: `availableAt` is ten seconds away, then twenty (less a tenth at most, so that not all come back at once)."""
    provider.answer = BUSY
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    seen: list[tuple[int, float]] = []
    for _ in range(2):
        await engine.work_everything()
        shown = await show(operator, id)
        due = datetime.fromisoformat(shown["availableAt"])
        seen.append((shown["attempts"], (due - clock.time).total_seconds()))
        clock.time = due

    assert [attempts for attempts, _ in seen] == [1, 2]
    assert 9 <= seen[0][1] <= 10
    assert 18 <= seen[1][1] <= 20


async def test_001_5_there_are_at_most_3_attempts(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """5: "max 3 attempts", for each node anew."""
    provider.script = {ADA["email"]: [BUSY, BUSY], ADA["phone"]: [BUSY] * 9}
    await define(manager, graph(email(), sms()))
    await trigger(operator)
    await work_for(engine, clock, minutes=10)

    assert recipients(provider) == [ADA["email"]] * 3 + [ADA["phone"]] * 3


async def test_001_5_exceeded_retries_result_in_failed_state(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """5, last statement: with its error, its node and its attempts, and listed as a dead letter."""
    provider.answer = BUSY
    await define(manager, graph(email(), sms()))
    id = (await trigger(operator))["id"]
    await work_for(engine, clock, minutes=5)

    shown = await show(operator, id)
    assert (shown["status"], shown["cursor"], shown["errorStep"]) == ("failed", "hello", "hello")
    assert (shown["attempts"], shown["retryCount"]) == (3, 2)
    assert shown["errorMessage"] == "gave up after 3 attempts: 421 try again later"
    assert [one["id"] for one in (await operator.get("/v1/dead-letters")).json()["data"]] == [id]


# 7 Business rules


async def test_001_7_retry_logic_has_backoff_and_capped_attempts(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """7: the cap can be set, for a workflow or for a node."""
    provider.answer = BUSY
    await define(manager, {**graph(email()), "maxRetries": 0}, "never")
    await define(manager, graph(sms(retry={"attempts": 5, "baseSeconds": 1})), "often")
    await trigger(operator, name="never")
    await trigger(operator, name="often")
    await work_for(engine, clock, minutes=5)

    assert sorted(recipients(provider)) == sorted([ADA["email"]] + [ADA["phone"]] * 5)


async def test_001_7_idempotency_is_guaranteed_by_inbox_and_message_tracking(
    manager: Person, operator: Person, engine: Engine, make_engine: MakeEngine, clock: ManualClock, sql: Sql
) -> None:
    """7: one row for each message under one key, written before it is sent; what may have left is not sent again."""
    died, lives = FakeProvider(), FakeProvider()
    died.hang = asyncio.Event()
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    async with in_call(await make_engine(died), lambda: len(died.calls)):
        tracked = await sql.fetch("select status, idempotency_key from outbox")
    await work_for(await make_engine(lives), clock, minutes=10)

    assert [(row["status"], row["idempotency_key"]) for row in tracked] == [("queued", died.calls[0].key)]
    assert lives.calls == []
    assert (await show(operator, id))["vars"]["hello"]["status"] == "in_doubt"
    assert await sql.fetchval("select count(*) from outbox") == 1
    await assert_kept(engine)


async def test_001_7_execution_logs_record_success_failure_and_context_snapshots(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """7, last rule: what each node saw, what it produced, how long it took, and its error."""
    provider.script = {ADA["email"]: [BUSY], ADA["phone"]: [GONE]}
    branch = {"id": "fork", "type": "branch"}
    definition = graph(email(), branch, delay(duration="PT1M"), sms())
    definition["edges"][1]["condition"] = {"path": "vars.hello.status", "op": "equals", "value": "sent"}
    await define(manager, definition)
    id = (await trigger(operator))["id"]
    await work_for(engine, clock, minutes=3)

    hello, fork, wait, nudge = await log_of(manager, id)
    assert (hello["status"], hello["attempts"], hello["produced"]["status"]) == ("sent", 2, "sent")
    assert hello["saw"] == {"body": "Good day, Ada", "subject": "Hi"}
    assert hello["items"][0]["failedAttempts"][0]["error"] == "421 try again later"
    assert (fork["saw"]["data"], fork["saw"]["vars"].keys()) == (ADA, {"hello"})
    assert fork["produced"]["taken"] == "wait"
    assert (wait["status"], wait["saw"]) == ("completed", {"seconds": 60.0})
    assert wait["durationMs"] >= 60_000
    assert (nudge["status"], nudge["error"]) == ("failed", "550 no such mailbox")


# 8 Scenarios


async def test_001_8_trigger_creation_with_idempotency_check(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """8, first scenario: the front end asks twice, the person is written to once."""
    await define(manager, graph(email()))
    first = await trigger(operator, key="signup-1")
    await engine.work_everything()
    again = await trigger(operator, key="signup-1")
    await engine.work_everything()

    assert (first["duplicate"], again["duplicate"], again["id"]) == (False, True, first["id"])
    assert len(provider.calls) == 1


async def test_001_8_sequential_execution_of_email_delay_sms(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """8: Email → Delay → SMS."""
    await define(manager, graph(email(), delay(duration="P1D"), sms()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    first = recipients(provider)
    clock.advance(days=1)
    await engine.work_everything()

    assert (first, recipients(provider)) == ([ADA["email"]], [ADA["email"], ADA["phone"]])
    shown = await show(operator, id)
    assert (shown["status"], shown["vars"].keys()) == ("completed", {"hello", "wait", "nudge"})


async def test_001_8_handling_of_success_completion_and_retry_on_failure(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """8: it fails, is tried again, and completes."""
    provider.script = {ADA["email"]: [BUSY]}
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    trying = await show(operator, id)
    await work_for(engine, clock, minutes=1)
    done = await show(operator, id)

    assert (trying["errorMessage"], trying["errorStep"], trying["attempts"]) == ("421 try again later", "hello", 1)
    assert (done["status"], done["errorMessage"], done["completedAt"] is not None) == ("completed", None, True)


async def test_001_8_concurrent_processing_by_multiple_worker_instances(
    manager: Person, operator: Person, engine: Engine, make_engine: MakeEngine, provider: FakeProvider
) -> None:
    """8: as `tidings worker` runs them, several at once."""
    elsewhere = FakeProvider()
    other = await make_engine(elsewhere)
    await define(manager, graph(email()))

    async with running(Worker(engine)), running(Worker(other)):
        ids = await start_many(operator, 20)
        await until(lambda: len(provider.calls) + len(elsewhere.calls) >= 20)
        async with asyncio.timeout(20):
            while await statuses(operator, ids) != {"completed"}:
                await asyncio.sleep(0.05)

    sent = recipients(provider) + recipients(elsewhere)
    assert sorted(sent) == sorted(f"p{number}@example.com" for number in range(20))


async def test_001_8_a_delay_node_pauses_execution_respecting_available_at(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """8, last scenario: nothing a moment before, and the rest on time."""
    await define(manager, graph(delay(delayMs=60_000), sms()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    due = datetime.fromisoformat((await show(operator, id))["availableAt"])
    clock.time = due - timedelta(milliseconds=1)
    early = await engine.work_everything()
    clock.time = due
    await engine.work_everything()

    assert (early, recipients(provider)) == (0, [ADA["phone"]])


# 9 Errors


async def test_001_9_errors_are_classified_as_transient_or_permanent(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """9: the same failure of a provider is one or the other, and the log tells them apart."""
    provider.script = {"a@example.com": [BUSY], "b@example.com": [GONE]}
    await define(manager, graph(email()))
    ids = [(await trigger(operator, {**ADA, "email": f"{name}@example.com"}))["id"] for name in ("a", "b")]
    await engine.work_everything()

    transient, permanent = [(await log_of(operator, id))[0] for id in ids]
    assert (transient["status"], permanent["status"]) == ("queued", "failed")
    outcomes = [line["items"][0]["failedAttempts"][0]["outcome"] for line in (transient, permanent)]
    assert len(set(outcomes)) == 2


async def test_001_9_transient_errors_trigger_retries_with_backoff(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """9: not at once, but later."""
    provider.script = {ADA["email"]: [BUSY]}
    await define(manager, graph(email()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    clock.advance(seconds=8)
    await engine.work_everything()
    early = len(provider.calls)
    clock.advance(seconds=2)
    await engine.work_everything()

    assert (early, len(provider.calls)) == (1, 2)
    assert (await show(operator, id))["status"] == "completed"


async def test_001_9_permanent_errors_mark_the_trigger_instance_as_failed_immediately(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """9: at the first attempt, in the provider's words, and nothing more is sent."""
    provider.answer = GONE
    await define(manager, graph(email(), sms()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    shown = await show(operator, id)
    await work_for(engine, clock, minutes=5)

    assert (shown["status"], shown["errorMessage"]) == ("failed", "550 no such mailbox")
    assert len(provider.calls) == 1


async def test_001_9_retried_steps_execute_idempotently_to_avoid_duplicates(
    manager: Person, operator: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """9, last statement: the same key and the same bytes, and whoever was reached is not written to again."""
    provider.script = {"b@example.com": [BUSY, BUSY]}
    await define(manager, graph(email(to=["a@example.com", "b@example.com"], body="At {{ 'now' | date: '%s' }}")))
    id = (await trigger(operator))["id"]
    await work_for(engine, clock, minutes=3)

    mine = [call for call in provider.calls if call.recipient == "b@example.com"]
    assert recipients(provider).count("a@example.com") == 1
    assert len(mine) == 3
    assert len({(call.key, *call.payload.items()) for call in mine}) == 1
    assert (await show(operator, id))["status"] == "completed"


async def test_001_9_a_failed_instance_that_is_retried_repeats_only_what_failed(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """9: the same holds when a person retries it."""
    provider.script = {ADA["phone"]: [GONE]}
    await define(manager, graph(email(), sms()))
    id = (await trigger(operator))["id"]
    await engine.work_everything()
    retried = await operator.post(f"/v1/executions/{id}/retry")
    await engine.work_everything()

    assert retried.status_code == 200
    assert recipients(provider) == [ADA["email"], ADA["phone"], ADA["phone"]]
    assert (await show(operator, id))["status"] == "completed"
