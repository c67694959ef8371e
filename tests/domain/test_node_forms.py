"""The forms that editors show and what the parser accepts are the same: neither has a field that the other lacks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.workflows.definition import check_content, parse_workflow
from tidings.domain.workflows.forms import content_form, node_types

TYPES = {one.type: one.schema for one in node_types().nodes}
FORMS = node_types().workflow
OF_FORMAT = {
    **dict.fromkeys(("liquid", "html"), "{{ name }}"),
    "duration": "P1D",
    "time": "{{ at }}",
    "template": "footer",
    "sender": "us",
    "function": "f",
}
"""A value of each format."""
UNKNOWN = "nobodyHasThis"
KNOWN = re.compile(r"use (.*?)(?:; did you mean|$)")
BY_CONTENT = {
    "from": "us@example.com",
    "replyTo": "us@example.com",
    "cc": "us@example.com",
    "bcc": "us@example.com",
    "url": "https://example.com",
    "image": "https://example.com/a.png",
    "mjml": "<mjml></mjml>",
    "contentType": "text/plain",
    "contentId": "logo",
    "headers": {"X-Campaign": "spring"},
    "condition": {"path": "plan", "value": "pro"},
}
"""What stands in fields whose text means something."""


def problems_of(definition: Mapping[str, object]) -> list[Problem]:
    try:
        parse_workflow(definition)
    except DefinitionInvalid as error:
        return [*error.problems]
    return []


def sample(name: str, schema: Mapping[str, Any]) -> Any:
    """A value that the schema allows."""
    if name in BY_CONTENT:
        return BY_CONTENT[name]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema and "properties" not in schema:
        return sample(name, schema["anyOf"][0])
    return schema["enum"][0] if "enum" in schema else _of_type(schema)


def _of_type(schema: Mapping[str, Any]) -> Any:
    inside = {name: sample(name, one) for name, one in schema.get("properties", {}).items()}
    listed = [sample("", schema["items"])] if "items" in schema else []
    number = max(schema.get("minimum", 1), 1)
    text = OF_FORMAT.get(schema.get("format", ""), "hello")
    of_type = {"object": inside or {"name": "Hi"}, "array": listed, "boolean": True, "number": number}
    return (of_type | {"integer": number, "string": text})[schema["type"]]


def node_of(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A node with what it must have and what is given."""
    schema = TYPES[kind]
    if not schema["properties"]:
        return {}
    first = next((one["required"][0] for one in schema.get("anyOf", schema.get("oneOf", []))), None)
    must = [*schema["required"], *([first] if first and kind != "delay" else [])]
    needed = {name: sample(name, schema["properties"][name]) for name in must}
    if kind == "delay" and not given.keys() & {"delayMs", "duration", "until"}:
        needed["duration"] = "P1D"
    if "mjml" in given:
        needed.pop("html", None)
    return {**needed, "id": "one", "type": kind, **given}


def around(node: Mapping[str, Any]) -> dict[str, Any]:
    """A workflow of one node; of a branch, with what it needs."""
    if node["type"] != "branch":
        return {"entryNodeId": node["id"], "nodes": [node]}
    others = [{"id": "two", "type": "delay", "delayMs": 1}]
    edge = {"from": node["id"], "to": "two", "condition": {"path": "plan", "value": "pro"}}
    return {"entryNodeId": node["id"], "nodes": [node, *others], "edges": [edge]}


def fields_of(kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from TYPES[kind]["properties"].items()


def known_in(problems: list[Problem], place: str) -> set[str]:
    [refusal] = [one.message for one in problems if one.place == place]
    found = KNOWN.search(refusal)
    assert found is not None
    return set(found[1].split(", "))


@pytest.mark.parametrize("kind", TYPES)
def test_a_node_is_refused_every_field_that_its_form_lacks(kind: str) -> None:
    problems = problems_of(around(node_of(kind, {UNKNOWN: 1})))

    assert known_in(problems, f"nodes[0].{UNKNOWN}") == TYPES[kind]["properties"].keys()


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in TYPES for name, _ in fields_of(kind)])
def test_a_node_may_have_every_field_of_its_form(kind: str, name: str) -> None:
    schema = TYPES[kind]["properties"][name]
    given = {"type": kind, "id": "one"}.get(name) or sample(name, schema)
    beside = {"html": "<p>Hi</p>"} if name == "layout" else {}
    node = node_of(kind, {name: given, **beside})

    assert problems_of(around(node)) == []


@pytest.mark.parametrize("kind", [kind for kind in TYPES if TYPES[kind]["required"]])
def test_a_node_needs_what_its_form_requires_and_nothing_else(kind: str) -> None:
    whole = node_of(kind, {})

    assert problems_of(around(whole)) == []
    for name in set(TYPES[kind]["required"]) - {"id", "type"}:
        assert problems_of(around({key: one for key, one in whole.items() if key != name})) != []


