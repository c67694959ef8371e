"""Definitions: every problem at once, each with its place, and nothing but DefinitionInvalid."""

import math
from contextlib import suppress
from copy import deepcopy
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.comparison import Compare, Op
from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.flow.graph import Branch, Delay, Edge, Form, Function, Graph, OnDoubt, OnFailure, Send
from tidings.domain.people.audience_filter import AllOf, AnyOf, Not
from tidings.domain.workflows.definition import MAX_EDGES, MAX_NODES, check_content, parse_own_workflow, parse_workflow
from tidings.domain.workflows.definition_reader import MOST_PROBLEMS

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
        parse_workflow(raw)
    return {problem.place: problem.message for problem in invalid.value.problems}


def test_a_definition_becomes_a_graph() -> None:
    parsed = parse_workflow(WELCOME)

    assert parsed.entry == "hello"
    assert parsed.edges == (Edge("hello", "wait"), Edge("wait", "nudge"))
    assert parsed.nodes["wait"] == Delay("wait", timedelta(hours=1))
    nudge = parsed.nodes["nudge"]
    assert isinstance(nudge, Send)
    assert (nudge.channel, nudge.to, nudge.content) == (Channel.SMS, ("{{ phone }}",), {"body": "Hm?"})
    assert (nudge.on_failure, nudge.on_doubt) == (OnFailure.CONTINUE, OnDoubt.HOLD)


def test_a_send_aborts_on_failure_and_goes_on_in_doubt_unless_told_otherwise() -> None:
    hello = parse_workflow(WELCOME).nodes["hello"]

    assert isinstance(hello, Send)
    assert (hello.on_failure, hello.on_doubt) == (OnFailure.ABORT, OnDoubt.CONTINUE)


def test_snake_case_is_taken_too() -> None:
    parsed = parse_workflow({"entry_node_id": "a", "nodes": [delay("a", delay_ms=5)]})

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
        "nodes[0].subject",
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
    assert found["nodes[1].id"] == "1 is not a name: use a string of 1 to 200 characters"
    assert found["nodes[2].id"] == "is missing: use a string of 1 to 200 characters"


def test_a_node_of_a_wrong_type_does_not_make_its_edges_wrong() -> None:
    found = problems(graph([delay("a"), {"id": "b", "type": "emial"}], [("a", "b")]))

    assert list(found) == ["nodes[1].type"]
    assert "'emial'" in found["nodes[1].type"]
    assert "email" in found["nodes[1].type"]


@pytest.mark.parametrize("kind", [None, 5, [], {}, ["email"], "functions", ""])
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

    assert problems(raw) == {"nodes[0]": "a delay needs either delayMs, duration or until"}


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


@pytest.mark.parametrize("channel", MESSAGE_CHANNELS)
def test_a_message_needs_something_to_say(channel: Channel) -> None:
    raw = graph([{"id": "a", "type": str(channel), "to": "x", "subject": "s", "title": "t"}], [])

    assert any("needs" in message for message in problems(raw).values())


@pytest.mark.parametrize("to", ["", [], [""], ["a", ""], 5, {}, {"a": 1}, [5], [["a"]], b"abc"])
def test_a_send_needs_recipients(to: object) -> None:
    assert list(problems(changed("nodes.0.to", to))) == ["nodes[0].to"]


def test_a_send_without_to_is_for_the_contact_and_a_post_is_for_nobody() -> None:
    for channel in MESSAGE_CHANNELS:
        content = dict.fromkeys(filter(None, (channel.traits.subject, channel.traits.text)), "x")
        raw = graph([{"id": "a", "type": str(channel), **content}], [])
        if channel is Channel.SOCIAL:
            assert list(problems(raw)) == ["nodes[0].to"]
        else:
            node = parse_workflow(raw).nodes["a"]
            assert isinstance(node, Send)
            assert node.to == (("default",) if channel in (Channel.CHAT, Channel.WEBHOOK) else ())


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

    parsed = parse_workflow(graph([delay(name) for name in names], list(pairwise(names)), "n0"))

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
        ("nodes.0.to", "nodes[0].to[0]"),
        ("nodes.2.to", "nodes[2].to[0]"),
        ("requiredFields", "requiredFields[0]"),
    ],
)
def test_a_text_that_cannot_be_stored_is_refused_wherever_it_stands(path: str, place: str, text: str) -> None:
    found = problems(changed(path, text if path == "nodes.0.body" else [text]))

    assert "cannot be stored" in found[place]


