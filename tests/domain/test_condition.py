"""Conditions: what each operator says of numbers, texts, lists, null and what is not there."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.comparison import Compare, Op
from tidings.domain.flow.condition import holds
from tidings.domain.people.audience_filter import AllOf, AnyOf, Not

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
CONTEXT = {
    "plan": "pro",
    "age": 42,
    "score": 1.0,
    "vip": True,
    "tags": ["a", "b", 3],
    "nothing": None,
    "vars": {"hello": {"status": "sent"}},
}


def compare(path: str, op: str, value: object = None) -> Compare:
    return Compare(tuple(path.split(".")), Op(op), value)


@pytest.mark.parametrize(
    ("path", "op", "value", "expected"),
    [
        ("plan", "equals", "pro", True),
        ("plan", "equals", "free", False),
        ("vars.hello.status", "equals", "sent", True),
        ("score", "equals", 1, True),
        ("vip", "equals", 1, False),
        ("vip", "equals", True, True),
        ("nothing", "equals", None, True),
        ("absent", "equals", None, False),
        ("plan", "notEquals", "free", True),
        ("absent", "notEquals", "free", True),
        ("age", "greater", 41, True),
        ("age", "greater", 42, False),
        ("age", "greaterOrEqual", 42, True),
        ("age", "less", 43.5, True),
        ("age", "lessOrEqual", 42, True),
        ("age", "greater", "41", False),
        ("plan", "greater", "free", True),
        ("vip", "greater", 0, False),
        ("absent", "less", 1, False),
        ("tags", "contains", "b", True),
        ("tags", "contains", 3, True),
        ("tags", "contains", True, False),
        ("plan", "contains", "r", True),
        ("plan", "contains", 3, False),
        ("age", "contains", 4, False),
        ("plan", "in", ["free", "pro"], True),
        ("plan", "in", "professional", True),
        ("age", "in", [1, 2], False),
        ("plan", "exists", None, True),
        ("nothing", "exists", None, False),
        ("absent.deeper", "exists", None, False),
        ("nothing", "missing", None, True),
        ("absent", "missing", None, True),
        ("plan", "missing", None, False),
        ("tags.1", "equals", "b", True),
        ("tags.9", "exists", None, False),
        ("plan.size", "exists", None, False),
    ],
)
def test_an_operator_says(path: str, op: str, value: object, expected: bool) -> None:
    assert holds(compare(path, op, value), CONTEXT, NOW) is expected


def test_all_any_and_not_combine() -> None:
    yes, no = compare("plan", "equals", "pro"), compare("plan", "equals", "free")

    assert holds(AllOf((yes, Not(no))), CONTEXT, NOW)
    assert not holds(AllOf((yes, no)), CONTEXT, NOW)
    assert holds(AnyOf((no, yes)), CONTEXT, NOW)
    assert not holds(AnyOf((no, no)), CONTEXT, NOW)
    assert not holds(Not(yes), CONTEXT, NOW)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("ab"), _JSON), st.sampled_from(Op), _JSON)
def test_no_data_makes_a_condition_raise(context: dict[str, Any], op: Op, value: object) -> None:
    condition = Compare(("a", "b"), op, value)

    assert holds(condition, context, NOW) in {True, False}
    assert holds(Not(condition), context, NOW) is not holds(condition, context, NOW)
