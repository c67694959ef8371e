"""The table of channels: complete, and said nowhere else but in the database's CHECKs, which say the same."""

import re
from importlib.resources import files

import pytest

from tidings.domain.channels import CONTACT_CHANNELS, MESSAGE_CHANNELS, STEP_CHANNELS, Channel, one_of
from tidings.domain.flow.item import SUCCESS_STATUS, ItemStatus
from tidings.domain.people.contact import addresses_of, lack_of, most_addresses
from tidings.domain.people.contact_fields import FIELDS, MOST_TOKENS

SCHEMA = files("tidings.storage").joinpath("schema.sql").read_text()
_TABLE_OR_LIST = re.compile(r"^(?:create|alter) table (\w+)|\bchannel in \(([^)]*)\)", re.MULTILINE)


def channels_checked() -> dict[str, set[str]]:
    """The channels that each table's CHECK lets in."""
    found: dict[str, set[str]] = {}
    table = ""
    for match in _TABLE_OR_LIST.finditer(SCHEMA):
        table = match[1] or table
        if match[2]:
            found[table] = set(re.findall(r"'(\w+)'", match[2]))
    return found


def test_every_check_of_a_channel_lets_in_what_the_table_says() -> None:
    assert channels_checked() == {
        "routes": {*Channel},
        "outbox": {*Channel},
        "campaigns": {*MESSAGE_CHANNELS},
        "sequence_steps": {*STEP_CHANNELS},
        "rules": {*STEP_CHANNELS},
        "fallbacks": {*STEP_CHANNELS},
    }


@pytest.mark.parametrize("channel", CONTACT_CHANNELS)
def test_whatever_reaches_a_contact_says_where_and_how_that_is_called(channel: Channel) -> None:
    assert FIELDS.keys() >= {*channel.traits.address_fields}
    assert channel.traits.address_name
    assert lack_of(channel) == f"the contact has no {channel.traits.address_name}"


@pytest.mark.parametrize("channel", MESSAGE_CHANNELS)
def test_every_message_has_a_text_and_tells_what_a_campaign_must_give(channel: Channel) -> None:
    assert channel.traits.text in channel.content_fields
    assert channel.traits.wanted
    assert channel.job_type.startswith(channel)


def test_every_success_is_a_status() -> None:
    assert SUCCESS_STATUS[Channel.EMAIL] is ItemStatus.SENT
    assert SUCCESS_STATUS[Channel.VOICE] is ItemStatus.CALLED
    assert SUCCESS_STATUS[Channel.SOCIAL] is ItemStatus.POSTED


def test_a_channel_is_its_name() -> None:
    assert Channel("push") is Channel.PUSH
    assert str(Channel.PUSH) == "push"
    with pytest.raises(ValueError, match="fax"):
        Channel("fax")


def test_an_address_is_the_first_that_is_filled() -> None:
    both = {"whatsapp": "+491", "phone": "+492", "email": "", "pushTokens": ["a", "", "b"]}

    assert addresses_of(both, Channel.WHATSAPP) == ["+491"]
    assert addresses_of({**both, "whatsapp": None}, Channel.WHATSAPP) == ["+492"]
    assert addresses_of(both, Channel.EMAIL) == []
    assert addresses_of(both, Channel.PUSH) == ["a", "b"]
    assert addresses_of(both, Channel.SOCIAL) == []
    assert (most_addresses(Channel.PUSH), most_addresses(Channel.SMS)) == (MOST_TOKENS, 1)


def test_channels_are_told_in_words() -> None:
    assert one_of((Channel.EMAIL, Channel.SMS, Channel.PUSH)) == "email, sms or push"
