"""Audiences in words: what a person reads who checks whom something is for."""

from typing import Any
from uuid import UUID

import pytest

from tidings.domain.people.audience import read_audience
from tidings.domain.people.filter_words import audience_in_words

ID = str(UUID(int=1))
SEATS = {"path": "attributes.seats", "op": "greaterOrEqual", "value": 5}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"all": True}, "everyone"),
        ({"tag": "vip", "company": "Acme"}, "contacts at Acme and with the tag vip"),
        ({"contactIds": [ID]}, "1 named contact"),
        (
            {"status": "lead", "contactIds": [ID], "exclude": {"tag": "test"}, "excludeContactIds": [ID]},
            "contacts with the status lead and 1 named contact, without those with the tag test and 1 named contact",
        ),
        ({"segmentId": ID, "tag": "vip"}, "contacts of the segment vips and with the tag vip"),
        (
            {"tags": {"any": ["a", "b"], "none": ["c"]}},
            "contacts with one of the tags a, b and without the tag c",
        ),
        (
            {"attributes": {"plan": "pro", "address": {"city": "Paris"}}},
            "contacts whose plan is pro and whose address.city is Paris",
        ),
        (
            {"any": [{"tag": "a"}, {"tag": "b", "status": "c"}]},
            "contacts with the tag a or (with the tag b and with the status c)",
        ),
        ({"not": {"any": [{"tag": "a"}, SEATS]}}, "contacts not (with the tag a or whose seats is at least 5)"),
        ({"path": "attributes.paid", "value": True}, "contacts whose paid is true"),
        ({"path": "attributes.plan", "op": "in", "value": ["a", "b"]}, "contacts whose plan is a or b"),
        (
            {"path": "attributes.plan", "op": "in", "value": [*"abcdefgh"]},
            "contacts whose plan is a or b or c or d or e or 3 others",
        ),
        ({"path": "timeZone", "op": "missing"}, "contacts whose time zone is missing"),
        ({"path": "createdAt", "op": "after", "value": "30 days ago"}, "contacts created after 30 days ago"),
        ({"has": "sms", "allows": "email"}, "contacts with an address for sms and who allow email"),
        (
            {"consent": {"email": "granted", "sms": "unknown"}},
            "contacts who agreed to email and said nothing about sms",
        ),
    ],
)
def test_an_audience_is_said_in_words(given: Any, words: str) -> None:
    audience, problems = read_audience(given)

    assert not problems
    assert audience_in_words(audience, "vips") == words
