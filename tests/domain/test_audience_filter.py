"""The filter on contacts: what a tree means for one contact, what it is found by, and how it is read and shown."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.audience_filter import (
    EVERYONE,
    NOBODY,
    AllOf,
    AnyOf,
    AudienceFilter,
    NamedContacts,
    Not,
    Where,
    both,
    either,
    found_by,
    matches,
)
from tidings.domain.people.filter_reader import DEEPEST, MOST_LEAVES

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
ADA, BOB = UUID(int=1), UUID(int=2)
ACME, VIP, NEW, ACTIVE = Where("company", "acme"), Where("tag", "VIP"), Where("tag", "new"), Where("status", "active")


def contact(**given: Any) -> Any:
    nothing = {"external_id": "ada", "name": None, "email": None, "phone": None, "whatsapp": None, "company": None}
    return SimpleNamespace(**{"id": ADA, **nothing, "status": "active", "tags": [], "attributes": {}, **given})


@pytest.mark.parametrize(
    ("wanted", "is_meant"),
    [
        (EVERYONE, True),
        (NOBODY, False),
        (ACME, True),
        (Where("company", "other"), False),
        (VIP, True),
        (ACTIVE, True),
        (Where("status", "Active"), False),
        (AllOf((VIP, NEW)), False),
        (AnyOf((VIP, NEW)), True),
        (Not(NEW), True),
        (Not(AllOf((VIP, ACME))), False),
        (NamedContacts((ADA, BOB)), True),
        (NamedContacts((BOB,)), False),
        (Where("attributes", {"plan": "pro"}), True),
        (Where("attributes", {"plan": "Pro"}), True),
        (Where("attributes", {"plan": "pro", "seats": 3.0}), True),
        (Where("attributes", {"seats": True}), False),
        (Where("attributes", {"one": True}), False),
        (Where("attributes", {"address": {"city": "Paris"}}), True),
        (Where("attributes", {"address": {"city": "Paris", "zip": "1"}}), False),
        (Where("attributes", {"plan": {"city": "Paris"}}), False),
        (Where("text", "LOVE"), True),
        (Where("text", "hopper"), False),
    ],
)
def test_a_filter_means_a_contact_or_not(wanted: AudienceFilter, is_meant: bool) -> None:
    attributes = {"plan": "pro", "seats": 3, "one": 1, "address": {"city": "Paris", "street": "x"}}
    ada = contact(name="Ada Lovelace", company="Acme", tags=["vip"], attributes=attributes)

    assert matches(wanted, ada, NOW) is is_meant


@pytest.mark.parametrize("leaf", [ACME, Where("attributes", {"plan": "pro"}), VIP])
def test_what_a_contact_lacks_does_not_hold_and_its_opposite_does(leaf: Where) -> None:
    assert not matches(leaf, contact(), NOW)
    assert matches(Not(leaf), contact(), NOW)


def test_levels_that_say_nothing_are_left_out() -> None:
    assert both() == EVERYONE
    assert both(ACME) == ACME
    assert both(ACME, AllOf((VIP, ACTIVE))) == AllOf((ACME, VIP, ACTIVE))
    assert either(NOBODY, ACME) == ACME
    assert either(ACME, AnyOf((VIP, NEW))) == AnyOf((ACME, VIP, NEW))


def test_contacts_are_found_by_what_narrows_most() -> None:
    assert found_by(both(ACTIVE, ACME, VIP)) is VIP
    assert found_by(both(ACTIVE, ACME)) is ACME
    assert found_by(ACTIVE) is ACTIVE
    assert found_by(both(VIP, NamedContacts((ADA,)))) == NamedContacts((ADA,))
    assert found_by(EVERYONE) is None
    assert found_by(AnyOf((VIP, NEW))) is None, "not everybody who is meant has one of the tags"
    assert found_by(Not(VIP)) is None
    assert found_by(Where("attributes", {"plan": "pro"})) is None


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"all": True}, EVERYONE),
        ({"tag": "VIP", "company": "acme"}, AllOf((ACME, VIP))),
        ({"all": [{"tag": "VIP"}, {"tag": "new"}]}, AllOf((VIP, NEW))),
        ({"any": [{"tag": "VIP"}, {"tag": "new", "status": "active"}]}, AnyOf((VIP, AllOf((NEW, ACTIVE))))),
        ({"not": {"tag": "new"}, "company": "acme"}, AllOf((ACME, Not(NEW)))),
        ({"attributes": {"plan": "pro"}}, Where("attributes", {"plan": "pro"})),
        ({"not": {"any": [{"tag": "VIP"}, {"not": {"tag": "new"}}]}}, Not(AnyOf((VIP, Not(NEW))))),
        ({"not": {"all": [{"tag": "VIP"}, {"tag": "new"}]}}, Not(AllOf((VIP, NEW)))),
    ],
)
def test_an_audience_is_read_into_a_tree_and_shown_as_it_was_given(given: Any, wanted: AudienceFilter) -> None:
    audience, problems = read_audience(given)

    assert not problems
    assert audience.filter == wanted
    assert audience.shown() == given
    assert read_audience(audience.shown()) == (audience, [])


def test_named_and_excluded_contacts_join_the_tree() -> None:
    audience, _ = read_audience({"tag": "VIP", "contactIds": [str(ADA)], "excludeContactIds": [str(BOB)]})

    assert audience.filter == VIP
    assert audience.everybody == AllOf((AnyOf((VIP, NamedContacts((ADA,)))), Not(NamedContacts((BOB,)))))
    assert Audience(contact_ids=(ADA,)).everybody == NamedContacts((ADA,))
    assert Audience(contact_ids=(ADA,)).filter == NOBODY


def test_a_segment_of_filters_is_joined_with_the_filters_beside_it() -> None:
    segment, _ = read_audience({"any": [{"tag": "VIP"}, {"tag": "new"}]})
    mine, _ = read_audience({"segmentId": str(BOB), "any": [{"company": "acme"}, {"status": "active"}]})

    inside, problems = mine.inside(segment)

    assert not problems
    assert inside.filter == AllOf((AnyOf((VIP, NEW)), AnyOf((ACME, ACTIVE))))
    assert read_audience(inside.shown())[0].filter == inside.filter


def nested(depth: int) -> dict[str, Any]:
    return {"not": nested(depth - 1)} if depth else {"tag": "VIP"}


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"any": []}, "audience.any"),
        ({"any": {"tag": "VIP"}}, "audience.any"),
        ({"any": [{"tag": "VIP"}] * (MOST_LEAVES + 1)}, "audience.any"),
        ({"any": [{"any": [{"tag": "VIP"}] * MOST_LEAVES}] * MOST_LEAVES}, "audience"),
        ({"any": [{"tag": "VIP"}, 7]}, "audience.any[1]"),
        ({"any": [{}]}, "audience.any[0]"),
        ({"any": [{"tag": None}]}, "audience.any[0]"),
        ({"any": [{"tag": ""}]}, "audience.any[0].tag"),
        ({"all": [{"tags": "VIP"}]}, "audience.all[0].tags"),
        ({"all": [{"contactIds": [str(ADA)]}]}, "audience.all[0].contactIds"),
        ({"not": [{"tag": "VIP"}]}, "audience.not"),
        ({"not": {"any": [{"tag": 7}]}}, "audience.not.any[0].tag"),
        (nested(DEEPEST + 1), "audience" + ".not" * (DEEPEST + 1)),
        ({"attributes": "pro"}, "audience.attributes"),
        ({"attributes": {}}, "audience.attributes"),
        ({"attributes": {"plan": None}}, "audience.attributes.plan"),
        ({"attributes": {"plan": ["pro"]}}, "audience.attributes.plan"),
        ({"attributes": {"a": {"b": "\x00"}}}, "audience.attributes.a.b"),
        ({"attributes": {"a": "x" * 40_000}}, "audience.attributes"),
        ({"all": True, "any": [{"tag": "VIP"}]}, "audience.all"),
    ],
)
def test_a_bad_filter_is_refused_with_its_place(given: object, place: str) -> None:
    assert [one.place for one in read_audience(given)[1]] == [place]


def test_a_filter_as_deep_as_allowed_is_read() -> None:
    assert not read_audience(nested(DEEPEST))[1]
