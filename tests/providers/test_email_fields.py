"""The parts of an e-mail that vendors' APIs get, and what can never be sent."""

import pytest

from tests.providers.items import PLAIN, marked
from tidings.domain.flow.outcome import Rejected, Unavailable
from tidings.providers.email_fields import EmailFields, email_fields, shown_address
from tidings.providers.letter import Sender

SENDER = "Tidings <news@example.com>"


def fields(**payload: str) -> EmailFields:
    found = email_fields(marked(payload={**PLAIN, **payload}), SENDER)
    assert isinstance(found, EmailFields)
    return found


def test_the_connections_sender_is_used_where_a_message_names_none() -> None:
    assert fields().sender == Sender("news@example.com", "Tidings")
    assert fields(**{"from": "ann@example.org"}).sender == Sender("ann@example.org")


def test_the_message_id_comes_from_the_key_and_the_senders_domain() -> None:
    item = marked(payload={**PLAIN, "from": "ann@example.org"})

    found = email_fields(item, SENDER)

    assert isinstance(found, EmailFields)
    assert found.message_id == f"<{item.key.hex()}@example.org>"


def test_nobody_gets_two_copies() -> None:
    found = fields(cc='["ANN@example.com", "bob@example.com", "Bob <Bob@example.com>"]', bcc='["bob@EXAMPLE.com"]')

    assert (found.cc, found.bcc) == ([Sender("bob@example.com")], [])


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("from", "nobody", "from 'nobody' is no address"),
        ("replyTo", "a@b.example\nBcc: eve@example.com", "replyTo 'a@b.example\\\\nBcc"),
        ("cc", '["x"]', "cc 'x' is no address"),
        ("bcc", '["a@b.example, c@d.example"]', "bcc 'a@b.example, c@d.example' is no address"),
        ("cc", '{"x": 1}', "cannot be read"),
        ("headers", "[1]", "cannot be read"),
        ("attachments", "[1]", "cannot be read"),
    ],
)
def test_what_can_never_be_sent_is_said_with_its_value(name: str, value: str, word: str) -> None:
    found = email_fields(marked(payload={**PLAIN, name: value}), SENDER)

    assert isinstance(found, Rejected)
    assert word.replace("\\\\", "\\") in found.reason


def test_a_connection_whose_own_sender_is_no_address_is_to_be_mended() -> None:
    assert isinstance(email_fields(marked(), ""), Rejected)
    found = email_fields(marked(), "nobody")
    assert isinstance(found, Unavailable)
    assert found.is_refused


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "a@example.com"),
        ("Ann O'Neil", "Ann O'Neil <a@example.com>"),
        ("Sender, jr.", '"Sender, jr." <a@example.com>'),
        ("Zoë", "Zoë <a@example.com>"),
        ('The "Best"', '"The \\"Best\\"" <a@example.com>'),
    ],
)
def test_a_name_stands_before_its_address_and_in_quotes_where_it_must(name: str, shown: str) -> None:
    assert shown_address(Sender("a@example.com", name)) == shown