def test_a_name_that_cannot_be_stored_is_refused_in_what_it_names() -> None:
    assert "cannot be stored" in problems(changed("nodes.1.a\x00b", 1))["nodes[1]"]


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
        return parse_workflow(raw)
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


# Steps, as 004 writes them


STEPS: Raw = {
    "steps": [
        {
            "name": "mail",
            "function": "send-email",
            "action": "send",
            "payload_template": {"to": "{{ guest_email }}", "variables": {"names": ["{{ guest_name }}", 5, None]}},
            "on_failure": "retry",
        },
        {"name": "slack", "function": "slack", "action": "post", "payload_template": {}, "on_failure": "continue"},
        {"name": "sync", "function": "sync", "action": "run", "payload_template": {}},
    ],
    "required_fields": ["guest_email"],
}


def step(**more: object) -> Raw:
    return {"steps": [{"name": "one", "function": "f", "action": "go", "payload_template": {}, **more}]}


def first(raw: Raw) -> Function:
    node = next(iter(parse_workflow(raw).nodes.values()))
    assert isinstance(node, Function)
    return node


def test_steps_become_a_chain_of_functions_with_the_defaults_of_004() -> None:
    parsed = parse_workflow(STEPS)

    assert (parsed.form, parsed.entry, list(parsed.nodes)) == (Form.STEPS, "mail", ["mail", "slack", "sync"])
    assert parsed.edges == (Edge("mail", "slack"), Edge("slack", "sync"))
    assert (parsed.required_fields, parsed.timeout) == (("guest_email",), timedelta(seconds=300))
    mail = first(STEPS)
    assert (mail.function, mail.action, mail.idempotent, mail.timeout) == (
        "send-email",
        "send",
        True,
        timedelta(seconds=60),
    )


@pytest.mark.parametrize(
    ("on_failure", "attempts", "then"),
    [
        ("retry", 4, OnFailure.ABORT),
        (None, 4, OnFailure.ABORT),
        ("abort", 1, OnFailure.ABORT),
        ("continue", 1, OnFailure.CONTINUE),
        ({"retry": 2, "then": "continue"}, 3, OnFailure.CONTINUE),
        ({"retry": 0}, 1, OnFailure.ABORT),
        ({"then": "continue"}, 4, OnFailure.CONTINUE),
    ],
)
def test_a_step_that_fails_is_retried_or_left(on_failure: object, attempts: int, then: OnFailure) -> None:
    node = first(step(on_failure=on_failure) if on_failure else step())

    assert (node.retry.attempts, node.on_failure) == (attempts, then)


def test_max_retries_and_the_timeouts_are_the_workflows() -> None:
    raw = {**step(), "max_retries": 5, "timeout_seconds": 600, "visibility_timeout": 90}

    assert (first(raw).retry.attempts, first(raw).timeout) == (6, timedelta(seconds=90))
    assert parse_workflow(raw).timeout == timedelta(seconds=600)


def test_a_graphs_node_keeps_its_attempts_whatever_follows_them() -> None:
    node = parse_workflow({**WELCOME, "maxRetries": 4}).nodes["nudge"]

    assert isinstance(node, Send)
    assert (node.retry.attempts, node.on_failure) == (5, OnFailure.CONTINUE)


def test_a_retry_policy_can_be_given_for_all_and_for_one() -> None:
    raw = changed("nodes.0.retry", {"attempts": 7, "factor": 3, "jitter": 0})
    raw["retry"] = {"baseSeconds": 2, "cap_seconds": 60}
    hello, nudge = parse_workflow(raw).nodes["hello"], parse_workflow(raw).nodes["nudge"]

    assert isinstance(hello, Send)
    assert isinstance(nudge, Send)
    assert (hello.retry.attempts, hello.retry.factor, hello.retry.jitter) == (7, 3, 0)
    assert hello.retry.base == nudge.retry.base == timedelta(seconds=2)
    assert (nudge.retry.attempts, nudge.retry.cap) == (3, timedelta(minutes=1))


