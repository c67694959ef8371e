"""000 (M4): quote communication is routed by rule, suppressed, or left to what the host application did before."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person
from tests.providers.function_server import FunctionServer, answer
from tests.requirements.conftest import Sql, bodies
from tests.requirements.rules import (
    AUDIENCES,
    CHANNELS,
    LEAD,
    QUOTE,
    Legacy,
    look,
    make_rule,
    outcomes,
    send,
    step,
)
from tidings import App, Channel, Config, Engine, FunctionRejected, open_engine
from tidings.domain.caller import Caller
from tidings.providers.fake import FakeProvider

BOTH, NEITHER = "with_fallbacks", "without_fallbacks"
EVERY = list(product(CHANNELS, AUDIENCES))
FAILING = {
    "email": {"subject": "{{ 1 | divided_by: lead.name }}", "body": "x"},
    "push": {"title": "x", "body": "{{ 1 | divided_by: lead.name }}"},
    "voice": {"script": "{{ 1 | divided_by: lead.name }}"},
}


def failing(channel: str) -> dict[str, Any]:
    return FAILING.get(channel, {"body": "{{ 1 | divided_by: lead.name }}"})


@pytest.fixture
def legacy() -> Legacy:
    return Legacy()


@pytest.fixture
async def engine(
    dsn: str, clock: ManualClock, provider: FakeProvider, legacy: Legacy, functions: FunctionServer
) -> AsyncIterator[Engine]:
    """The host application with the legacy paths of 000, and one for every channel and audience of one trigger."""
    fallbacks: dict[tuple[str, str, str], Any] = {
        ("quote_sent", "email", "lead"): legacy.path("proposal email"),
        ("quote_accepted", "email", "lead"): legacy.path("thank-you with PDF"),
        ("quote_accepted", "email", "agent"): legacy.path("agent email"),
        ("by_url", "email", "lead"): functions.url("/legacy"),
    }
    for channel, audience in EVERY:
        fallbacks[BOTH, channel, audience] = legacy.path(f"{channel}/{audience}")
    routes: dict[Channel, str] = {channel: provider.name for channel in Channel if channel is not Channel.FUNCTION}
    config = Config(database_url=dsn, allow_unsafe_storage=True, allow_private_addresses=True, rate_limit=0)
    engine = await open_engine(config, App([provider], routes, fallbacks=fallbacks), clock=clock)
    yield engine
    await engine.close()


# Routing behavior: the whole table


async def route_everything(
    manager: Person, operator: Person, trigger: str, state: str, pairs: list[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    for channel, audience in pairs:
        one = step(channel, template=failing(channel)) if state == "enqueue fails" else step(channel)
        await make_rule(manager, one, trigger=trigger, channel=channel, audience=audience, enabled=state != "disabled")
    return outcomes(await send(operator, trigger))


@pytest.mark.parametrize(
    ("state", "trigger", "outcome"),
    [
        ("disabled", BOTH, "suppressed"),
        ("disabled", NEITHER, "suppressed"),
        ("enabled", BOTH, "enqueued"),
        ("enabled", NEITHER, "enqueued"),
        ("enqueue fails", BOTH, "fallback"),
        ("enqueue fails", NEITHER, "none"),
    ],
)
async def test_000_routing_with_a_rule_for_every_channel_and_audience(
    state: str, trigger: str, outcome: str, manager: Person, operator: Person, engine: Engine, legacy: Legacy
) -> None:
    decided = await route_everything(manager, operator, trigger, state, EVERY)
    await engine.work_everything()

    assert decided == dict.fromkeys(EVERY, outcome)
    assert sorted(legacy.names) == (sorted(f"{a}/{b}" for a, b in EVERY) if outcome == "fallback" else [])


async def test_000_routing_without_a_rule_calls_the_fallback_of_every_channel_and_audience(
    operator: Person, engine: Engine, legacy: Legacy, provider: FakeProvider
) -> None:
    decided = outcomes(await send(operator, BOTH))
    await engine.work_everything()

    assert decided == dict.fromkeys(EVERY, "fallback")
    assert sorted(legacy.names) == sorted(f"{channel}/{audience}" for channel, audience in EVERY)
    assert provider.calls == []


async def test_000_routing_with_neither_rule_nor_fallback_is_none_for_every_channel_and_audience(
    manager: Person, operator: Person, engine: Engine, legacy: Legacy
) -> None:
    """A trigger that has some rules decides about the rest of its channels and audiences, too."""
    none: set[tuple[str, str]] = set()
    for shift in (0, 1):
        pairs = [(channel, AUDIENCES[(place + shift) % 3]) for place, channel in enumerate(CHANNELS)]
        decided = await route_everything(manager, operator, f"{NEITHER}_{shift}", "enabled", pairs)
        assert decided.keys() == set(EVERY)
        assert {pair for pair, outcome in decided.items() if outcome == "enqueued"} == set(pairs)
        none |= {pair for pair, outcome in decided.items() if outcome == "none"}

    assert none == set(EVERY)
    assert legacy.names == []


async def test_000_1_a_rule_is_resolved_by_trigger_channel_and_audience(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    """1: each of the three tells rules apart."""
    await make_rule(manager)
    await make_rule(manager, trigger="quote_accepted", enabled=False)
    await make_rule(manager, channel="whatsapp", enabled=False)
    await make_rule(manager, audience="agent", enabled=False)

    event = await send(operator)
    await engine.work_everything()

    assert outcomes(event) == {
        ("email", "lead"): "enqueued",
        ("whatsapp", "lead"): "suppressed",
        ("email", "agent"): "suppressed",
        ("whatsapp", "agent"): "none",
    }
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]


async def test_000_2_without_a_rule_the_legacy_behavior_is_executed(
    operator: Person, engine: Engine, legacy: Legacy
) -> None:
    """2, and the retained path of quote_sent: the proposal email sender is told everything the event says."""
    event = await send(operator, idempotencyKey="quote-17")
    await engine.work_everything()

    assert outcomes(event) == {("email", "lead"): "fallback"}
    [(name, told)] = legacy.calls
    assert name == "proposal email"
    assert (told["trigger"], told["channel"], told["audience"]) == ("quote_sent", "email", "lead")
    assert (told["lead"], told["variables"], told["idempotencyKey"]) == (LEAD, QUOTE, "quote-17")
    assert [(one["kind"], one["status"]) for one in await look(operator, event)] == [("function", "succeeded")]


async def test_000_3_a_disabled_rule_suppresses_its_channel_and_nothing_else(
    manager: Person, operator: Person, engine: Engine, legacy: Legacy, provider: FakeProvider
) -> None:
    """3: not even the legacy behavior."""
    await make_rule(manager, enabled=False)
    await make_rule(manager, channel="whatsapp")

    event = await send(operator)
    await engine.work_everything()

    assert outcomes(event) == {("email", "lead"): "suppressed", ("whatsapp", "lead"): "enqueued"}
    assert legacy.names == []
    assert [call.channel for call in provider.calls] == [Channel.WHATSAPP]


async def test_000_4_an_enabled_rule_is_enqueued_and_the_legacy_path_is_not_used(
    manager: Person, operator: Person, engine: Engine, legacy: Legacy, provider: FakeProvider
) -> None:
    """4, first half."""
    await make_rule(manager)

    await send(operator)
    await engine.work_everything()

    assert legacy.names == []
    assert len(provider.calls) == 1


async def test_000_4_a_failed_enqueue_falls_back_where_there_was_a_legacy_path(
    manager: Person, operator: Person, engine: Engine, legacy: Legacy, provider: FakeProvider, sql: Sql
) -> None:
    """4, second half: the database has refused the records and rolled everything back."""
    await sql.execute("alter table outbox add constraint no_messages check (channel = 'function')")
    await make_rule(manager)
    await make_rule(manager, channel="whatsapp")

    event = await send(operator)
    await engine.work_everything()

    assert outcomes(event) == {("email", "lead"): "fallback", ("whatsapp", "lead"): "none"}
    assert all("enqueueing failed" in one["reason"] for one in event["decisions"])
    assert legacy.names == ["proposal email"]
    assert provider.calls == []


# Legacy fallback paths retained


async def test_000_quote_accepted_falls_back_for_the_lead_and_for_the_agent(
    operator: Person, engine: Engine, legacy: Legacy
) -> None:
    """The thank-you with its PDF, which the host is told of by reference, and the agent's email."""
    event = await send(operator, "quote_accepted")
    await engine.work_everything()

    assert outcomes(event) == {("email", "lead"): "fallback", ("email", "agent"): "fallback"}
    assert sorted(legacy.names) == ["agent email", "thank-you with PDF"]
    assert {told["variables"]["quote"]["pdf"] for _, told in legacy.calls} == {"https://example.com/quotes/17.pdf"}


