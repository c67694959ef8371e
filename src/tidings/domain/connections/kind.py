"""What a kind of provider must be told before it can send: its settings, which of them are secret, and what it serves.

Each file of providers/vendors describes its vendor with one ProviderKind. The API, the commands, the documentation
and the checks of a new connection follow from it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from tidings.domain.channels import Channel
from tidings.domain.errors import Problem
from tidings.domain.flow.provider import Provider
from tidings.domain.messages import did_you_mean, quoted
from tidings.domain.names import BREAKS_A_LINE
from tidings.domain.private_addresses import FindPrivateAddresses, no_private_addresses
from tidings.domain.storable import UNSTORABLE, is_storable

LONGEST_SETTING = 1_000
LONGEST_SECRET = 20_000
"""A service account with its private key takes some 2,400 characters."""
_HOST = re.compile(r"[A-Za-z0-9._\-\[\]:]+")

Value: TypeAlias = str | int | bool


class SettingType(StrEnum):
    """What a setting may be."""

    TEXT = "text"
    LINES = "lines"  # a key or a document, which may have several lines
    URL = "url"
    WEBHOOK = "webhook"  # an address with the path and the query that a vendor gave it, which are its password
    NUMBER = "number"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One thing that a vendor must or may be told. What is secret is sealed, and never shown again."""

    name: str
    doc: str
    type: SettingType = SettingType.TEXT
    example: str = ""
    is_required: bool = False
    is_secret: bool = False
    default: Value | None = None
    choices: Sequence[str] = ()
    is_address: bool = False
    """Whether it says where credentials are sent: with another value they must be given anew."""
    matches: str = ""
    """A regular expression for the whole of a string, where not every string will do."""
    check: Callable[[str], str | None] | None = None
    """Says why a string of the right type will not do, with the remedy and without the string; None when it will."""

    def problem_of(self, value: object) -> str | None:
        """Why a value will not do, with the remedy; the value of a secret is never repeated."""
        problem = _TYPE_PROBLEMS[self.type](value)
        if problem is None and self.choices and value not in self.choices:
            problem = f"use one of {', '.join(self.choices)}"
        if problem is None and self.matches and not re.fullmatch(self.matches, str(value)):
            problem = f"write it like {self.example}"
        if problem is None and self.check is not None:
            problem = self.check(str(value))
        if problem is None:
            return None
        return problem if self.is_secret else f"{quoted(value)} will not do: {problem}"


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a provider is made from: values under the names of its kind's settings, defaults filled in."""

    name: str
    """The provider's name, stored with each item it was called for."""
    channel: Channel
    values: Mapping[str, Value] = field(repr=False)  # secrets among them
    call_deadline: timedelta = timedelta(seconds=30)
    concurrency: int = 10
    private_addresses: FindPrivateAddresses = no_private_addresses

    def text(self, name: str) -> str:
        """Return a setting that is a string; empty where it was not given."""
        value = self.values.get(name, "")
        if not isinstance(value, str):
            raise TypeError(f"the setting {name} is {type(value).__name__}")
        return value

    def url(self, name: str = "baseUrl") -> str:
        """Return a setting that is an address, without the slash at its end."""
        return self.text(name).rstrip("/")

    def number(self, name: str) -> int:
        """Return a setting that is a whole number."""
        return int(self.values[name])

    def flag(self, name: str) -> bool:
        """Return a setting that is true or false; false where it was not given."""
        return bool(self.values.get(name, False))


