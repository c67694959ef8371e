"""Contacts as they are given: every field, every problem with its place, and what two changes come to."""

import json
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tidings.domain.channels import Channel
from tidings.domain.errors import Problem
from tidings.domain.flow.ids import Bucket, Workspace, bucket_of_id, make_id
from tidings.domain.people.contact import addresses_of, contact_bucket, read_contact, refusal, suppression_hash
from tidings.domain.people.contact_fields import ContactChange

WORKSPACE = Workspace("acme", "main")


def read(**given: Any) -> ContactChange:
    change, problems = read_contact(given)
    assert problems == []
    return change


def places(given: object, place: str = "") -> list[str]:
    return [one.place for one in read_contact(given, place)[1]]


def test_every_field_is_read_into_its_normal_form() -> None:
    change = read(
        externalId=" crm-7 ",
        name="  Ada Lovelace ",
        email="ada@EXAMPLE.com",
        phone="+44 20 7183 8750",
        whatsapp="+44 20 7183 8751",
        pushTokens=["t1", "t1", "t2"],
        company="Engines",
        status="lead",
        timeZone="europe/london",
        locale="en_gb",
        tags=["vip", " vip", "new"],
        attributes={"plan": "pro", "seats": 3, "old": None},
        consent={"email": "granted", "sms": {"status": "withdrawn", "at": "2026-01-01", "source": "call"}},
        suppressions={"voice": "manual", "push": None},
    )

    assert change == ContactChange(
        external_id="crm-7",
        name="Ada Lovelace",
        email="ada@example.com",
        phone="+442071838750",
        whatsapp="+442071838751",
        push_tokens=("t1", "t2"),
        company="Engines",
        status="lead",
        time_zone="Europe/London",
        locale="en-GB",
        tags=("vip", "new"),
        attributes={"plan": "pro", "seats": 3},
        no_attributes=("old",),
        consent={
            "email": {"status": "granted"},
            "sms": {"status": "withdrawn", "at": "2026-01-01T00:00:00+00:00", "source": "call"},
        },
        suppressions={"voice": {"reason": "manual"}},
        no_suppressions=("push",),
    )


def test_what_is_left_out_stays_and_what_is_null_or_empty_is_cleared() -> None:
    assert read() == read(externalId=None) == ContactChange()
    assert read(email=None, phone="", tags=None, pushTokens=[]) == ContactChange(
        email="", phone="", tags=(), push_tokens=()
    )


def test_snake_case_is_accepted_and_what_was_read_can_be_written_back() -> None:
    assert read(external_id="a", time_zone="UTC", push_tokens=["t"], id="x", createdAt="y", updated_at="z") == read(
        externalId="a", timeZone="UTC", pushTokens=["t"]
    )


def test_every_problem_is_told_with_its_place() -> None:
    given = {
        "externalId": "",
        "name": "a\nb",
        "email": "ada",
        "phone": 7,
        "tags": ["ok", "", 3],
        "attributes": {"": 1},
        "consent": {"email": "maybe", "telex": "granted"},
        "suppressions": {"sms": {"reason": "bounced", "why": "x"}, "push": {"reason": "bounced", "at": "soon"}},
        "timeZone": "Mars",
        "nickname": "A",
    }

    assert places(given, "contacts[3]") == [
        *("contacts[3].externalId", "contacts[3].name", "contacts[3].email", "contacts[3].phone"),
        *("contacts[3].tags[1]", "contacts[3].tags[2]", "contacts[3].attributes.''"),
        *("contacts[3].consent.email", "contacts[3].consent.telex"),
        *("contacts[3].suppressions.sms", "contacts[3].suppressions.push"),
        *("contacts[3].timeZone", "contacts[3].nickname"),
    ]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (["not", "an", "object"], "body"),
        (None, "body"),
        ({"name": "x" * 501}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"externalId": "x" * 201}, "externalId"),
        ({"externalId": " "}, "externalId"),
        ({"tags": "vip"}, "tags"),
        ({"tags": [f"t{n}" for n in range(101)]}, "tags"),
        ({"tags": ["x" * 101]}, "tags[0]"),
        ({"tags": ["a\x1fb"]}, "tags[0]"),
        ({"pushTokens": ["t" * 4097]}, "pushTokens[0]"),
        ({"attributes": []}, "attributes"),
        ({"attributes": {f"a{n}": n for n in range(201)}}, "attributes"),
        ({"attributes": {"a": "x" * 40_000}}, "attributes"),
        ({"attributes": {"a": {"b": ["\x00"]}}}, "attributes.a.b[0]"),
        ({"attributes": {"a\x1fb": 1}}, "attributes.'a\\x1fb'"),
        ({"attributes": {"a": json.loads("[" * 200 + "]" * 200)}}, "attributes"),
        ({"attributes": {"a": object()}}, "attributes"),
        ({"attributes": {7: 1}}, "attributes"),
        ({"consent": {"email": 7}}, "consent.email"),
        ({"consent": {"social": "granted"}}, "consent.social"),
        ({"external_id": "a", "externalId": "b"}, "externalId"),
    ],
)
def test_what_cannot_be_stored_is_refused(given: object, place: str) -> None:
    assert places(given) == [place]