@pytest.mark.parametrize("kind", TYPES)
def test_what_a_form_has_for_a_default_is_what_the_parser_takes(kind: str) -> None:
    defaults = {name: one["default"] for name, one in fields_of(kind) if "default" in one}

    plain, told = (parse_workflow(around(node_of(kind, given))) for given in ({}, defaults))

    assert told.nodes == plain.nodes


def numbers() -> Iterator[tuple[str, str, float, float]]:
    for kind in TYPES:
        for name, one in fields_of(kind):
            if "minimum" in one:
                yield kind, name, one["minimum"], one["maximum"]


@pytest.mark.parametrize(("kind", "name", "least", "largest"), [*numbers()])
def test_a_number_is_refused_outside_of_the_bounds_of_its_form(
    kind: str, name: str, least: float, largest: float
) -> None:
    def is_fine(value: float) -> bool:
        return not any(name in one.place for one in problems_of(around(node_of(kind, {name: value}))))

    assert is_fine(least)
    assert is_fine(largest)
    assert not is_fine(least - 1)
    assert not is_fine(largest + 1)


@pytest.mark.parametrize("kind", TYPES)
def test_a_word_is_refused_unless_it_is_a_choice_of_its_form(kind: str) -> None:
    for name, one in fields_of(kind):
        for choice in one.get("enum", ()):
            assert problems_of(around(node_of(kind, {name: choice}))) == []
        if "enum" in one and name != "type":
            assert problems_of(around(node_of(kind, {name: "no such word"}))) != []


def test_the_rest_of_a_workflow_has_the_fields_of_its_forms() -> None:
    node = {"id": "one", "type": "branch"}
    workflow = around(node)
    edge = workflow["edges"][0] | {UNKNOWN: 1}
    step = {"name": "one", "function": "f"}

    problems = problems_of({**workflow, "edges": [edge], UNKNOWN: 1})
    of_steps = problems_of({"steps": [{**step, UNKNOWN: 1}], UNKNOWN: 1})

    options = FORMS.options["properties"].keys()
    assert known_in(problems, UNKNOWN) == options | {"entryNodeId", "nodes", "edges"}
    assert known_in(of_steps, UNKNOWN) == options | {"steps"}
    assert known_in(problems, f"edges[0].{UNKNOWN}") == FORMS.edge["properties"].keys()
    assert known_in(of_steps, f"steps[0].{UNKNOWN}") == FORMS.step["properties"].keys()


@pytest.mark.parametrize("name", FORMS.step["properties"])
def test_a_step_may_have_every_field_of_its_form(name: str) -> None:
    given = sample(name, FORMS.step["properties"][name])

    assert problems_of({"steps": [{"name": "one", "function": "f", name: given}]}) == []


@pytest.mark.parametrize("name", list(FORMS.options["properties"]))
def test_a_workflow_may_have_every_option_of_its_form(name: str) -> None:
    given = sample(name, FORMS.options["properties"][name])

    assert problems_of({**around(node_of("sms", {})), name: given}) == []


@pytest.mark.parametrize("way", FORMS.options["properties"]["onError"]["anyOf"][1:], ids=lambda one: one["title"])
def test_what_is_done_on_an_error_has_the_fields_of_its_form(way: Mapping[str, Any]) -> None:
    told = {"type": way["title"], "to": "us@example.com", "function": "f", UNKNOWN: 1}
    given = {name: one for name, one in told.items() if name in way["properties"] or name == UNKNOWN}

    problems = problems_of({**around(node_of("sms", {})), "onError": given})

    assert known_in(problems[:1], f"onError.{UNKNOWN}") == way["properties"].keys()


@pytest.mark.parametrize("channel", MESSAGE_CHANNELS)
def test_a_message_may_have_every_field_of_its_channel(channel: Channel) -> None:
    form: Mapping[str, Any] = content_form(channel)
    properties = form["properties"]
    needed = [*form["required"], form["anyOf"][0]["required"][0]]

    for name, schema in properties.items():
        must = [one for one in needed if one != "html" or name != "mjml"]
        beside = {"html": "<p>Hi</p>"} if name == "layout" else {}
        content = {one: sample(one, properties[one]) for one in must} | beside | {name: sample(name, schema)}
        assert check_content(channel, content).keys() >= {name}


def test_every_field_has_a_title_and_says_what_it_is_for() -> None:
    bare = [
        f"{kind}.{name}"
        for kind in TYPES
        for name, one in fields_of(kind)
        if not one.get("title") or not one.get("description")
    ]

    assert bare == []