async def test_000_quote_accepted_by_rules_for_lead_partner_and_agent(
    manager: Person, operator: Person, engine: Engine, legacy: Legacy, provider: FakeProvider
) -> None:
    """Channels: email and whatsapp to the lead, email to partner and agent."""
    for channel, audience in (("email", "lead"), ("whatsapp", "lead"), ("email", "partner"), ("email", "agent")):
        await make_rule(manager, trigger="quote_accepted", channel=channel, audience=audience)

    await send(operator, "quote_accepted")
    await engine.work_everything()

    assert sorted(call.recipient for call in provider.calls) == [
        "+442071838750",
        "ada@example.com",
        "alan@example.com",
        "grace@example.com",
    ]
    assert legacy.names == []


async def test_000_quote_rejected_without_a_rule_sends_nothing(
    operator: Person, engine: Engine, legacy: Legacy, provider: FakeProvider
) -> None:
    """It is workflow-driven: prior behavior (no direct outbound communication) remains unchanged."""
    event = await send(operator, "quote_rejected")
    await engine.work_everything()

    assert (event["decisions"], legacy.names, provider.calls) == ([], [], [])


async def test_000_quote_rejected_with_a_rule_is_sent(
    manager: Person, operator: Person, engine: Engine, provider: FakeProvider
) -> None:
    await make_rule(manager, trigger="quote_rejected", channel="whatsapp")

    await send(operator, "quote_rejected")
    await engine.work_everything()

    assert [call.recipient for call in provider.calls] == ["+442071838750"]


