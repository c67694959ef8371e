"""Whom a step is for: the recipient matrix of 000 over every combination, and what cannot be reached."""

from itertools import product

import pytest

from tidings.domain.channels import CONTACT_CHANNELS, Channel
from tidings.domain.people.recipients import (
    EventAddressee,
    EventPerson,
    RecipientConfig,
    Unreachable,
    read_person,
    resolve_recipients,
)
from tidings.views.rules import RuleAudience

EMAILS = {
    RuleAudience.LEAD: "lead@example.com",
    RuleAudience.PARTNER: "partner@example.com",
    RuleAudience.AGENT: "a@example.com",
}
PHONES = {
    RuleAudience.LEAD: "+442071838750",
    RuleAudience.PARTNER: "+442071838751",
    RuleAudience.AGENT: "+442071838752",
}
CUSTOM_EMAILS = ("custom@example.com", "LEAD@Example.com")
CUSTOM_PHONES = ("+442071838759", "+442071838750")
BOOLEANS = (False, True)


def person(who: RuleAudience, *, has_address: bool) -> EventPerson:
    return read_person({"email": EMAILS[who], "phone": PHONES[who]} if has_address else {"name": "Somebody"})


MATRIX = list(product(BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS))


@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.WHATSAPP, Channel.SMS, Channel.VOICE])
@pytest.mark.parametrize(("lead", "partner", "agent", "custom", "lead_reachable", "partner_reachable"), MATRIX)
def test_the_recipient_matrix(
    channel: Channel,
    lead: bool,
    partner: bool,
    agent: bool,
    custom: bool,
    lead_reachable: bool,
    partner_reachable: bool,
) -> None:
    """Each combination of what is included with what is there, against a second reckoning of the same rules."""
    addresses, own = (EMAILS, CUSTOM_EMAILS) if channel is Channel.EMAIL else (PHONES, CUSTOM_PHONES)
    config = RecipientConfig(lead, partner, agent, CUSTOM_PHONES if custom else (), CUSTOM_EMAILS if custom else ())
    people = {
        RuleAudience.LEAD: person(RuleAudience.LEAD, has_address=lead_reachable),
        RuleAudience.PARTNER: person(RuleAudience.PARTNER, has_address=partner_reachable),
        RuleAudience.AGENT: person(RuleAudience.AGENT, has_address=True),
    }

    found = resolve_recipients(config, RuleAudience.AGENT, channel, people)

    included = [
        (who, reachable)
        for who, wanted, reachable in (
            (RuleAudience.LEAD, lead, lead_reachable),
            (RuleAudience.PARTNER, partner, partner_reachable),
            (RuleAudience.AGENT, agent, True),
        )
        if wanted
    ]
    expected = [addresses[who] for who, reachable in included if reachable]
    for address in own if custom else ():
        if address.lower() not in {one.lower() for one in expected}:
            expected.append(address)
    assert [one.address for one in found if isinstance(one, EventAddressee)] == expected
    assert [one.source for one in found if isinstance(one, Unreachable)] == [
        who for who, reachable in included if not reachable
    ]


@pytest.mark.parametrize("audience", RuleAudience)
@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.WHATSAPP, Channel.SMS, Channel.VOICE])
def test_without_a_configuration_it_is_whoever_the_rule_is_for(audience: RuleAudience, channel: Channel) -> None:
    people = {who: person(who, has_address=True) for who in RuleAudience}

    found = resolve_recipients(None, audience, channel, people)

    expected = EMAILS[audience] if channel is Channel.EMAIL else PHONES[audience]
    assert found == [EventAddressee(audience, expected)]


def test_the_same_address_from_two_people_is_written_to_once_and_its_first_place_is_kept() -> None:
    people = {
        RuleAudience.LEAD: read_person({"email": "Ada@Example.com"}),
        RuleAudience.PARTNER: read_person({"email": "ada@EXAMPLE.com"}),
    }
    config = RecipientConfig(True, True, custom_emails=("ADA@example.com", "other@example.com"))

    found = resolve_recipients(config, RuleAudience.LEAD, Channel.EMAIL, people)

    assert found == [EventAddressee("lead", "Ada@example.com"), EventAddressee("customEmails[1]", "other@example.com")]


