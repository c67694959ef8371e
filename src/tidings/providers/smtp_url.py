"""Read an SMTP server's address, credentials and sender out of one URL, and never show the password."""

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from tidings.domain.errors import ConfigInvalid
from tidings.providers.letter import Sender, sender_of

Tls = Literal["implicit", "required", "when offered", "never"]

_SHAPE = "smtp://user:password@host:port?from=you@example.com"
_URL = re.compile(
    r"(?P<scheme>smtps?)://"
    r"(?:(?P<user>[^/?#:@]*)(?::(?P<password>[^/?#]*))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)"
    r"(?::(?P<port>[^/?#@]*))?/?"
    r"(?:\?(?P<query>[^?#]*))?"
)
_STARTTLS: dict[str, Tls] = {"true": "required", "false": "never"}
_SETTINGS = frozenset({"from", "starttls"})


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where to connect, and how."""

    host: str
    port: int
    tls: Tls
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def read_smtp_url(url: str) -> tuple[SmtpServer, Sender]:
    """Take `url` apart; raise ConfigInvalid, which never quotes a password, when it cannot be used."""
    found = _URL.fullmatch(url.strip())
    if found is None:
        # Nothing of it is quoted: with a stray '/' or '@' any part may belong to the password.
        raise ConfigInvalid(
            f"the SMTP URL has not the form {_SHAPE} (or smtps://): percent-encode characters such as / ? # @ "
            "in the user name and the password"
        )
    settings = _settings(found["query"] or "")
    server = SmtpServer(
        host=found["host"].strip("[]"),
        port=_port(found),
        tls=_tls(found, settings.get("starttls")),
        username=unquote(found["user"]) if found["user"] else None,
        password=unquote(found["password"] or "") if found["user"] else None,
    )
    return server, _sender(settings.get("from"), found["host"])


def _settings(query: str) -> dict[str, str]:
    # Not parse_qs: it turns the + of an address into a blank.
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    settings = {unquote(name): unquote(value) for name, _, value in pairs}
    if unknown := sorted(settings.keys() - _SETTINGS):
        raise ConfigInvalid(f"the SMTP URL has an unknown setting {unknown[0]!r}: use from and starttls")
    return settings


def _port(found: re.Match[str]) -> int:
    given = found["port"]
    if given is None:
        return 465 if found["scheme"] == "smtps" else 587 if found["user"] else 25
    if not re.fullmatch("[0-9]{1,5}", given) or not 0 < int(given) < 65_536:
        # The port is not quoted: in smtp://user:password, with the host forgotten, it is the password.
        raise ConfigInvalid(f"the SMTP URL's port is not a number from 1 to 65535: write {_SHAPE}")
    return int(given)


def _tls(found: re.Match[str], starttls: str | None) -> Tls:
    if found["scheme"] == "smtps":
        if starttls is not None:
            raise ConfigInvalid("the SMTP URL has starttls with smtps://, which is TLS already: leave starttls out")
        return "implicit"
    if starttls is None:
        # A password never travels in the clear unless the URL says starttls=false.
        return "required" if found["user"] else "when offered"
    if starttls not in _STARTTLS:
        raise ConfigInvalid(f"the SMTP URL has starttls={starttls!r}: use true or false")
    return _STARTTLS[starttls]


def _sender(given: str | None, host: str) -> Sender:
    if not given:
        raise ConfigInvalid(f"the SMTP URL for {host!r} names no sender: add ?from=you@example.com")
    sender = sender_of(given)
    if sender is None:
        raise ConfigInvalid(
            f"the SMTP URL has from={given!r}: use an ASCII address such as you@example.com, "
            "or a name and an address such as You <you@example.com>"
        )
    return sender
