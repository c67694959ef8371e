"""Definitions: every problem at once, each with its place, and nothing but DefinitionInvalid."""

import math
from copy import deepcopy
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.domain.definition import CONTENT_FIELDS, MAX_NODES, check_content, parse_graph
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.graph import Delay, Edge, Graph, OnDoubt, OnFailure, Send
from tidings.domain.item import Channel

Raw = dict[str, Any]

WELCOME: Raw = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": ["{{ email }}", "b@example.com"], "subject": "Hi", "body": "Welcome"},
        {"id": "wait", "type": "delay", "duration": "PT1H"},
        {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Hm?", "onFailure": "continue", "onDoubt": "hold"},
    ],
    "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
}


def changed(path: str, value: object) -> Raw:
    """The welcome workflow with one thing replaced; `path` is like nodes.1.duration."""
    raw = deepcopy(WELCOME)
    *parents, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    target: Any = raw
    for step in parents:
        target = target[step]
    target[last] = value
    return raw


def delay(id: str, **more: object) -> Raw:
    return {"id": id, "type": "delay", **(more or {"delayMs": 1})}


def graph(nodes: list[Raw], edges: list[tuple[object, object]], entry: object = "a") -> Raw:
    return {"entryNodeId": entry, "nodes": nodes, "edges": [{"from": one, "to": other} for one, other in edges]}


def problems(raw: object) -> dict[str, str]:
    with pytest.raises(DefinitionInvalid) as invalid:
        parse_graph(raw)
    return {problem.place: problem.message for problem in invalid.value.problems}


def test_a_definition_becomes_a_graph() -> None:
    parsed = parse_graph(WELCOME)

    assert parsed.entry == "hello"
    assert parsed.edges == (Edge("hello", "wait"), Edge("wait", "nudge"))
    assert parsed.nodes["wait"] == Delay("wait", timedelta(hours=1))
    nudge = parsed.nodes["nudge"]
    assert isinstance(nudge, Send)
    assert (nudge.channel, nudge.to, nudge.templates) == (Channel.SMS, ("{{ phone }}",), {"body": "Hm?"})
    assert (nudge.on_failure, nudge.on_doubt) == (OnFailure.CONTINUE, OnDoubt.HOLD)


def test_a_send_aborts_on_failure_and_goes_on_in_doubt_unless_told_otherwise() -> None:
    hello = parse_graph(WELCOME).nodes["hello"]

    assert isinstance(hello, Send)
    assert (hello.on_failure, hello.on_doubt) == (OnFailure.ABORT, OnDoubt.CONTINUE)


def test_snake_case_is_taken_too() -> None:
    parsed = parse_graph({"entry_node_id": "a", "nodes": [delay("a", delay_ms=5)]})

    assert parsed == Graph("a", {"a": Delay("a", timedelta(milliseconds=5))}, ())


def test_every_problem_is_reported_at_once_with_its_place() -> None:
    found = problems(
        {
            "entryNodeId": "nowhere",
            "nodes": [
                {"id": "a", "type": "email", "to": [], "body": "{{ oops"},
                {"id": "a", "type": "delay", "delayMs": -1},
                {"id": 7, "type": "pigeon"},
                {"id": "d", "type": "sms", "to": "x", "onFailure": "explode", "onDoubt": 1},
                "not a node",
            ],
            "edges": [{"from": "a", "to": "ghost"}, 5, {"from": "a", "to": "d"}, {"from": "a", "to": "d"}],
        }
    )

    assert set(found) == {
        "entryNodeId",
        "nodes[0].to",
        "nodes[0].body",
        "nodes[1].delayMs",
        "nodes[1].id",
        "nodes[2].id",
        "nodes[2].type",
        "nodes[3].body",
        "nodes[3].onFailure",
        "nodes[3].onDoubt",
        "nodes[4]",
        "edges[0].to",
        "edges[1].from",
        "edges[1].to",
        "edges[3]",
    }


def test_a_cycle_is_named_node_by_node() -> None:
    found = problems(graph([delay("a"), delay("b"), delay("c")], [("a", "b"), ("b", "c"), ("c", "b")]))

    assert list(found) == ["edges"]
    assert "b → c → b" in found["edges"] or "c → b → c" in found["edges"]


def test_a_cycle_is_reported_beside_a_bad_template() -> None:
    raw = graph([delay("a"), {"id": "b", "type": "sms", "to": "x", "body": "{{"}], [("a", "b"), ("b", "a")])

    assert set(problems(raw)) == {"nodes[1].body", "edges"}


def test_a_node_that_leads_to_itself_is_a_cycle() -> None:
    assert "a → a" in problems(graph([delay("a")], [("a", "a")]))["edges"]