def test_a_payloads_texts_are_filled_and_its_lists_stay_lists() -> None:
    mail = first(STEPS)

    assert mail.every_template == {
        "payload/to": "{{ guest_email }}",
        "payload/variables/names/0": "{{ guest_name }}",
    }
    body = mail.body({"payload/to": "a@b.c", "payload/variables/names/0": 'A"da'})
    assert body == '{"to":"a@b.c","variables":{"names":["A\\"da",5,null]}}'


def test_keys_with_dots_and_slashes_are_told_apart() -> None:
    node = first(step(payload_template={"a/b": "{{ x }}", "a": {"b": "{{ y }}"}, "a~1b": "{{ z }}"}))

    assert len(node.every_template) == 3
    assert node.body({place: place for place in node.every_template}) == (
        '{"a/b":"payload/a~1b","a":{"b":"payload/a/b"},"a~1b":"payload/a~01b"}'
    )


def test_a_function_in_a_graph_is_not_called_again_unless_it_says_so() -> None:
    raw = graph([{"id": "a", "type": "function", "function": "f", "payload": {"n": 1}}], [])

    assert first(raw) == Function("a", "f", "call", {"n": 1})
    raw["nodes"][0] |= {"idempotent": True, "timeoutSeconds": 5}
    assert (first(raw).idempotent, first(raw).timeout) == (True, timedelta(seconds=5))


def test_every_problem_of_steps_is_reported_with_its_place() -> None:
    found = problems(
        {
            "steps": [
                {
                    "name": "a",
                    "function": "",
                    "action": "x",
                    "payload_template": {"t": ["{{ oops"]},
                    "on_failure": "explode",
                },
                {"name": "a", "function": "f", "action": 5, "payload_template": [], "colour": "red"},
                7,
                {"name": "d", "function": "f", "action": "x", "on_failure": {"retry": -1, "then": "later"}},
            ],
            "required_fields": "guest",
            "timeout_seconds": 0,
            "visibility_timeout": "long",
            "max_retries": 1.5,
        }
    )

    assert set(found) == {
        "steps[0].function",
        "steps[0].payload.t[0]",
        "steps[0].onFailure",
        "steps[1].name",
        "steps[1].action",
        "steps[1].payload",
        "steps[1].colour",
        "steps[2]",
        "steps[3].onFailure.retry",
        "steps[3].onFailure.then",
        "requiredFields",
        "timeoutSeconds",
        "visibilityTimeout",
        "maxRetries",
    }


def test_no_steps_are_no_workflow() -> None:
    assert set(problems({"steps": []})) == {"steps"}


# Branches, times, and fields nobody reads


def branching(*conditions: object) -> Raw:
    nodes = [{"id": "a", "type": "branch"}, *(delay(f"n{number}") for number in range(len(conditions)))]
    raw = graph(nodes, [("a", f"n{number}") for number in range(len(conditions))])
    for edge, condition in zip(raw["edges"], conditions, strict=True):
        if condition is not None:
            edge["condition"] = condition
    return raw