# Wherever the event comes from


async def test_000_2_a_process_without_the_host_application_leaves_the_legacy_path_to_a_worker_that_has_it(
    dsn: str, clock: ManualClock, manager: Person, operator: Person, engine: Engine, legacy: Legacy, sql: Sql
) -> None:
    """`tidings events send`, an API or a worker without --app decides alike, and does not spend the key for nothing."""
    plain = await open_engine(Config(database_url=dsn, allow_unsafe_storage=True), clock=clock)
    await make_rule(manager, trigger="quote_accepted", channel="whatsapp")
    given = {"trigger": "quote_accepted", "idempotencyKey": "quote-17", "lead": LEAD, "variables": QUOTE}

    sent = await plain.events.send(Caller(operator.workspace, "cli"), given, source="cli", must_be_known=True)
    explained = await plain.events.explain(operator.workspace, given)
    await plain.work_everything()
    waiting = [(one["kind"], one["status"], one["waiting"]) for one in await look(operator, {"id": sent.id})]
    clock.advance(minutes=1)  # nobody was known to have it, so it was left for half a minute
    await engine.work_everything()
    again = await send(operator, "quote_accepted", idempotencyKey="quote-17")
    await engine.work_everything()
    await plain.close()

    decided = {(one.channel, one.audience): one.outcome for one in sent.decisions}
    assert decided == {
        ("email", "lead"): "fallback",
        ("whatsapp", "lead"): "enqueued",
        ("email", "agent"): "fallback",
        ("whatsapp", "agent"): "none",
    }
    assert {(one.channel, one.audience): one.outcome for one in explained} == decided
    nobody = "no worker is running"  # none that has told the database that it lives
    assert waiting == [
        ("function", "pending", nobody),
        ("whatsapp", "pending", nobody),
        ("function", "pending", nobody),
    ]
    assert (sorted(legacy.names), again["duplicate"]) == (["agent email", "thank-you with PDF"], True)
    assert {one["status"] for one in await look(operator, again)} == {"succeeded"}


async def test_000_2_an_event_from_sql_is_routed_alike_by_a_worker_without_the_host_application(
    dsn: str, clock: ManualClock, operator: Person, engine: Engine, legacy: Legacy, sql: Sql
) -> None:
    plain = await open_engine(Config(database_url=dsn, allow_unsafe_storage=True), clock=clock)
    call = "select tidings.event('quote_sent', lead => $1, tenant => $2, workspace => $3)"
    id = await sql.fetchval(call, json.dumps(LEAD), operator.workspace.tenant, operator.workspace.name)
    clock.time = await sql.fetchval("select clock_timestamp()")

    await plain.work_everything()
    event = (await operator.get(f"/v1/events/{id}")).json()
    clock.advance(minutes=1)
    await engine.work_everything()
    await plain.close()

    assert outcomes(event) == {("email", "lead"): "fallback"}
    assert legacy.names == ["proposal email"]


# Once


async def test_000_a_duplicate_event_never_runs_a_fallback_twice(
    operator: Person, engine: Engine, legacy: Legacy
) -> None:
    """Nor does a hundred of them at once."""
    events = await asyncio.gather(*(send(operator, idempotencyKey="quote-17") for _ in range(100)))
    await engine.work_everything()
    await send(operator, idempotencyKey="quote-17")
    await engine.work_everything()

    assert len({event["id"] for event in events}) == 1
    assert legacy.names == ["proposal email"]


async def test_000_a_fallback_may_be_a_url(operator: Person, engine: Engine, functions: FunctionServer) -> None:
    """It is posted like a function, with the event's key, and retried like any item where it says so."""
    functions.answers = [answer({"error": "later"}, 429, headers=["Retry-After: 1"]), answer({"data": {"ok": True}})]
    event = await send(operator, "by_url")

    await engine.work_everything()

    assert [request.line.split()[1] for request in functions.requests] == ["/legacy"]
    assert bodies(functions)[0]["action"] == "fallback"
    assert bodies(functions)[0]["payload"]["lead"] == LEAD
    assert [one["status"] for one in await look(operator, event)] == ["pending"]


async def test_000_a_fallback_that_refuses_is_a_failed_item(
    dsn: str, clock: ManualClock, provider: FakeProvider, operator: Person, engine: Engine
) -> None:
    async def refuse(action: str, payload: object) -> None:
        raise FunctionRejected("the template was deleted")

    config = Config(database_url=dsn, allow_unsafe_storage=True)
    app = App([provider], fallbacks={("quote_sent", "email", "lead"): refuse})
    event = await send(operator)
    worker = await open_engine(config, app, clock=clock)
    await worker.work_everything()
    await worker.close()

    assert [(one["status"], one["error"]) for one in await look(operator, event)] == [
        ("failed", "the template was deleted")
    ]