def test_an_unknown_entry_names_some_that_exist() -> None:
    found = problems(graph([delay(name) for name in "abcdefg"], [], entry="zz"))

    assert "'zz'" in found["entryNodeId"]
    assert "'a', 'b', 'c', 'd', 'e', …" in found["entryNodeId"]


@pytest.mark.parametrize("entry", [None, 5, [], {}, ["a"], ""])
def test_an_entry_that_is_no_text_is_refused(entry: object) -> None:
    assert "entryNodeId" in problems(graph([delay("a")], [], entry=entry))


def test_an_edge_to_nowhere_is_refused_at_its_end() -> None:
    assert set(problems(graph([delay("a")], [("a", "b"), ("c", "a")]))) == {"edges[0].to", "edges[1].from"}


def test_a_node_that_cannot_be_reached_is_named_at_its_place() -> None:
    found = problems(graph([delay("a"), delay("b"), delay("lost"), delay("also")], [("a", "b"), ("lost", "also")]))

    assert found == {
        "nodes[2]": "'lost' cannot be reached from 'a'",
        "nodes[3]": "'also' cannot be reached from 'a'",
    }


def test_what_precedes_the_entry_cannot_be_reached() -> None:
    assert list(problems(graph([delay("a"), delay("b")], [("b", "a")]))) == ["nodes[1]"]


def test_an_id_used_twice_is_refused_at_the_second() -> None:
    found = problems(graph([delay("a"), delay("b"), delay("a")], [("a", "b")]))

    assert found == {"nodes[2].id": "'a' is used twice"}


def test_two_bad_ids_are_not_called_the_same() -> None:
    found = problems(graph([delay("a"), {"id": 1, "type": "delay", "delayMs": 1}, {"type": "delay", "delayMs": 1}], []))

    assert set(found) == {"nodes[1].id", "nodes[2].id"}
    assert all("is not an id" in message for message in found.values())


def test_a_node_of_a_wrong_type_does_not_make_its_edges_wrong() -> None:
    found = problems(graph([delay("a"), {"id": "b", "type": "emial"}], [("a", "b")]))

    assert list(found) == ["nodes[1].type"]
    assert "'emial'" in found["nodes[1].type"]
    assert "email" in found["nodes[1].type"]


@pytest.mark.parametrize("kind", [None, 5, [], {}, ["email"], "function", ""])
def test_a_type_that_is_none_is_refused(kind: object) -> None:
    assert "nodes[1].type" in problems(changed("nodes.1.type", kind))


@pytest.mark.parametrize("id", [None, 5, [], {}, "", "x" * 201])
def test_an_id_that_is_none_is_refused(id: object) -> None:
    assert "nodes[1].id" in problems(changed("nodes.1.id", id))


@pytest.mark.parametrize("wait", [-1, -0.1, "5", None, True, [], {}, math.nan, math.inf, -math.inf, 10**18])
def test_a_delay_that_is_no_wait_is_refused(wait: object) -> None:
    found = problems(graph([{"id": "a", "type": "delay", "delayMs": wait}], []))

    assert set(found) <= {"nodes[0].delayMs", "nodes[0]"}


@pytest.mark.parametrize("duration", ["P1M", "PT", "-PT1H", 5, [], {}, True, "soon"])
def test_a_duration_that_is_none_is_refused(duration: object) -> None:
    assert list(problems(changed("nodes.1.duration", duration))) == ["nodes[1].duration"]


def test_a_delay_says_its_wait_once() -> None:
    raw = graph([delay("a", delayMs=1, duration="PT1S")], [])

    assert problems(raw) == {"nodes[0]": "a delay needs either delayMs or duration"}


@pytest.mark.parametrize(
    ("path", "source", "place"),
    [
        ("nodes.0.body", "line one\nHi {{ name | shout }}", "(line 2, column 14)"),
        ("nodes.0.subject", "{% if x %}", "(line 1, column "),
        ("nodes.2.to", "ok\n\n  {{ | }}", "(line 3, column "),
    ],
)
def test_bad_liquid_is_reported_with_line_and_column(path: str, source: str, place: str) -> None:
    found = problems(changed(path, source))

    _, number, name = path.split(".")
    assert list(found) == [f"nodes[{number}].{name}"]
    assert place in found[f"nodes[{number}].{name}"]


@pytest.mark.parametrize("channel", CONTENT_FIELDS)
def test_a_message_needs_something_to_say(channel: Channel) -> None:
    raw = graph([{"id": "a", "type": str(channel), "to": "x", "subject": "s", "title": "t"}], [])

    assert any("needs" in message for message in problems(raw).values())


