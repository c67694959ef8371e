"""Filters as people type them: each expression is one filter, and what cannot be read is told with its place."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.errors import FieldsInvalid
from tidings.domain.people.audience import read_audience
from tidings.domain.people.filter_expression import read_where


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", {"all": True}),
        ("plan = pro", {"path": "attributes.plan", "op": "equals", "value": "pro"}),
        (
            "attributes.address.city != 'New York'",
            {"path": "attributes.address.city", "op": "notEquals", "value": "New York"},
        ),
        ('"first order" exists', {"path": ["attributes", "first order"], "op": "exists"}),
        ("seats>=5", {"path": "attributes.seats", "op": "greaterOrEqual", "value": 5}),
        ("paid is TRUE", {"path": "attributes.paid", "op": "equals", "value": True}),
        ("plan in (pro, 'team plus', 3)", {"path": "attributes.plan", "op": "in", "value": ["pro", "team plus", 3]}),
        ("tag = vip", {"tag": "vip"}),
        ("tag = 2027", {"tag": "2027"}),
        ("tag != vip", {"not": {"tag": "vip"}}),
        ("tag in (a, b)", {"tags": {"any": ["a", "b"]}}),
        ("tags none (a, b)", {"tags": {"none": ["a", "b"]}}),
        ("company = Acme Corp and status = lead", {"all": [{"company": "Acme Corp"}, {"status": "lead"}]}),
        ("company contains acme", {"path": "company", "op": "contains", "value": "acme"}),
        ("created after 30 days ago", {"path": "createdAt", "op": "after", "value": "30 days ago"}),
        ("time_zone missing", {"path": "timeZone", "op": "missing"}),
        ("has email", {"has": "email"}),
        ("allows sms", {"allows": "sms"}),
        ("consent email = granted", {"consent": {"email": "granted"}}),
        ("has = 3", {"path": "attributes.has", "op": "equals", "value": 3}),
        (
            "tag = a or not (tag = b and x < 1)",
            {
                "any": [
                    {"tag": "a"},
                    {"not": {"all": [{"tag": "b"}, {"path": "attributes.x", "op": "less", "value": 1}]}},
                ]
            },
        ),
        ("tag = a AND tag = b OR tag = c", {"any": [{"all": [{"tag": "a"}, {"tag": "b"}]}, {"tag": "c"}]}),
        (' {"tag": "vip"} ', {"tag": "vip"}),
    ],
)
def test_an_expression_is_a_filter_of_the_api(text: str, expected: dict[str, Any]) -> None:
    found = read_where(text, "--where")

    assert found == expected
    assert read_audience(found)[1] == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        ("plan", "ends too soon"),
        ("plan =", "ends too soon"),
        ("plan ~ pro", "no operator"),
        ("plan = pro and", "ends too soon"),
        ("plan = pro tag)", "not expected"),
        ("(plan = pro", "close the bracket"),
        ("plan in pro", "list in brackets"),
        ("plan in (pro", "close the list"),
        ("plan = 'pro", "close its quotes"),
        ("plan = and", "not a value"),
        ("tag > vip", "tag takes"),
        ("not " * 60 + "tag = a", "nested too deeply"),
        ("a = 1 and " * 3_000 + "a = 1", "characters"),
        ('{"tag": ', "not JSON"),
        ('{"tag": "a", "tag": "b"}', "twice"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_remedy(text: str, what: str) -> None:
    with pytest.raises(FieldsInvalid, match=what) as raised:
        read_where(text, "--where")
    assert raised.value.problems[0].place == "--where"


@given(st.text(st.sampled_from("ab=<>!(),'\"\\ .1ndortgi{}"), max_size=30))
def test_no_text_raises_anything_else(text: str) -> None:
    with suppress(FieldsInvalid):
        read_audience(read_where(text, "--where"))
