"""One URL says where to send mail; a wrong one is explained without the password."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.domain.errors import ConfigInvalid
from tidings.providers.letter import Sender
from tidings.providers.smtp_url import SmtpServer, read_smtp_url

GOOD = [
    ("smtp://localhost?from=n@x.org", SmtpServer("localhost", 25, "when offered")),
    ("smtp://localhost:1025/?from=n@x.org&starttls=false", SmtpServer("localhost", 1025, "never")),
    ("smtp://h?from=n@x.org&starttls=true", SmtpServer("h", 25, "required")),
    ("smtp://u:p@h?from=n@x.org", SmtpServer("h", 587, "required", "u", "p")),
    ("smtps://u:p@h?from=n@x.org", SmtpServer("h", 465, "implicit", "u", "p")),
    ("smtp://a%40b.c:p%2F%3F%23%40@h:2525?from=n@x.org", SmtpServer("h", 2525, "required", "a@b.c", "p/?#@")),
    ("smtp://u:p@ss@h?from=n@x.org", SmtpServer("h", 587, "required", "u", "p@ss")),
    ("smtp://[::1]:25?from=n@x.org", SmtpServer("::1", 25, "when offered")),
]


@pytest.mark.parametrize(("url", "server"), GOOD)
def test_a_url_names_server_and_sender(url: str, server: SmtpServer) -> None:
    found, sender = read_smtp_url(url)

    assert (found, found.password, sender) == (server, server.password, Sender("n@x.org"))


def test_a_plus_in_the_senders_address_stays() -> None:
    assert read_smtp_url("smtp://h?from=n+a@x.org")[1] == Sender("n+a@x.org")


BAD = [
    ("http://u:geheim@h?from=n@x.org", "has not the form"),
    ("smtp://u:geheim@?from=n@x.org", "has not the form"),
    ("smtp://u:ge/heim@h?from=n@x.org", "percent-encode"),
    ("smtp://u:ge#heim@h?from=n@x.org", "percent-encode"),
    ("smtp://u:geheim?from=n@x.org", "port is not a number"),
    ("smtp://u:geheim@h:99999?from=n@x.org", "port is not a number"),
    ("smtp://u:geheim@h", "names no sender: add ?from="),
    ("smtp://u:geheim@h?from=nobody", "from='nobody'"),
    ("smtp://u:geheim@h?from=n@x.org%0d%0aBcc:x@y.z", "from="),
    ("smtp://u:geheim@h?from=n@x.org&starttls=maybe", "starttls='maybe': use true or false"),
    ("smtps://u:geheim@h?from=n@x.org&starttls=true", "leave starttls out"),
    ("smtp://u:geheim@h?form=n@x.org", "unknown setting 'form'"),
]


@pytest.mark.parametrize(("url", "complaint"), BAD)
def test_a_bad_url_is_explained_without_the_password(url: str, complaint: str) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        read_smtp_url(url)

    assert complaint in str(raised.value)
    assert "heim" not in str(raised.value)


@settings(deadline=None)
@given(password=st.text(st.characters(codec="utf-8"), max_size=8), tail=st.sampled_from(["@h", "@h:x", "", "@", "/"]))
def test_no_url_gives_its_password_away(password: str, tail: str) -> None:
    secret = f"S3CR3T{password}"

    shown = _shown(f"smtp://u:{secret}{tail}?from=n@x.org")

    assert "S3CR3T" not in shown


def _shown(url: str) -> str:
    try:
        return repr(read_smtp_url(url))
    except ConfigInvalid as error:
        return str(error)