@pytest.mark.parametrize("to", [None, "", [], [""], ["a", ""], 5, {}, {"a": 1}, [5], [["a"]], b"abc"])
def test_a_send_needs_recipients(to: object) -> None:
    assert list(problems(changed("nodes.0.to", to))) == ["nodes[0].to"]


@pytest.mark.parametrize("nodes", [None, [], {}, "abc", 5])
def test_a_workflow_needs_nodes(nodes: object) -> None:
    assert "nodes" in problems({"entryNodeId": "a", "nodes": nodes})


@pytest.mark.parametrize("edges", [None, {}, "ab", 5])
def test_edges_are_a_list(edges: object) -> None:
    assert "edges" in problems({"entryNodeId": "a", "nodes": [delay("a")], "edges": edges})


def test_too_many_nodes_are_refused_without_reading_them() -> None:
    assert list(problems(graph([{}] * (MAX_NODES + 1), []))) == ["nodes", "entryNodeId"]


def test_the_largest_workflow_is_read_with_a_chain_as_long_as_it_is() -> None:
    names = [f"n{number}" for number in range(MAX_NODES)]

    parsed = parse_graph(graph([delay(name) for name in names], list(pairwise(names)), "n0"))

    assert len(parsed.nodes) == MAX_NODES


def test_a_campaign_s_content_is_checked_by_the_same_rules() -> None:
    assert check_content(Channel.EMAIL, {"subject": "Hi", "body": "b", "other": 1}) == {"subject": "Hi", "body": "b"}
    with pytest.raises(DefinitionInvalid, match=r"content\.body: .*\(line 1, column"):
        check_content(Channel.SMS, {"body": "{{ x | nope }}"})


@pytest.mark.parametrize("text", ["a\x00b", "half \ud800"])
@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("nodes.0.body", "nodes[0].body"),
        ("nodes.0.to", "nodes[0].to"),
        ("nodes.1.note", "nodes[1].note"),
        ("tags", "tags"),
    ],
)
def test_a_text_that_cannot_be_stored_is_refused_wherever_it_stands(path: str, place: str, text: str) -> None:
    found = problems(changed(path, text))

    assert list(found) == [place]
    assert "cannot be stored" in found[place]


def test_a_name_that_cannot_be_stored_is_refused_in_what_it_names() -> None:
    assert list(problems(changed("nodes.1.a\x00b", 1))) == ["nodes[1]"]


# Whatever is given, it is a graph or DefinitionInvalid.

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3)
words = st.sampled_from(
    ["a", "b", "c", "email", "sms", "delay", "voice", "PT1H", "abort", "hold", "{{ x }}", "{{", "{% if %}"]
)
keys = st.sampled_from(
    [
        *("id", "type", "to", "body", "html", "subject", "script", "duration", "delayMs", "onFailure", "onDoubt"),
        *("from", "entryNodeId", "nodes", "edges"),
    ]
)
junk = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=3), inner, max_size=5),
    max_leaves=12,
)
node_ids = st.sampled_from(["a", "b", "c"]) | junk
raw_nodes = st.fixed_dictionaries(
    {"id": node_ids, "type": words | junk},
    optional=dict.fromkeys(["to", "body", "html", "subject", "duration", "delayMs", "onFailure"], words | junk),
)
raw_edges = st.fixed_dictionaries({"from": node_ids, "to": node_ids})
raw_graphs = st.fixed_dictionaries(
    {"entryNodeId": node_ids, "nodes": st.lists(raw_nodes | junk, max_size=4) | junk},
    optional={"edges": st.lists(raw_edges | junk, max_size=5) | junk},
)


def parsed_or_problems(raw: object) -> Graph | tuple[Problem, ...]:
    try:
        return parse_graph(raw)
    except DefinitionInvalid as invalid:
        return invalid.problems


@settings(max_examples=400)
@given(junk | raw_graphs)
def test_whatever_is_given_it_is_a_graph_or_definition_invalid(raw: object) -> None:
    parsed = parsed_or_problems(raw)

    if isinstance(parsed, Graph):
        assert parsed.entry in parsed.nodes
        assert all(edge.source in parsed.nodes and edge.target in parsed.nodes for edge in parsed.edges)
    else:
        assert parsed
        assert all(problem.message for problem in parsed)


@settings(max_examples=300)
@given(st.sampled_from(["nodes.0", "nodes.1", "nodes.2"]), keys, junk)
def test_one_field_of_a_good_workflow_replaced_by_junk_is_a_graph_or_definition_invalid(
    node: str, field: str, value: object
) -> None:
    parsed = parsed_or_problems(changed(f"{node}.{field}", value))

    if not isinstance(parsed, Graph):
        assert all(problem.place.startswith(("nodes", "edges", "entryNodeId")) for problem in parsed)