def test_conditions_on_the_edges_of_a_branch_are_read() -> None:
    is_pro = {"path": "plan", "op": "equals", "value": "pro"}
    raw = branching(
        is_pro,
        {"all": [is_pro, {"not": {"any": [{"path": "vars.a.y", "op": "exists"}]}}]},
        {"path": "plan", "value": "free"},
        None,
    )

    parsed = parse_workflow(raw)

    pro = Compare(("plan",), Op.EQUALS, "pro")
    assert parsed.nodes["a"] == Branch("a")
    assert [edge.condition for edge in parsed.edges] == [
        pro,
        AllOf((pro, Not(AnyOf((Compare(("vars", "a", "y"), Op.EXISTS),))))),
        Compare(("plan",), Op.EQUALS, "free"),
        None,
    ]


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ("plan == 'pro'", ""),
        ({}, ".path"),
        ({"path": "a..b", "value": 1}, ".path"),
        ({"path": "a", "op": "like", "value": 1}, ".op"),
        ({"path": "a", "op": "equals"}, ".value"),
        ({"path": "a", "op": "exists", "value": 1}, ".value"),
        ({"all": []}, ".all"),
        ({"any": "x"}, ".any"),
        ({"not": 5}, ".not"),
        ({"all": [{"path": "a", "value": 1}], "path": "b"}, ".path"),
    ],
)
def test_a_condition_that_cannot_be_read_is_refused_at_its_place(condition: object, place: str) -> None:
    assert f"edges[0].condition{place}" in problems(branching(condition, {"path": "b", "value": 1}))


def test_a_condition_nested_without_end_is_refused() -> None:
    deep: object = {"path": "a", "value": 1}
    for _ in range(100):
        deep = {"not": deep}

    assert any("nested" in message for message in problems(branching(deep, None)).values())


def test_a_branch_needs_a_condition_and_at_most_one_default() -> None:
    assert "needs at least one edge with a condition" in problems(branching(None))["nodes[0]"]
    assert "2 edges without a condition" in problems(branching({"path": "a", "value": 1}, None, None))["nodes[0]"]
    assert "nodes[0]" in problems(graph([{"id": "a", "type": "branch"}], []))


def test_only_a_branch_has_conditions_on_its_edges() -> None:
    raw = graph([delay("a"), delay("b")], [("a", "b")])
    raw["edges"][0]["condition"] = {"path": "x", "value": 1}

    assert "not a branch" in problems(raw)["edges[0].condition"]


@pytest.mark.parametrize("until", ["2027-01-31T09:00:00Z", "2027-01-31", "2027-01-31T09:00:00+01:00", "{{ at }}"])
def test_a_delay_may_end_at_a_time_or_at_a_variable(until: str) -> None:
    assert parse_workflow(graph([delay("a", until=until)], [])).nodes["a"] == Delay("a", until=until)


@pytest.mark.parametrize(
    "until", ["tomorrow", "{{ at | date: '%s' }}", "at {{ at }}", 5, "{{ a }}{{ b }}", "0001-01-01T00:00+23:00"]
)
def test_a_delay_until_something_else_is_refused(until: object) -> None:
    assert "nodes[0].until" in problems(graph([delay("a", until=until)], []))


def test_a_delay_has_one_way_to_say_how_long() -> None:
    assert "nodes[0]" in problems(graph([delay("a", delayMs=1, until="2027-01-31")], []))


def test_a_wait_that_no_execution_would_live_to_end_is_refused() -> None:
    raw = {**graph([delay("a", duration="PT2M")], []), "timeoutSeconds": 60}

    assert "past the timeout" in problems(raw)["nodes[0]"]


