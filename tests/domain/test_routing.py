"""What an event does: the routing table of 000 in full, what keeps an event out, and when a step is sent."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from tests.domain.test_rule import CONTENT, rule, step
from tidings.domain.channels import STEP_CHANNELS, Channel
from tidings.domain.errors import EventInvalid
from tidings.domain.rules.event import read_event, read_stored
from tidings.domain.rules.key import RuleKey, fallback_name
from tidings.domain.rules.routing import (
    RouteOutcome,
    check_event,
    decide_route,
    fallback_payload,
    keys_of,
    template_of,
    timing_of,
)
from tidings.domain.rules.rule import RuleDefinition, read_rule
from tidings.views.rules import RuleAudience

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TABLE = {
    ("no rule", True): RouteOutcome.FALLBACK,
    ("no rule", False): RouteOutcome.NONE,
    ("disabled", True): RouteOutcome.SUPPRESSED,
    ("disabled", False): RouteOutcome.SUPPRESSED,
    ("enabled", True): RouteOutcome.ENQUEUED,
    ("enabled", False): RouteOutcome.ENQUEUED,
    ("enqueue fails", True): RouteOutcome.FALLBACK,
    ("enqueue fails", False): RouteOutcome.NONE,
}


def a_rule(key: RuleKey, *, enabled: bool = True) -> RuleDefinition:
    written = rule({"template": CONTENT[key.channel]}, channel=key.channel, audience=key.audience, enabled=enabled)
    read = read_rule(written | {"trigger": key.trigger})
    return RuleDefinition(read.key, read.enabled, read.steps, UUID(int=1))


@pytest.mark.parametrize(("state", "has_fallback"), TABLE)
@pytest.mark.parametrize(("channel", "audience"), list(product(STEP_CHANNELS, RuleAudience)))
def test_the_routing_table(state: str, has_fallback: bool, channel: Channel, audience: RuleAudience) -> None:
    key = RuleKey("quote_sent", channel, audience)
    found = None if state == "no rule" else a_rule(key, enabled=state != "disabled")

    route = decide_route(key, found, has_fallback=has_fallback, failure="no room" if state == "enqueue fails" else None)

    assert route.outcome is TABLE[state, has_fallback]
    assert str(key) in route.reason or "no room" in route.reason


def test_a_disabled_rule_is_suppressed_even_where_enqueueing_would_fail() -> None:
    key = RuleKey("t", Channel.EMAIL, RuleAudience.LEAD)

    route = decide_route(key, a_rule(key, enabled=False), has_fallback=True, failure="no room")

    assert route.outcome is RouteOutcome.SUPPRESSED


def test_a_trigger_decides_about_every_channel_it_uses_for_everybody_it_is_for() -> None:
    email, whatsapp = Channel.EMAIL, Channel.WHATSAPP
    lead_mail, agent_mail = RuleKey("t", email, RuleAudience.LEAD), RuleKey("t", email, RuleAudience.AGENT)
    lead_chat, other = RuleKey("t", whatsapp, RuleAudience.LEAD), RuleKey("other", Channel.SMS, RuleAudience.PARTNER)

    keys = keys_of("t", {lead_chat: a_rule(lead_chat)}, {lead_mail, agent_mail, other})

    assert keys == [lead_mail, lead_chat, agent_mail, RuleKey("t", whatsapp, RuleAudience.AGENT)]


def test_a_trigger_that_nothing_knows_decides_about_nothing() -> None:
    assert keys_of("unknown", {}, {RuleKey("t", Channel.EMAIL, RuleAudience.LEAD)}) == []


# Events


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ([], ""),
        ({}, "trigger"),
        ({"trigger": "no spaces"}, "trigger"),
        ({"trigger": 7}, "trigger"),
        ({"trigger": "t", "idempotencyKey": ""}, "idempotencyKey"),
        ({"trigger": "t", "idempotencyKey": "x" * 501}, "idempotencyKey"),
        ({"trigger": "t", "idempotencyKey": "a\x00"}, "idempotencyKey"),
        ({"trigger": "t", "idempotencyKey": 7}, "idempotencyKey"),
        ({"trigger": "t", "lead": "ada@example.com"}, "lead"),
        ({"trigger": "t", "agent": []}, "agent"),
        ({"trigger": "t", "variables": 1}, "variables"),
        ({"trigger": "t", "variables": {"lead": {}}}, "variables.lead"),
        ({"trigger": "t", "lead": {"name": "a\x00"}}, "lead.name"),
        ({"trigger": "t", "leads": {}}, "leads"),
    ],
)
def test_what_is_wrong_with_an_event_is_told_with_its_place(given: object, place: str) -> None:
    with pytest.raises(EventInvalid) as refused:
        read_event(given)

    assert place in {problem.place for problem in refused.value.problems}


def test_an_event_nested_without_end_is_refused() -> None:
    nested: dict[str, Any] = {}
    for _ in range(120):
        nested = {"a": nested}

    with pytest.raises(EventInvalid):
        read_event({"trigger": "t", "variables": nested})


def test_templates_see_variables_at_the_top_and_people_by_their_names() -> None:
    event = read_event({"trigger": "t", "idempotency_key": "k", "lead": {"name": "Ada"}, "variables": {"x": 1}})

    assert event.data == {"trigger": "t", "x": 1, "lead": {"name": "Ada"}}
    assert event.idempotency_key == "k"


def test_a_stored_event_is_read_back_as_it_was() -> None:
    event = read_event(
        {"trigger": "t", "idempotencyKey": "k", "agent": {"email": "a@b.example"}, "variables": {"x": 1}}
    )

    assert read_stored("t", "k", event.stored) == event
    assert read_stored("t", "k", {"lead": None, "partner": 7, "variables": None}) == read_event(
        {"trigger": "t", "idempotencyKey": "k"}
    )


def check(given: dict[str, Any], *rules: dict[str, Any], fallback: RuleKey | None = None) -> dict[str, str]:
    event = read_event({"trigger": "quote_sent", **given})
    read = [read_rule(one) for one in rules]
    try:
        check_event(event, {one.key: one for one in read}, {fallback} if fallback else ())
    except EventInvalid as refused:
        return {problem.place: problem.message for problem in refused.problems}
    return {}


def test_every_variable_that_is_missing_is_named() -> None:
    problems = check({"lead": {"email": "ada@example.com"}}, rule())

    assert problems.keys() == {"lead.name", "variables.quote.number"}
    assert "'quote.number'" in problems["variables.quote.number"]


def test_a_missing_variable_refuses_an_event_only_if_nothing_else_would_come_of_it() -> None:
    given = {"lead": {"email": "ada@example.com"}, "agent": {"email": "alan@example.com"}}
    plain = step(template={"subject": "Accepted", "body": "x"})
    own, other = (
        RuleKey("quote_sent", Channel.EMAIL, RuleAudience.LEAD),
        RuleKey("other", Channel.EMAIL, RuleAudience.LEAD),
    )

    assert check(given, rule(), rule(plain, audience="agent")) == {}
    assert check(given, rule(), fallback=own) == {}
    assert check(given, rule(), fallback=other).keys() == {"lead.name", "variables.quote.number"}
    assert check(given, rule(), rule(plain, audience="agent", enabled=False)).keys() == {
        "lead.name",
        "variables.quote.number",
    }
    assert check(given, rule(), rule(plain, audience="partner")).keys() == {"lead.name", "variables.quote.number"}
    unreachable = given | {"agent": {"email": "x"}}
    assert check(unreachable, rule(), rule(plain, audience="agent")).keys() == {
        *("lead.name", "variables.quote.number", "agent.email"),
    }


def test_null_is_a_value() -> None:
    given = {"lead": {"email": "ada@example.com", "name": None}, "variables": {"quote": {"number": None}}}

    assert check(given, rule()) == {}


def test_a_malformed_address_is_refused_where_a_step_would_write_to_it_and_only_there() -> None:
    given = {"lead": {"name": "A", "email": "x", "phone": "y"}, "variables": {"quote": {"number": 1}}}

    assert check(given, rule()).keys() == {"lead.email"}
    assert check(given, rule({"template": {"body": "x"}}, channel="sms")).keys() == {"lead.phone"}
    assert check(given, rule(step(recipientConfig={"customEmails": ["a@example.com"]}))) == {}
    assert check(given, rule(step(enabled=False))) == {}


# Times


def test_a_step_is_sent_at_once_or_after_its_delay() -> None:
    [now, later] = read_rule(rule(step(), step(delay="PT1H"))).steps

    assert timing_of(now, {}, NOW).at == NOW
    assert timing_of(later, {}, NOW).at == NOW + timedelta(hours=1)


def test_a_step_is_sent_so_long_before_a_time_and_not_once_that_is_past() -> None:
    [reminder] = read_rule(rule(step(sendBefore={"time": "{{ at }}", "by": "P1D"}))).steps

    ahead = timing_of(reminder, {"sendBefore.time": "2026-03-05T10:00:00+01:00"}, NOW)
    past = timing_of(reminder, {"sendBefore.time": "2026-03-03T08:59:59Z"}, NOW)

    assert (ahead.at, ahead.skip) == (datetime(2026, 3, 4, 9, 0, tzinfo=UTC), None)
    assert (past.at, past.skip) == (
        datetime(2026, 3, 2, 8, 59, 59, tzinfo=UTC),
        "its time, 2026-03-02T08:59:59+00:00, was past when the event came",
    )


def test_what_is_no_time_is_told() -> None:
    [reminder] = read_rule(rule(step(sendBefore={"time": "{{ at }}"}))).steps

    with pytest.raises(ValueError, match="'soon' is not a time"):
        timing_of(reminder, {"sendBefore.time": "soon"}, NOW)


# Fallbacks


def test_a_fallback_is_told_the_whole_event() -> None:
    key = RuleKey("t", Channel.EMAIL, RuleAudience.LEAD)
    event = read_event({"trigger": "t", "idempotencyKey": "k", "lead": {"name": "Ada"}, "variables": {"x": 1}})

    assert fallback_name(key) == "fallback:t/email/lead"
    assert fallback_payload(event, key) == {
        "trigger": "t",
        "channel": "email",
        "audience": "lead",
        "idempotencyKey": "k",
        "lead": {"name": "Ada"},
        "partner": None,
        "agent": None,
        "variables": {"x": 1},
    }


@pytest.mark.parametrize("channel", STEP_CHANNELS)
def test_the_template_of_a_kind_is_named_after_it(channel: Channel) -> None:
    assert template_of(channel) == f"{channel}_send"
