"""A workflow in the terminal: chains down, forks in, meetings where the ways go on together."""

from itertools import pairwise

import pytest

from tidings.cli.drawing import MOST_NODES, draw, say_condition


def lines(definition: dict[str, object]) -> list[str]:
    return [line.plain.rstrip() for line in draw(definition)]


def sms(name: str) -> dict[str, object]:
    return {"id": name, "type": "sms", "to": "{{ phone }}", "body": name}


def test_a_chain_runs_down() -> None:
    drawn = lines(
        {
            "entryNodeId": "hello",
            "nodes": [
                {"id": "hello", "type": "email", "to": ["a@x", "b@x"], "subject": "Hi", "body": "…"},
                {"id": "wait", "type": "delay", "delayMs": 90_061_000},
                {"id": "later", "type": "delay", "until": "2026-12-24T18:00:00Z"},
                {"id": "nudge", "type": "function", "function": "push", "action": "send", "onFailure": "continue"},
            ],
            "edges": [
                {"from": "hello", "to": "wait"},
                {"from": "wait", "to": "later"},
                {"from": "later", "to": "nudge"},
            ],
        }
    )

    assert drawn == [
        "✉ hello  email  to a@x, b@x: Hi",
        "│",
        "◷ wait  delay  1 d 1 h 1 min 1 s",
        "│",
        "◷ later  delay  until 2026-12-24T18:00:00Z",
        "│",
        "ƒ nudge  function  push · send  (on failure: continue)",
    ]


def test_steps_are_a_chain_of_functions() -> None:
    step = {"function": "send-email", "action": "send"}

    assert lines({"steps": [{"name": "first", **step}, {"name": "second", "on_failure": {"retry": 2}, **step}]}) == [
        "ƒ first  function  send-email · send",
        "│",
        "ƒ second  function  send-email · send  (on failure: retry 2 times, then abort)",
    ]


def test_a_fork_says_in_which_case_and_its_ways_meet_below_it() -> None:
    drawn = lines(
        {
            "entry_node_id": "which",
            "nodes": [{"id": "which", "type": "branch"}, sms("pro"), sms("free"), sms("ask"), sms("bye")],
            "edges": [
                {"from": "which", "to": "pro", "condition": {"path": "plan", "op": "equals", "value": "pro"}},
                {"from": "which", "to": "free"},
                {"from": "pro", "to": "bye"},
                {"from": "free", "to": "ask"},
                {"from": "ask", "to": "bye"},
            ],
        }
    )

    assert drawn == [
        "◆ which  branch",
        "├─ if plan = 'pro'",
        "│  ✉ pro  sms  to {{ phone }}: pro",
        "│  └─ → bye",
        "└─ otherwise",
        "   ✉ free  sms  to {{ phone }}: free",
        "   │",
        "   ✉ ask  sms  to {{ phone }}: ask",
        "   └─ → bye",
        "▼",
        "✉ bye  sms  to {{ phone }}: bye",
    ]


def test_every_node_is_drawn_once_whatever_meets_where() -> None:
    names = [f"n{number}" for number in range(12)]
    edges = [(a, b) for a in range(12) for b in range(a + 1, 12) if (a * 7 + b * 3) % 5 == 0 or b == a + 1]

    drawn = lines(
        {
            "entryNodeId": "n0",
            "nodes": [sms(name) for name in names],
            "edges": [{"from": names[a], "to": names[b]} for a, b in edges],
        }
    )

    assert [sum(f"✉ {name} " in line for line in drawn) for name in names] == [1] * 12


def test_a_graph_that_is_too_large_to_see_is_a_list() -> None:
    names = [f"n{number}" for number in range(MOST_NODES + 1)]
    edges = [{"from": one, "to": other} for one, other in pairwise(names)]

    drawn = lines({"entryNodeId": "n0", "nodes": [sms(name) for name in names], "edges": edges})

    assert len(drawn) == len(names)
    assert drawn[0].endswith("→ n1")


def test_what_users_wrote_cannot_steer_the_terminal() -> None:
    [line] = lines({"entryNodeId": "a\x1b[31m", "nodes": [sms("a\x1b[31m")], "edges": []})

    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"path": "vars.a.status", "op": "equals", "value": "sent"}, "vars.a.status = 'sent'"),
        ({"path": "plan", "value": "pro"}, "plan = 'pro'"),
        ({"path": "age", "op": "greaterOrEqual", "value": 18}, "age ≥ 18"),
        ({"path": "tags", "op": "contains", "value": "vip"}, "tags contains 'vip'"),
        ({"path": "phone", "op": "exists"}, "phone exists"),
        ({"path": "phone", "op": "missing"}, "phone is missing"),
        ({"not": {"path": "a", "op": "exists"}}, "not a exists"),
        (
            {
                "all": [
                    {"path": "a", "op": "exists"},
                    {"any": [{"path": "b", "op": "exists"}, {"path": "c", "op": "missing"}]},
                ]
            },
            "a exists and (b exists or c is missing)",
        ),
    ],
)
def test_a_condition_is_said_in_words(condition: dict[str, object], words: str) -> None:
    assert say_condition(condition) == words