def test_whoever_the_event_does_not_have_is_skipped_with_that_reason() -> None:
    found = resolve_recipients(RecipientConfig(include_partner=True), RuleAudience.LEAD, Channel.EMAIL, {})

    assert found == [Unreachable("partner", "the event has no partner")]


@pytest.mark.parametrize(
    ("channel", "reason"),
    [
        (Channel.EMAIL, "the lead has no e-mail address"),
        (Channel.SMS, "the lead has no phone number"),
        (Channel.VOICE, "the lead has no phone number"),
        (Channel.WHATSAPP, "the lead has no WhatsApp or phone number"),
        (Channel.PUSH, "the lead has no push token"),
    ],
)
@pytest.mark.parametrize("empty", [None, "", []])
def test_an_address_that_is_missing_null_or_empty_is_skipped_with_the_reason(
    channel: Channel, reason: str, empty: object
) -> None:
    lead = read_person({"email": empty, "phone": empty, "whatsapp": empty, "pushTokens": empty})

    assert resolve_recipients(None, RuleAudience.LEAD, channel, {RuleAudience.LEAD: lead}) == [
        Unreachable("lead", reason)
    ]


@pytest.mark.parametrize(
    ("given", "channel", "place"),
    [
        ({"email": "not an address"}, Channel.EMAIL, "lead.email"),
        ({"email": 7}, Channel.EMAIL, "lead.email"),
        ({"phone": "0171"}, Channel.SMS, "lead.phone"),
        ({"phone": "0171"}, Channel.WHATSAPP, "lead.phone"),
        ({"whatsapp": "x", "phone": "+442071838750"}, Channel.WHATSAPP, "lead.whatsapp"),
        ({"pushTokens": [7]}, Channel.PUSH, "lead.pushTokens"),
        ({"pushTokens": {"a": 1}}, Channel.PUSH, "lead.pushTokens"),
    ],
)
def test_an_address_that_is_none_is_told_with_its_place(given: dict[str, object], channel: Channel, place: str) -> None:
    [found] = resolve_recipients(None, RuleAudience.LEAD, channel, {RuleAudience.LEAD: read_person(given)})

    assert isinstance(found, Unreachable)
    assert found.place == place


def test_whatsapp_goes_to_its_own_number_and_else_to_the_phone() -> None:
    both = read_person({"whatsapp": "+442071838751", "phone": "+442071838750"})
    phone = read_person({"phone": "+44 (0)20 7183 8750"})

    assert resolve_recipients(None, RuleAudience.LEAD, Channel.WHATSAPP, {RuleAudience.LEAD: both}) == [
        EventAddressee("lead", "+442071838751")
    ]
    assert resolve_recipients(None, RuleAudience.LEAD, Channel.WHATSAPP, {RuleAudience.LEAD: phone}) == [
        EventAddressee("lead", "+442071838750")
    ]


@pytest.mark.parametrize("name", ["pushTokens", "push_tokens"])
def test_a_push_goes_to_every_token_once_and_to_no_custom_number(name: str) -> None:
    lead = read_person({name: ["a", "b", "a"]})
    config = RecipientConfig(True, custom_phones=CUSTOM_PHONES, custom_emails=CUSTOM_EMAILS)

    found = resolve_recipients(config, RuleAudience.LEAD, Channel.PUSH, {RuleAudience.LEAD: lead})

    assert found == [EventAddressee("lead", "a"), EventAddressee("lead", "b")]


@pytest.mark.parametrize("channel", CONTACT_CHANNELS)
def test_a_configuration_that_includes_nobody_reaches_nobody(channel: Channel) -> None:
    people = {who: person(who, has_address=True) for who in RuleAudience}

    assert resolve_recipients(RecipientConfig(), RuleAudience.LEAD, channel, people) == []