def test_fields_nobody_reads_are_refused_at_every_level() -> None:
    raw = changed("nodes.0.subjekt", "Hi")
    raw["nodes"][1]["hours"] = 3
    raw["edges"][0]["label"] = "x"
    raw["entry"] = "hello"

    assert set(problems(raw)) == {"nodes[0].subjekt", "nodes[1].hours", "edges[0].label", "entry"}


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("{{ x }}"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "function", "payload_template", "on_failure", "retry", "then", "path", "not", "all"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(_ANY, _ANY, _ANY)
def test_no_steps_and_no_condition_raise_anything_but_problems(steps: Any, condition: Any, options: Any) -> None:
    for raw in ({"steps": steps, "retry": options}, {"steps": [options]}, branching(condition, None)):
        with suppress(DefinitionInvalid):
            parse_workflow(raw)


def one_send(**fields: object) -> dict[str, Any]:
    node = {"id": "a", "type": "email", "to": "ada@example.com", "subject": "Hi", "body": "Hello"}
    return {"entryNodeId": "a", "nodes": [node], "edges": [], **fields}


def test_too_many_edges_are_refused_without_reading_them() -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        parse_workflow(one_send(edges=[{}] * (MAX_EDGES + 1)))

    assert [problem.place for problem in refused.value.problems] == ["edges"]


def test_of_very_many_problems_the_first_are_told_and_the_rest_counted() -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        parse_workflow(one_send(edges=[{}] * 5_000))

    *told, rest = refused.value.problems
    assert len(told) == MOST_PROBLEMS
    # Each has two ends that are nowhere; all but the first are the same edge again.
    assert rest == Problem("", f"and {3 * 5_000 - 1 - MOST_PROBLEMS} more problems")


def test_a_shape_is_not_looked_at_when_edges_are_wrong_however_much_else_is() -> None:
    junk: dict[str, object] = {f"field{number}": 1 for number in range(MOST_PROBLEMS)}

    with pytest.raises(DefinitionInvalid):
        parse_workflow(one_send(edges=[{"from": "a", "to": "nowhere"}], **junk))


@pytest.mark.parametrize("payload", [{"k" * 1_001: "x"}, {"k" * 400_000: [""] * 100_000}], ids=["long", "huge"])
def test_a_payload_s_names_have_an_end(payload: object) -> None:
    node = {"id": "a", "type": "function", "function": "f", "payload": payload}

    with pytest.raises(DefinitionInvalid) as refused:
        parse_workflow(one_send(nodes=[node]))

    assert [problem.place for problem in refused.value.problems] == ["nodes[0].payload"]


def test_a_required_field_s_name_has_an_end() -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        parse_workflow(one_send(requiredFields=["name", "." * 1_001]))

    assert [problem.place for problem in refused.value.problems] == ["requiredFields[1]"]


HUGE = 10**400


@pytest.mark.parametrize(
    ("more", "place", "bounds"),
    [
        ({"timeoutSeconds": HUGE}, "timeoutSeconds", "a number from 1 to 315,360,000"),
        ({"maxRetries": -HUGE}, "maxRetries", "a whole number from 0 to 100"),
        ({"visibilityTimeout": HUGE}, "visibilityTimeout", "a number from 1 to 3,600"),
        ({"retry": {"factor": HUGE}}, "retry.factor", "a number from 1 to 100"),
        ({"retry": {"jitter": float("inf")}}, "retry.jitter", "a number from 0 to 1"),
        ({"retry": {"jitter": float("nan")}}, "retry.jitter", "a number from 0 to 1"),
    ],
)
def test_a_number_that_no_float_can_hold_is_refused_like_any_other(more: Raw, place: str, bounds: str) -> None:
    found = problems({**WELCOME, **more})

    assert found[place].endswith(f" is not {bounds}")
    assert len(found[place]) < 200


@pytest.mark.parametrize("value", [HUGE, 1e308])
def test_a_wait_that_no_float_can_hold_is_longer_than_ten_years(value: float) -> None:
    found = problems(graph([{"id": "a", "type": "delay", "delayMs": value}], []))

    assert found["nodes[0].delayMs"].endswith("is longer than ten years")


def own_problems(raw: object) -> dict[str, str]:
    with pytest.raises(DefinitionInvalid) as invalid:
        parse_own_workflow(raw)
    return {problem.place: problem.message for problem in invalid.value.problems}


TWICE: list[tuple[Raw, str]] = [
    ({**WELCOME, "entry_node_id": "hello"}, "entry_node_id"),
    ({**WELCOME, "retry": {"baseSeconds": 1, "base_seconds": 2}}, "retry.base_seconds"),
    (graph([{"id": "a", "type": "delay", "delayMs": 1, "delay_ms": 2}], []), "nodes[0].delay_ms"),
    (
        graph([{"id": "a", "type": "function", "function": "f", "payload": {}, "payload_template": {}}], []),
        "nodes[0].payloadTemplate",
    ),
]


@pytest.mark.parametrize(("raw", "place"), TWICE)
def test_one_field_in_two_spellings_is_refused(raw: Raw, place: str) -> None:
    assert own_problems(raw)[place].startswith("is given twice, the other time as ")


@pytest.mark.parametrize("name", [" ", "a\u202eb", "a\nb", "\u200b"])
def test_a_node_whose_id_cannot_be_shown_is_refused(name: str) -> None:
    assert "nodes[0].id" in own_problems(graph([{"id": name, "type": "delay", "delayMs": 1}], [], entry=name))


@pytest.mark.parametrize(
    "raw", [*(raw for raw, _ in TWICE), graph([{"id": " ", "type": "delay", "delayMs": 1}], [], entry=" ")]
)
def test_what_an_older_release_stored_is_still_read(raw: Raw) -> None:
    assert parse_workflow(raw, is_stored=True).nodes


def test_a_field_that_is_nearly_one_is_told_its_name() -> None:
    assert own_problems({**WELCOME, "maxretry": 1})["maxretry"].endswith("; did you mean 'maxRetries'?")


def test_what_is_missing_is_called_missing() -> None:
    found = own_problems({"nodes": [{}], "edges": [{}]})

    assert {place: message.partition(":")[0].partition(";")[0] for place, message in found.items()} == {
        **dict.fromkeys(["nodes[0].id", "nodes[0].type", "edges[0].from", "edges[0].to", "entryNodeId"], "is missing"),
    }


@pytest.mark.parametrize(
    ("path", "value", "place", "said"),
    [
        (
            "nodes.2.body",
            "Hm?\n{{ vars.helo.status }}",
            "nodes[2].body",
            "vars.helo: there is no node 'helo'; use one of 'hello', 'wait', 'nudge' (line 2, column 4)",
        ),
        ("nodes.2.body", "{% if vars['no'] %}{% endif %}!", "nodes[2].body", "there is no node 'no'"),
        ("nodes.2.to", ["{{ phone }}", "{{ x | default: vars.no.id }}"], "nodes[2].to", "there is no node 'no'"),
        ("nodes.1", {"id": "wait", "type": "delay", "until": "{{ vars.no.at }}"}, "nodes[1].until", "no node 'no'"),
        ("nodes.2.body", "{{ step_1_result }}", "nodes[2].body", "only a workflow of steps has it; use vars.<id of a"),
        ("nodes.2.body", "{{ x | append: 1, 2 }}", "nodes[2].body", "'append' takes 1 argument, not 2 (line 1, column"),
        ("nodes.0.subject", None, "nodes[0].subject", "an email needs a subject"),
        ("nodes.0.subject", "Hi\nAda", "nodes[0].subject", r"holds '\n'; a subject is one line"),
        ("nodes.0.subject", "Hi\t{{ name }}", "nodes[0].subject", r"holds '\t'; a subject is one line"),
        ("nodes.0.subject", "{{ name }}\u2028", "nodes[0].subject", r"holds '\u2028'; a subject is one line"),
        (
            "nodes.1",
            {"id": "wait", "type": "function", "function": ".."},
            "nodes[1].function",
            "'..' is no name for a function",
        ),
    ],
)
def test_a_template_that_can_never_be_sent_is_refused_at_its_place(
    path: str, value: object, place: str, said: str
) -> None:
    found = problems(changed(path, value))

    assert list(found) == [place]
    assert said in found[place]


@pytest.mark.parametrize("source", ["{{ vars.hello.status }}", "{{ vars.nudge.at }}", "{{ vars.wait }}{{ vars[x] }}"])
def test_a_template_may_want_what_any_node_gives(source: str) -> None:
    assert "nudge" in parse_workflow(changed("nodes.2.body", source)).nodes


def test_the_result_of_a_step_that_is_not_there_is_refused() -> None:
    found = problems(step(payload_template={"text": "{{ step_7_result.id }}"}))

    assert found == {
        "steps[0].payload.text": "step_7_result: there is 1 step, counted from 0 (line 1, column 4)",
    }
    assert first(step(payload_template={"text": "{{ step_0_result.id }}{{ step_0_error }}{{ vars.one }}"})).id == "one"


@pytest.mark.parametrize("subject", ["{%- if x -%}\n{%- endif -%}\n{{- x }}", "{{ x\n}}", "{% if x %}\n{% endif %}Hi"])
def test_a_line_break_that_need_not_be_printed_is_no_part_of_a_subject(subject: str) -> None:
    assert "hello" in parse_workflow(changed("nodes.0.subject", subject)).nodes


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("vars.no.status", "vars.no: there is no node 'no'; use one of 'a', 'n0'"),
        ("step_0_result.ok", "step_0_result: only a workflow of steps has it; use vars.<id of a node>"),
    ],
)
def test_a_condition_on_what_no_node_gives_is_refused_at_its_place(path: str, said: str) -> None:
    raw = branching({"any": [{"path": path, "op": "exists"}]})

    assert problems(raw) == {"edges[0].condition.any[0].path": said}
    assert "a" in parse_workflow(raw, is_stored=True).nodes
    assert "a" in parse_workflow(branching({"path": "vars.n0.status", "op": "exists"})).nodes


