"""Sequences as people write them: every problem at once with its place, and the graph they become."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.errors import DefinitionInvalid
from tidings.domain.flow.graph import Delay, Form, OnFailure, Schedule, Send
from tidings.domain.flow.item import Channel
from tidings.domain.flow.retry import RULE
from tidings.domain.sequences.form import SequenceStep, definition_of, read_settings, read_step, settings_in, steps_in
from tidings.domain.workflows.definition import parse_workflow
from tidings.domain.workflows.requirements import required_of
from tidings.views.sequences import OffsetFrom, OnStepFailure, SequenceSettings

Raw = dict[str, Any]
WELCOME: Raw = {"id": "a", "dayOffset": 0, "stepOrder": 1, "channel": "email", "subject": "Hi", "content": "Welcome"}
NUDGE: Raw = {
    "id": "b",
    "dayOffset": 3,
    "stepOrder": 2,
    "sendHour": 9,
    "channel": "sms",
    "content": "{{ contact.name }}?",
}
TIP: Raw = {"id": "c", "dayOffset": 7, "stepOrder": 3, "channel": "push", "subject": "Tip", "content": "T"}


def definition(*steps: Raw, **settings: object) -> Raw:
    return {"sequence": settings, "steps": list(steps)}


def problems(raw: Raw) -> dict[str, str]:
    with pytest.raises(DefinitionInvalid) as invalid:
        parse_workflow(raw)
    return {problem.place: problem.message for problem in invalid.value.problems}


def test_a_sequence_becomes_a_line_of_waits_and_sends() -> None:
    graph = parse_workflow(definition(WELCOME, NUDGE, TIP, timezone="Europe/Berlin"))

    assert graph.form is Form.SEQUENCE
    assert list(graph.nodes) == ["wait_a", "a", "wait_b", "b", "wait_c", "c"]
    assert [(edge.source, edge.target) for edge in graph.edges] == [
        ("wait_a", "a"),
        ("a", "wait_b"),
        ("wait_b", "b"),
        ("b", "wait_c"),
        ("wait_c", "c"),
    ]
    assert graph.entry == "wait_a"
    assert graph.nodes["wait_b"] == Delay("wait_b", schedule=Schedule(3, 9, "Europe/Berlin", OffsetFrom.ENROLLMENT))
    assert graph.nodes["b"] == Send(
        "b", Channel.SMS, (), {"body": "{{ contact.name }}?"}, retry=RULE, on_failure=OnFailure.CONTINUE
    )
    assert graph.timeout is None
    assert required_of(graph) == {"contact"}


@pytest.mark.parametrize(
    ("channel", "subject", "templates"),
    [
        ("email", "S", {"subject": "S", "body": "C"}),
        ("email", None, {"body": "C"}),
        ("push", "S", {"title": "S", "body": "C"}),
        ("sms", None, {"body": "C"}),
        ("whatsapp", None, {"body": "C"}),
        ("voice", None, {"script": "C"}),
    ],
)
def test_subject_and_content_go_where_the_channel_has_them(
    channel: str, subject: str | None, templates: dict[str, str]
) -> None:
    step = {**WELCOME, "channel": channel, "subject": subject, "content": "C"}

    node = parse_workflow(definition(step)).nodes["a"]

    assert isinstance(node, Send)
    assert node.content == templates


def test_a_step_that_fails_stops_the_enrollment_if_the_sequence_says_so() -> None:
    node = parse_workflow(definition(WELCOME, onStepFailure="stop")).nodes["a"]

    assert isinstance(node, Send)
    assert node.on_failure is OnFailure.ABORT


def test_steps_stand_in_their_order_whatever_order_they_are_written_in() -> None:
    assert list(parse_workflow(definition(TIP, WELCOME, NUDGE)).nodes)[1::2] == ["a", "b", "c"]
    written = definition_of(SequenceSettings(), [read_step(TIP), read_step(WELCOME)])
    assert [step.id for step in steps_in(written)] == ["a", "c"]


def test_what_is_written_reads_the_same_again() -> None:
    settings = SequenceSettings(
        offset_from=OffsetFrom.PREVIOUS, timezone="contact", on_step_failure=OnStepFailure.STOP, allow_reentry=True
    )
    step = SequenceStep("a", 2, 3, 0, Channel.EMAIL, "S", "C", timedelta(days=1, hours=2, minutes=3, seconds=4))

    frozen = definition_of(settings, [step])

    assert settings_in(frozen) == settings
    assert steps_in(frozen) == [step]
    assert parse_workflow(frozen).form is Form.SEQUENCE


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"sendHour": 24}, "steps[1].sendHour", "24 is not a whole number from 0 to 23"),
        ({"sendHour": -1}, "steps[1].sendHour", "-1 is not a whole number from 0 to 23"),
        ({"sendHour": "9"}, "steps[1].sendHour", "'9' is not a whole number from 0 to 23"),
        ({"dayOffset": -1}, "steps[1].dayOffset", "-1 is not a whole number from 0 to 3,650"),
        ({"dayOffset": 1.5}, "steps[1].dayOffset", "1.5 is not a whole number from 0 to 3,650"),
        ({"dayOffset": None}, "steps[1].dayOffset", "is missing: use a whole number from 0 on"),
        ({"stepOrder": 1}, "steps[1].stepOrder", "1 is the order of steps[0] as well"),
        (
            {"channel": "social"},
            "steps[1].channel",
            "'social' is not a channel: use one of email, sms, whatsapp, push, voice, chat, webhook",
        ),
        (
            {"channel": None},
            "steps[1].channel",
            "is missing: use one of email, sms, whatsapp, push, voice, chat, webhook",
        ),
        ({"subject": "S"}, "steps[1].subject", "a message over sms has no subject; leave it out"),
        ({"content": None}, "steps[1].content", "is missing: write what the message says"),
        ({"content": " "}, "steps[1].content", "' ' says nothing: write what the message says"),
        ({"content": 7}, "steps[1].content", "7 is not a string"),
        ({"maxLateness": "2 hours"}, "steps[1].maxLateness", "'2 hours' is not a duration"),
        ({"maxLateness": 10**400}, "steps[1].maxLateness", "is longer than ten years"),
        ({"sendHour": 10**400}, "steps[1].sendHour", "… is not a whole number from 0 to 23"),
        ({"stepOrder": 1.5}, "steps[1].stepOrder", "1.5 is not a whole number from 0 to 1,000,000"),
        (
            {"maxLateness": -1},
            "steps[1].maxLateness",
            "-1 is not a duration: write it like PT30M, PT2H or P3D, or as seconds",
        ),
        (
            {"maxLateness": True},
            "steps[1].maxLateness",
            "True is not a duration: write it like PT30M, PT2H or P3D, or as seconds",
        ),
        ({"delay": 3}, "steps[1].delay", "'delay' is not a field here"),
        ({"id": "a"}, "steps[1].id", "'a' is used twice"),
        ({"content": "{{ name }}"}, "steps[1].content", "{{ name }} is nothing a contact has"),
        ({"content": "{{ vars.a.status }}"}, "steps[1].content", "{{ vars.a }} is nothing a contact has"),
        ({"content": "{% if step_1_error %}!{% endif %}"}, "steps[1].content", "{{ step_1_error }} is nothing"),
        ({"content": "{{ contact.plan }}"}, "steps[1].content", "{{ contact.plan }} is nothing a contact has"),
        ({"content": "{% if %}"}, "steps[1].content", "line 1"),
        ({"content": "a\x00b"}, "steps[1].content", "NUL"),
    ],
)
def test_what_is_wrong_with_a_step_is_said_with_its_place(change: Raw, place: str, message: str) -> None:
    found = problems(definition(WELCOME, {**NUDGE, **change}, TIP))

    assert found.keys() == {place}
    assert message in found[place]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"timezone": "Mars/Olympus"}, "sequence.timezone"),
        ({"timezone": 3}, "sequence.timezone"),
        ({"offsetFrom": "birth"}, "sequence.offsetFrom"),
        ({"onStepFailure": "panic"}, "sequence.onStepFailure"),
        ({"allowReentry": "yes"}, "sequence.allowReentry"),
        ({"color": "red"}, "sequence.color"),
    ],
)
def test_what_is_wrong_with_the_settings_is_said_with_its_place(settings: Raw, place: str) -> None:
    assert problems(definition(WELCOME, **settings)).keys() == {place}


def test_a_sequence_has_at_least_one_step_and_not_too_many() -> None:
    assert problems(definition()) == {"steps": "give at least one step"}
    assert "more than the 1000" in problems(definition(*[WELCOME] * 1001))["steps"]
    assert problems({"sequence": None, "steps": [WELCOME]}).keys() == {"sequence"}
    assert problems({"sequence": {}, "steps": [3]}).keys() == {"steps[0]"}


def test_offsets_from_enrollment_do_not_go_back_but_those_from_the_previous_step_may() -> None:
    late_first = [{**WELCOME, "dayOffset": 5}, NUDGE]
    same_day = [{**WELCOME, "sendHour": 17}, {**NUDGE, "dayOffset": 0, "sendHour": 9}]

    assert problems(definition(*late_first)) == {
        "steps[1].dayOffset": "day 3 at 9:00 is before day 5 of steps[0], which is sent first"
    }
    assert problems(definition(*same_day)).keys() == {"steps[1].dayOffset"}
    assert len(parse_workflow(definition(*late_first, offsetFrom="previous")).nodes) == 4
    assert len(parse_workflow(definition({**WELCOME, "sendHour": 9}, {**NUDGE, "dayOffset": 0})).nodes) == 4


def test_a_part_of_a_step_is_changed_and_null_takes_it_away() -> None:
    before = read_step({**WELCOME, "maxLateness": 3600, "send_hour": 9})
    assert (before.max_lateness, before.send_hour) == (timedelta(hours=1), 9)

    after = read_step({"sendHour": None, "day_offset": 2, "maxLateness": None}, before)

    assert after == SequenceStep("a", 2, 1, None, Channel.EMAIL, "Hi", "Welcome", None)


def test_a_part_of_the_settings_is_changed() -> None:
    before = read_settings({"timezone": "europe/berlin"})
    assert before.timezone == "Europe/Berlin"

    assert read_settings({"allow_reentry": True}, before) == SequenceSettings(
        timezone="Europe/Berlin", allow_reentry=True
    )
    with pytest.raises(DefinitionInvalid, match=r"^offsetFrom: 'x' is not one of"):
        read_settings({"offsetFrom": "x"})
    with pytest.raises(DefinitionInvalid, match=r"^sendHour: 24 is not"):
        read_step({**WELCOME, "sendHour": 24})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("sequence", "steps"), ANYTHING)), ANYTHING, ANYTHING)
def test_nothing_but_a_refusal_comes_of_nonsense(raw: Raw, step: object, value: object) -> None:
    for tried in (raw, {"sequence": {}, "steps": [step]}, definition({**WELCOME, "sendHour": value, "content": value})):
        try:
            parse_workflow(tried)
        except DefinitionInvalid:
            continue


@pytest.mark.parametrize(("name", "subject"), [("Onboarding", "Onboarding"), ("{{ x }} {% y", "{ { x }} { % y")])
def test_an_e_mail_without_a_subject_has_the_sequence_s_name_for_one(name: str, subject: str) -> None:
    step = read_step({**WELCOME, "channel": "email", "subject": None})
    push = read_step({**NUDGE, "channel": "push", "content": "Hi"})

    graph = parse_workflow(definition_of(SequenceSettings(), [step, push], name))
    sends = [node for node in graph.nodes.values() if isinstance(node, Send)]

    assert [node.content for node in sends] == [{"subject": subject, "body": step.content}, {"body": "Hi"}]