@dataclass(frozen=True, slots=True)
class FollowedDocument:
    """The vendor's own page that an implementation follows, and when it was read."""

    title: str
    read_on: date


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKind:
    """A vendor: the channels it serves, what it must be told, and how a provider is made of that."""

    name: str
    title: str
    channels: Sequence[Channel]
    settings: Sequence[Setting]
    build: Callable[[ConnectionSettings], Provider]
    follows: Sequence[FollowedDocument]
    accepts: Callable[[str], bool] | None = None
    """Whether a recipient can be reached by it at all; None where any recipient of its channels can."""

    @property
    def secrets(self) -> frozenset[str]:
        """The names of the settings that are sealed."""
        return frozenset(one.name for one in self.settings if one.is_secret)

    def problems_of(
        self, settings: Mapping[str, object], credentials: Mapping[str, object], *, stored: Collection[str] = ()
    ) -> list[Problem]:
        """Return everything that is wrong with what a connection is told; stored credentials may be missing."""
        given = {"settings": settings, "credentials": credentials}
        wrong = [problem for place, values in given.items() for problem in self._wrong_in(place, values)]
        return wrong + [
            Problem(f"{_place_of(one)}.{one.name}", f"is missing: {one.doc}")
            for one in self.settings
            if one.is_required and one.name not in stored and given[_place_of(one)].get(one.name) in (None, "")
        ]

    @property
    def addresses(self) -> frozenset[str]:
        """The names of the settings that say where credentials are sent."""
        return frozenset(one.name for one in self.settings if one.is_address or one.type is SettingType.URL)

    def filled(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return the values with the defaults of what was not given."""
        defaults = {one.name: one.default for one in self.settings if one.default is not None}
        return {**defaults, **values}

    def _wrong_in(self, place: str, values: Mapping[str, object]) -> Iterable[Problem]:
        known = {one.name: one for one in self.settings}
        for name, value in values.items():
            setting = known.get(name)
            if setting is None:
                yield Problem(f"{place}.{name}", f"is no setting of {self.name}{did_you_mean(name, known)}")
            elif _place_of(setting) != place:
                yield Problem(f"{place}.{name}", f"belongs to {_place_of(setting)}")
            elif value is not None and (problem := setting.problem_of(value)):
                yield Problem(f"{place}.{name}", problem)


def base_url(default: str) -> Setting:
    """The setting under which every vendor's address can be replaced, by that of a test server or a region's."""
    return Setting(
        name="baseUrl", doc="where its API is", type=SettingType.URL, default=default, example="https://api.example.com"
    )


def secret(
    name: str,
    doc: str,
    *,
    is_required: bool = True,
    has_lines: bool = False,
    check: Callable[[str], str | None] | None = None,
) -> Setting:
    """A setting that is sealed and never shown again."""
    kind = SettingType.LINES if has_lines else SettingType.TEXT
    return Setting(name=name, doc=doc, type=kind, is_required=is_required, is_secret=True, check=check)


def webhook_url(doc: str) -> Setting:
    """The sealed address of a webhook: who knows it may post."""
    return Setting(name="webhookUrl", doc=doc, type=SettingType.WEBHOOK, is_required=True, is_secret=True)


def _place_of(setting: Setting) -> str:
    return "credentials" if setting.is_secret else "settings"


def _problem_of_text(value: object) -> str | None:
    if not isinstance(value, str):
        return "use a string"
    if BREAKS_A_LINE.search(value):
        return "it has a line break or a control character; leave it out"
    return _problem_of_lines(value, LONGEST_SETTING)


def _problem_of_lines(value: object, longest: int = LONGEST_SECRET) -> str | None:
    if not isinstance(value, str):
        return "use a string"
    if not is_storable(value):
        return UNSTORABLE
    return f"it has {len(value):,} characters; use at most {longest:,}" if len(value) > longest else None


def _problem_of_url(value: object) -> str | None:
    if problem := _problem_of_text(value):
        return problem
    parts = _url_parts(str(value))
    if parts is None or parts.query or parts.fragment:
        return "use an address like https://api.example.com, without a password and a query"
    return None


def _problem_of_webhook(value: object) -> str | None:
    if problem := _problem_of_text(value):
        return problem
    parts = _url_parts(str(value))
    if parts is None or parts.fragment or parts.path in ("", "/") or not str(value).isascii() or " " in str(value):
        return "use the whole address that the vendor shows, from https:// on"
    return None


def _url_parts(value: str) -> SplitResult | None:
    """The parts of an address over HTTP without a user; None when it is none."""
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 – which is looked at only when it is asked for
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and _HOST.fullmatch(parts.netloc) else None


def _problem_of_number(value: object) -> str | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return None if is_whole and 0 <= int(str(value)) < 2**31 else "use a whole number from 0 on"


def _problem_of_flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "use true or false"


_TYPE_PROBLEMS: Mapping[SettingType, Callable[[object], str | None]] = {
    SettingType.TEXT: _problem_of_text,
    SettingType.LINES: _problem_of_lines,
    SettingType.URL: _problem_of_url,
    SettingType.WEBHOOK: _problem_of_webhook,
    SettingType.NUMBER: _problem_of_number,
    SettingType.FLAG: _problem_of_flag,
}