def test_a_version_that_was_published_before_a_check_existed_still_runs() -> None:
    for path, value in (
        ("nodes.0.subject", None),
        ("nodes.0.subject", "Hi\n"),
        ("nodes.1", {"id": "wait", "type": "function", "function": ".."}),
    ):
        assert problems(changed(path, value))
        assert "nudge" in parse_workflow(changed(path, value), is_stored=True).nodes
    for source in ("{{ vars.helo.status }}", "{{ name | upcase: 1 }}", "{{ name | nosuch }}"):
        assert problems(changed("nodes.2.body", source))
        assert "nudge" in parse_workflow(changed("nodes.2.body", source), is_stored=True).nodes


# What tells of a failure


def on_error(given: object, raw: Raw | None = None) -> Any:
    return parse_workflow({**(raw or STEPS), "on_error": given}).on_error


def test_a_function_or_a_message_may_tell_of_a_failure() -> None:
    named, called = on_error("slack"), on_error({"function": "slack", "action": "report", "payload": {"text": "!"}})
    sent = on_error({"type": "sms", "to": "{{ phone }}", "body": "{{ error.message }}", "retry": {"attempts": 9}})

    assert (named.id, named.function, named.action, named.idempotent) == ("onError", "slack", "call", True)
    assert named.payload.keys() == {"execution_id", "workflow_name", "error_message", "error_step"}
    assert (called.action, called.payload) == ("report", {"text": "!"})
    assert (sent.id, sent.channel, sent.to, sent.retry.attempts) == ("onError", Channel.SMS, ("{{ phone }}",), 9)
    with_report = parse_workflow({**STEPS, "onError": {"type": "sms", "to": "1", "body": "x"}})
    assert with_report.channels == {Channel.FUNCTION, Channel.SMS}
    assert parse_workflow(STEPS).on_error is None


def test_what_cannot_tell_of_a_failure_is_refused_with_its_place() -> None:
    message = {"type": "email", "to": "ops@example.com", "subject": "!", "body": "!"}
    refused: dict[str, list[object]] = {
        "onError": [7, [], True],
        "onError.function": ["", {}, {"function": 7}, {"type": "function", "action": "x"}],
        "onError.type": [{"type": "delay", "duration": "P1D"}, {"type": None}, {"type": 7}],
        "onError.to": [{**message, "to": None}, {**message, "to": ["a@b.c", "d@e.f"]}],
        "onError.body": [{**message, "body": "{{ x"}, {**message, "body": 7}],
        "onError.payload.text": [{"function": "slack", "payload": {"text": "{{ vars.nowhere }}"}}],
        "onError.onFailure": [{"function": "slack", "onFailure": "retry"}, {**message, "onFailure": "abort"}],
        "onError.id": [{**message, "id": "a"}],
    }

    for place, wrong in refused.items():
        for given_ in wrong:
            assert list(problems({**STEPS, "onError": given_})) == [place], given_
    twice = graph([delay("onError", delayMs=0)], [], entry="onError")
    assert "rename it" in problems({**twice, "onError": "slack"})["onError"]
