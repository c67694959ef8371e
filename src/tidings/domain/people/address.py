"""Where a person is reached, in one spelling each: e-mail addresses, phone numbers, time zones and locales.

Each reader returns the normal form, or raises ValueError with the value and the remedy. Whether an address exists, only
a message to it tells.
"""

import re
import unicodedata
from collections.abc import Mapping
from contextvars import ContextVar, Token
from functools import cache
from zoneinfo import available_timezones

import idna

LONGEST_EMAIL = 254
_LONGEST_LOCAL = 64
_LONGEST_LABEL = 63
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])")
_NEVER_LOCAL = re.compile(r"""[\s@<>()\[\]\\,;:"]""")
_MAILBOX = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")
_BREAKS_A_NAME = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029"\\]|=\?')

_PHONE_FILLING = re.compile(r"[\s().\-/\u2010-\u2015\u2212]")
_TRUNK_ZERO = re.compile(r"\(\s*0\s*\)")
_LONGEST_PHONE = 60
_E164 = re.compile(r"\+[1-9][0-9]{6,14}")

_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?")
_NO_ZONES = frozenset(["Factory", "localtime", "posixrules"])


def read_email(text: str) -> str:
    """An e-mail address with its domain in lower case and in ASCII; what is before the @ stays as it is."""
    address = text.strip().removeprefix("mailto:")
    address = address if address.isascii() else unicodedata.normalize("NFC", address)
    local, at, domain = address.rpartition("@")
    domain = _ascii_domain(domain)
    whole = f"{local}@{domain}"
    if not at or not _is_local(local) or not _is_domain(domain) or len(whole.encode()) > LONGEST_EMAIL:
        raise ValueError(f"{_short(text)} is not an e-mail address: write it like ada@example.com")
    return whole


def read_mailbox(text: str) -> str:
    """An e-mail address with the name shown beside it, `Name <address>`, or an address alone."""
    found = _MAILBOX.fullmatch(text.strip())
    if found is None:
        return read_email(text)
    name, address = found["name"].strip().strip('"').strip(), read_email(found["address"])
    if _BREAKS_A_NAME.search(name):
        raise ValueError(f"{_short(text)} is not a sender: write it like Ada <ada@example.com>")
    return f"{name} <{address}>" if name else address


def _ascii_domain(domain: str) -> str:
    if domain.isascii():
        return domain.lower()
    try:
        return idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return ""


def _is_local(local: str) -> bool:
    if len(local.encode()) > _LONGEST_LOCAL:
        return False
    if local.isascii():
        return _LOCAL.fullmatch(local) is not None
    dotted = local.startswith(".") or local.endswith(".") or ".." in local
    return not dotted and local.isprintable() and not _NEVER_LOCAL.search(local)


def _is_domain(domain: str) -> bool:
    return _DOMAIN.fullmatch(domain) is not None and all(len(one) <= _LONGEST_LABEL for one in domain.split("."))


class _Home:
    """Where numbers without a country's code are from; set once, when a process is wired up."""

    region: str | None = None


_REGION: ContextVar[str | None] = ContextVar("region", default=None)


def use_region(region: str | None) -> None:
    """Read numbers without a country's code as those of this country, unless a workspace has its own."""
    _Home.region = region


class NumbersOf:
    """While it is entered, numbers without a country's code are of a workspace's own country; None has none of its own.

    Around what reads a workspace's numbers, and never around a `yield`.
    """

    def __init__(self, region: str | None) -> None:
        self._region = region

    def __enter__(self) -> None:
        self._token: Token[str | None] = _REGION.set(self._region)

    def __exit__(self, *_: object) -> None:
        _REGION.reset(self._token)


def read_phone(text: str) -> str:
    """A phone number as E.164 writes it: + and at most 15 digits, the country's code first.

    One without its country's code is read as the workspace's own country writes it, or else the process's, where there
    is one.
    """
    number = _PHONE_FILLING.sub("", _TRUNK_ZERO.sub("", text.strip().removeprefix("tel:").removeprefix("whatsapp:")))
    number = f"+{number[2:]}" if number.startswith("00") else number
    if _E164.fullmatch(number):
        return number
    if national := _read_national(text.strip()):
        return national
    raise ValueError(f"{_short(text)} is not a phone number with its country's code: write it like +442071838750")


def _read_national(text: str) -> str | None:
    """A number of the country it is read for in E.164; None without a country, or where it is no number of it."""
    region = _REGION.get() or _Home.region
    if region is None or len(text) > _LONGEST_PHONE:
        return None
    try:  # a tenth of a second to import, for those who have such numbers
        from phonenumbers import (  # noqa: PLC0415
            NumberParseException,
            PhoneNumberFormat,
            format_number,
            is_valid_number,
            parse,
        )
    except ModuleNotFoundError:  # a workspace's region is set where it is installed, which may not be everywhere
        return None

    try:
        number = parse(text, region)
    except NumberParseException:
        return None
    return format_number(number, PhoneNumberFormat.E164) if is_valid_number(number) else None


def read_time_zone(text: str) -> str:
    """A time zone by its name, ignoring case."""
    found = _zones().get(text.strip().replace(" ", "_").lower())
    if found is None:
        raise ValueError(f"{_short(text)} is not a time zone: write it like Europe/Berlin or UTC")
    return found


@cache
def _zones() -> Mapping[str, str]:
    return {name.lower(): name for name in available_timezones() - _NO_ZONES}


def read_locale(text: str) -> str:
    """A language and perhaps a script and a region, as in pt-BR."""
    match = _LOCALE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_short(text)} is not a locale: write it like en or pt-BR")
    language, script, region = match.groups()
    return "-".join(filter(None, [language.lower(), script and script.title(), region and region.upper()]))


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