def test_two_changes_come_to_what_they_would_one_after_the_other() -> None:
    first = read(externalId="a", name="Ada", phone="+442071838750", attributes={"x": 1, "y": 2, "gone": None})
    later = read(externalId="a", phone=None, tags=["t"], attributes={"x": None, "gone": 3, "z": 4})

    both = first.then(later)

    assert (both.external_id, both.name, both.phone, both.tags) == ("a", "Ada", "", ("t",))
    assert (both.attributes, both.no_attributes) == ({"y": 2, "gone": 3, "z": 4}, ("x",))


def test_the_audit_log_hears_names_and_no_values() -> None:
    assert read(email="ada@example.com", tags=[], attributes={"secret": None}).given() == ["email", "no_attributes"]


def test_a_contact_known_by_an_id_of_ours_is_where_that_id_is(clock: ManualClock) -> None:
    id = make_id(Bucket(1234), clock.time, 99)

    assert contact_bucket(WORKSPACE, str(id)) == bucket_of_id(id) == 1234
    assert contact_bucket(WORKSPACE, str(id).upper()) == WORKSPACE.bucket_of(str(id).upper())
    assert contact_bucket(WORKSPACE, str(UUID(int=7))) == WORKSPACE.bucket_of(str(UUID(int=7)))


@pytest.mark.parametrize(
    ("consent", "suppressions", "reason"),
    [
        ({}, {}, None),
        ({"email": {"status": "granted"}}, {}, None),
        ({"email": {"status": "withdrawn"}}, {}, "consent withdrawn"),
        ({"sms": {"status": "withdrawn"}}, {"sms": {"reason": "bounced"}}, None),
        ({"email": {"status": "granted"}}, {"email": {"reason": "bounced"}}, "suppressed: bounced"),
    ],
)
def test_a_channel_is_refused_by_suppression_and_by_withdrawn_consent(
    consent: dict[str, Any], suppressions: dict[str, Any], reason: str | None
) -> None:
    assert refusal(consent, suppressions, Channel.EMAIL) == reason


def test_a_problem_of_one_contact_needs_no_prefix() -> None:
    assert read_contact({"email": "x"})[1] == [
        Problem("email", "'x' is not an e-mail address: write it like ada@example.com")
    ]


# Where a contact is reached

ADDRESSES = {
    "email": "ada@example.com",
    "phone": "+442071838750",
    "whatsapp": "+4915112345678",
    "pushTokens": ["a", "b"],
}


@pytest.mark.parametrize(
    ("channel", "addresses"),
    [
        (Channel.EMAIL, ["ada@example.com"]),
        (Channel.SMS, ["+442071838750"]),
        (Channel.VOICE, ["+442071838750"]),
        (Channel.WHATSAPP, ["+4915112345678"]),
        (Channel.PUSH, ["a", "b"]),
        (Channel.SOCIAL, []),
        (Channel.FUNCTION, []),
    ],
)
def test_a_contact_is_reached_over_a_channel_at_its_addresses(channel: Channel, addresses: list[str]) -> None:
    assert addresses_of(ADDRESSES, channel) == addresses
    assert addresses_of(dict.fromkeys(ADDRESSES), channel) == []


def test_whatsapp_falls_back_to_the_phone_and_what_is_no_address_is_none() -> None:
    assert addresses_of({"phone": "+442071838750", "whatsapp": None}, Channel.WHATSAPP) == ["+442071838750"]
    assert addresses_of({"email": 7, "pushTokens": [None, "a"]}, Channel.EMAIL) == []
    assert addresses_of({"email": 7, "pushTokens": [None, "a"]}, Channel.PUSH) == ["a"]


def test_a_hash_of_an_address_knows_workspace_channel_and_address_whatever_its_letters() -> None:
    home = Workspace("t", "w")
    known = suppression_hash(home, Channel.EMAIL, "Ada@example.com")

    assert known == suppression_hash(home, Channel.EMAIL, "ada@EXAMPLE.com")
    others = {
        suppression_hash(home, Channel.SMS, "ada@example.com"),
        suppression_hash(Workspace("t", "x"), Channel.EMAIL, "ada@example.com"),
        suppression_hash(Workspace("x", "w"), Channel.EMAIL, "ada@example.com"),
        suppression_hash(home, Channel.EMAIL, "eda@example.com"),
    }
    assert len(others | {known}) == 5
