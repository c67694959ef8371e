"""A rule as users write it: read, checked with every problem in its place, and put in order."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from tidings.domain.errors import DefinitionInvalid
from tidings.domain.flow.item import Channel
from tidings.domain.people.recipients import RecipientConfig
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.rule import RuleDefinition, keep_steps, read_rule, step_to_json
from tidings.views.rules import RuleAudience

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CONTENT: dict[str, dict[str, str]] = {
    "email": {"subject": "Hi {{ lead.name }}", "body": "Quote {{ quote.number }}"},
    "whatsapp": {"body": "Hi {{ lead.name }}"},
    "sms": {"body": "Hi"},
    "push": {"title": "Hi", "body": "There"},
    "voice": {"script": "Hello"},
    "chat": {"body": "Hi"},
    "webhook": {"body": "{}"},
}


def step(**more: Any) -> dict[str, Any]:
    return {"template": CONTENT["email"]} | more


def rule(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "trigger": "quote_sent",
        "channel": "email",
        "audience": "lead",
        "steps": list(steps) or [step()],
    } | more


def places(raw: object) -> set[str]:
    with pytest.raises(DefinitionInvalid) as refused:
        read_rule(raw)
    return {problem.place for problem in refused.value.problems}


@pytest.mark.parametrize("audience", RuleAudience)
@pytest.mark.parametrize("channel", CONTENT)
def test_every_channel_and_audience_can_have_a_rule(channel: str, audience: RuleAudience) -> None:
    read = read_rule(rule({"template": CONTENT[channel]}, channel=channel, audience=audience))

    assert read.key == RuleKey("quote_sent", Channel(channel), audience)
    assert read.enabled
    assert [one.content for one in read.steps] == [CONTENT[channel]]


def test_a_rule_may_be_written_in_snake_case() -> None:
    config = {"include_lead_contact": True, "custom_emails": ["a@example.com"], "custom_phones": []}
    written = rule(step(step_order=3, recipient_config=config, max_attempts=7, send_before=None))

    [read] = read_rule(written).steps

    assert (read.step_order, read.max_attempts) == (3, 7)
    assert read.recipients == RecipientConfig(True, custom_emails=("a@example.com",))


@pytest.mark.parametrize("config", [None, {}])
def test_a_step_without_a_configuration_has_none(config: object) -> None:
    assert read_rule(rule(step(recipientConfig=config))).steps[0].recipients is None


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("a rule", ""),
        (rule(trigger="no spaces"), "trigger"),
        (rule(trigger=None), "trigger"),
        (rule(trigger="x" * 101), "trigger"),
        (rule(channel="pigeon"), "channel"),
        (rule(channel="social"), "channel"),
        (rule(channel="function"), "channel"),
        (rule(audience="everybody"), "audience"),
        (rule(enabled="yes"), "enabled"),
        (rule(colour="red"), "colour"),
        (rule(steps="x"), "steps"),
        (rule() | {"steps": []}, "steps"),
        (rule(*[step()] * 101), "steps"),
        (rule(step(id=str(UUID(int=1))), step(id=str(UUID(int=1)))), "steps"),
        (rule(step(id="x")), "steps[0].id"),
        (rule(step(channel="sms")), "steps[0].channel"),
        (rule(step(stepOrder=-1)), "steps[0].stepOrder"),
        (rule(step(stepOrder=1.5)), "steps[0].stepOrder"),
        (rule(step(enabled=1)), "steps[0].enabled"),
        (rule(step(delay="soon")), "steps[0].delay"),
        (rule(step(delay=-1)), "steps[0].delay"),
        (rule(step(delay="P4000D")), "steps[0].delay"),
        (rule(step(maxAttempts=0)), "steps[0].maxAttempts"),
        (rule(step(maxAttempts=21)), "steps[0].maxAttempts"),
        (rule(step(template=None)), "steps[0].template"),
        (rule(step(template={"body": "x"})), "steps[0].template.subject"),
        (rule(step(template={"subject": "x"})), "steps[0].template.html"),
        (rule(step(template={"subject": "x", "body": "{{ open"})), "steps[0].template.body"),
        (rule(step(template={"subject": "x", "body": "{{ a | nofilter }}"})), "steps[0].template.body"),
        (rule(step(template={"subject": "x", "body": "y", "script": "z"})), "steps[0].template.script"),
        (rule(step(recipientConfig=[])), "steps[0].recipientConfig"),
        (rule(step(recipientConfig={"includeLead": True})), "steps[0].recipientConfig.includeLead"),
        (rule(step(recipientConfig={"includePartner": "no"})), "steps[0].recipientConfig.includePartner"),
        (rule(step(recipientConfig={"customEmails": "x"})), "steps[0].recipientConfig.customEmails"),
        (
            rule(step(recipientConfig={"customEmails": ["a@b.example", "x"]})),
            "steps[0].recipientConfig.customEmails[1]",
        ),
        (
            {**rule({"template": {"body": "y"}, "recipientConfig": {"customPhones": ["123"]}}), "channel": "sms"},
            "steps[0].recipientConfig.customPhones[0]",
        ),
        (rule(step(sendBefore="PT1H")), "steps[0].sendBefore"),
        (rule(step(sendBefore={"time": "when it rains"})), "steps[0].sendBefore.time"),
        (rule(step(sendBefore={"time": "{{ a }} {{ b }}"})), "steps[0].sendBefore.time"),
        (rule(step(sendBefore={"time": "{{ at }}", "by": "x"})), "steps[0].sendBefore.by"),
        (rule(step(delay="PT1H", sendBefore={"time": "{{ at }}"})), "steps[0].sendBefore"),
        (rule(step(attachments=[{"url": "{{ pdf }}"}])), "steps[0].attachments[0].filename"),
        (rule(step(attachments=[{"url": 7, "filename": "a"}])), "steps[0].attachments[0].url"),
        (rule(step(attachments=[7])), "steps[0].attachments[0]"),
        (
            rule(step(attachments=[{"url": "u", "filename": "f", "contentType": "x"}])),
            "steps[0].attachments[0].contentType",
        ),
        (rule(step(attachments=[{"url": "u", "filename": "f"}] * 11)), "steps[0].attachments"),
        (rule({"template": {"body": "x"}, "attachments": [{}]}, channel="sms"), "steps[0].attachments"),
        (rule(step(createdAt="once")), "steps[0].createdAt"),
        (rule(step(template={"subject": "a\x00", "body": "b"})), "steps[0].template.subject"),
        (rule(7), "steps[0]"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_told_with_its_place(written: object, place: str) -> None:
    assert place in places(written)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    written = rule(step(template={}), step(delay="x"), trigger="", channel="x", audience="y")

    assert places(written) >= {"trigger", "channel", "audience", "steps[0].template.subject", "steps[1].delay"}


def test_a_disabled_rule_needs_no_steps() -> None:
    assert read_rule(rule() | {"enabled": False, "steps": []}).steps == ()


def test_steps_are_ordered_by_step_order_then_by_their_time_then_as_they_were_written() -> None:
    given = [
        step(stepOrder=2, createdAt="2026-01-01T00:00:00Z", template={"subject": "d", "body": "x"}),
        step(stepOrder=1, createdAt="2026-01-02T00:00:00Z", template={"subject": "b", "body": "x"}),
        step(stepOrder=1, createdAt="2026-01-01T00:00:00Z", template={"subject": "a", "body": "x"}),
        step(stepOrder=1, createdAt="2026-01-02T00:00:00Z", template={"subject": "c", "body": "x"}),
        step(stepOrder=0, enabled=False, template={"subject": "-", "body": "x"}),
    ]

    ordered = read_rule(rule(*given)).enabled_steps

    assert [one.content["subject"] for one in ordered] == ["a", "b", "c", "d"]


def test_a_step_without_an_order_is_where_it_was_written() -> None:
    assert [one.step_order for one in read_rule(rule(step(), step(), step())).steps] == [1, 2, 3]


def test_what_is_required_is_what_the_enabled_steps_print() -> None:
    pdf = [{"url": "{{ quote.pdf }}", "filename": "{{ quote.number }}.pdf"}]
    read = read_rule(
        rule(
            step(attachments=pdf, sendBefore={"time": "{{ appointment.at }}"}),
            step(enabled=False, template={"subject": "{{ never }}", "body": "x"}),
            step(template={"subject": "{{ given | default: 'x' }}", "body": "{% if tested %}y{% endif %}"}),
        )
    )

    assert read.required == {"lead.name", "quote.number", "quote.pdf", "appointment.at"}


@pytest.mark.parametrize("delay", ["PT90S", 90, 90.0])
def test_a_delay_is_a_duration_or_seconds(delay: object) -> None:
    assert read_rule(rule(step(delay=delay))).steps[0].delay == timedelta(seconds=90)


def stored(
    given: dict[str, Any], before: RuleDefinition | None = None, at: datetime = NOW, first: int = 1
) -> RuleDefinition:
    """The rule as it is stored and read again."""
    numbers = count(first)
    read = read_rule(given)
    steps = keep_steps(read.steps, before.steps if before else (), at, lambda: UUID(int=next(numbers)))
    return read_rule(rule() | {"enabled": False, "steps": [step_to_json(one) for one in steps]})


def test_a_stored_rule_is_read_back_as_it_was() -> None:
    given = rule(
        step(
            delay="P1DT0.5S", maxAttempts=3, recipientConfig={"includePartner": True, "customEmails": ["a@example.com"]}
        ),
        step(sendBefore={"time": "{{ at }}", "by": "PT24H"}, enabled=False, stepOrder=0),
        step(attachments=[{"url": "{{ u }}", "filename": "f.pdf", "contentType": "application/pdf"}]),
        step(sendBefore={"time": "2027-01-01T00:00:00Z"}),
    )

    kept = stored(given)

    assert [
        step_to_json(one) for one in stored({**given, "steps": [step_to_json(one) for one in kept.steps]}).steps
    ] == [step_to_json(one) for one in kept.steps]
    assert [(one.delay, one.before, one.time) for one in kept.steps] == [
        (timedelta(days=1, seconds=0.5), None, None),
        (timedelta(), timedelta(hours=24), "{{ at }}"),
        (timedelta(), None, None),
        (timedelta(), timedelta(), "2027-01-01T00:00:00Z"),
    ]


def test_a_step_that_says_the_same_keeps_its_id_and_its_time() -> None:
    later = NOW + timedelta(days=1)
    first, second = step(template={"subject": "a", "body": "x"}), step(template={"subject": "b", "body": "x"})
    before = stored(rule(first, second))

    after = stored(rule(second | {"stepOrder": 2}, step(stepOrder=2), first | {"stepOrder": 1}), before, later, first=9)

    assert [(one.id, one.created_at) for one in after.steps] == [
        (UUID(int=2), NOW),
        (UUID(int=9), later),
        (UUID(int=1), NOW),
    ]


def test_a_step_that_is_named_by_its_id_may_say_something_else() -> None:
    before = stored(rule(step()))

    after = stored(rule(step(id=str(UUID(int=1)), delay="PT1H")), before, NOW + timedelta(days=1))

    assert [(one.id, one.created_at, one.delay) for one in after.steps] == [(UUID(int=1), NOW, timedelta(hours=1))]


def test_two_steps_that_say_the_same_stay_two() -> None:
    before = stored(rule(step(stepOrder=1), step(stepOrder=1)))

    after = stored(rule(step(stepOrder=1), step(stepOrder=1), step(stepOrder=1)), before, first=9)

    assert [one.id for one in after.steps] == [UUID(int=1), UUID(int=2), UUID(int=9)]


def problem(raw: object, place: str) -> str:
    with pytest.raises(DefinitionInvalid) as refused:
        read_rule(raw)
    [found] = [one.message for one in refused.value.problems if one.place == place]
    return found


@pytest.mark.parametrize(
    ("channel", "config", "place", "remedy"),
    [
        ("email", {"customPhones": ["+442071838750"]}, "customPhones", "use customEmails, or leave it out"),
        ("sms", {"custom_emails": ["a@example.com"]}, "customEmails", "use customPhones, or leave it out"),
        ("push", {"customPhones": ["+442071838750"]}, "customPhones", "name people of the event, or leave it out"),
    ],
)
def test_addresses_that_a_channel_cannot_reach_are_refused_with_the_remedy(
    channel: str, config: dict[str, Any], place: str, remedy: str
) -> None:
    given = rule({"template": CONTENT[channel], "recipientConfig": config}, channel=channel)

    told = problem(given, f"steps[0].recipientConfig.{place}")

    assert told == f"a message over {channel} cannot reach these; {remedy}"


def test_a_rule_that_is_stored_with_them_is_still_read() -> None:
    given = rule(step(recipientConfig={"customPhones": ["+442071838750"]}, attachments=[FILE]))

    assert len(read_rule(given, is_stored=True).steps) == 1


FILE = {"url": "file:///etc/passwd", "filename": "a.pdf"}


@pytest.mark.parametrize(
    "url", [FILE["url"], "file://{{ path }}", "ftp://example.com/{{ x }}", "javascript:{{ x }}", "/etc/passwd", "a b"]
)
def test_an_attachment_that_is_not_on_the_web_is_refused(url: str) -> None:
    told = problem(rule(step(attachments=[{"url": url, "filename": "a.pdf"}])), "steps[0].attachments[0].url")

    assert told.startswith(repr(url))
    assert told.endswith("; write it like https://example.com/quote.pdf")


@pytest.mark.parametrize(
    "url", ["{{ quote.pdf }}", "https://{{ host }}/a", "HTTP://example.com/{{ x }}", "{{ a }}:{{ b }}"]
)
def test_an_attachment_whose_address_comes_with_the_event_is_taken(url: str) -> None:
    file = {"url": url, "filename": "{{ n }}/x"}

    assert read_rule(rule(step(attachments=[file]))).steps[0].content["attachments"] == [file]


def test_an_attachment_needs_a_name_that_a_file_can_have() -> None:
    given = rule(step(attachments=[{"url": "https://example.com/a", "filename": "../a"}]))

    assert "is no name for an attachment" in problem(given, "steps[0].attachments[0].filename")


@pytest.mark.parametrize(
    ("delay", "told"),
    [
        (10**400, "is longer than ten years"),
        ("P20000D", "'P20000D' is longer than ten years"),
        ("soon", "'soon' is not a duration: write it like PT30M, PT2H or P3D, or as seconds"),
        ("P1M", "'P1M' counts months or years"),
    ],
)
def test_a_delay_that_will_not_do_is_told_why(delay: object, told: str) -> None:
    found = problem(rule(step(delay=delay)), "steps[0].delay")

    assert told in found
    assert found.endswith(told) or "P30D" in found


def test_one_field_of_a_step_in_two_spellings_is_refused() -> None:
    told = problem(rule(step(maxAttempts=3, max_attempts=5)), "steps[0].max_attempts")

    assert told == "is given twice, the other time as maxAttempts; give it once"


def test_a_rule_of_nothing_is_told_all_that_it_lacks() -> None:
    assert places({}) == {"trigger", "channel", "audience", "steps"}
    assert problem({}, "trigger").startswith("is missing: use 1 to 100 letters")
    assert problem({}, "channel") == "is missing: use one of email, sms, whatsapp, push, voice, chat, webhook"
