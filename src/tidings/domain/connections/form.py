"""Read what somebody gives for a connection: every problem at once, each with its place, before anything is stored."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.connections.connection import WorkspaceConnection
from tidings.domain.connections.kind import ProviderKind, Value
from tidings.domain.connections.limits import MOST, NO_LIMITS, RateLimits, SendingLimits
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.messages import did_you_mean, quoted

MOST_BESIDE = 1_000
"""The largest position and the largest weight."""
MOST_WARM_UP_DAYS = 365
MOST_DOMAINS = 100
FIELDS = frozenset(
    {"name", "channel", "provider", "settings", "credentials", "limits", "position", "weight", "sticky", "enabled"}
)
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DOMAIN = re.compile(r"\*|[a-z0-9-]+(\.[a-z0-9-]+)*")
Given = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ConnectionDraft:
    """A connection as it is to be; `credentials` are only those given now, and None is one to be forgotten."""

    name: str
    channel: Channel
    kind: ProviderKind
    settings: dict[str, Value]
    credentials: Mapping[str, str | None] = field(repr=False)
    limits: SendingLimits
    position: int | None
    weight: int
    is_sticky: bool
    is_enabled: bool


def read_connection(
    given: Given, kinds: Mapping[str, ProviderKind], before: WorkspaceConnection | None = None
) -> ConnectionDraft:
    """Return the connection that was asked for, a new one or one as it is to be; raise FieldsInvalid if it is none."""
    problems = [
        Problem(str(name)[:100], f"is not a field of a connection{did_you_mean(str(name), FIELDS)}")
        for name in given
        if name not in FIELDS
    ]
    kind = _kind(given, kinds, before, problems)
    if kind is None:
        raise FieldsInvalid(problems)
    settings = _merged(given, "settings", before.settings if before else {}, problems)
    credentials = _object(given, "credentials", problems)
    problems += _problems_of_values(kind, settings, credentials, before)
    draft = ConnectionDraft(
        name=_name(given, before, problems),
        channel=_channel(given, kind, before, problems),
        kind=kind,
        settings=settings,
        credentials=credentials,
        limits=_limits(given, before, problems),
        position=_number(given, "position", before.position if before else None, problems),
        weight=_number(given, "weight", before.weight if before else 1, problems) or 1,
        is_sticky=_flag(given, "sticky", before.is_sticky if before else False, problems),
        is_enabled=_flag(given, "enabled", before.is_enabled if before else True, problems),
    )
    if problems:
        raise FieldsInvalid(problems)
    return draft


def _kind(
    given: Given, kinds: Mapping[str, ProviderKind], before: WorkspaceConnection | None, problems: list[Problem]
) -> ProviderKind | None:
    name = given.get("provider", before.kind if before else None)
    known = ", ".join(sorted(kinds))
    if before and name != before.kind:
        problems.append(Problem("provider", f"is {before.kind} and cannot change: add another connection"))
    elif name is None:
        problems.append(Problem("provider", f"is missing: use one of {known}"))
    elif not isinstance(name, str) or name not in kinds:
        meant = did_you_mean(name, kinds) if isinstance(name, str) else ""
        problems.append(Problem("provider", f"{quoted(name)} is unknown{meant}; use one of {known}"))
    else:
        return kinds[name]
    return None


def _name(given: Given, before: WorkspaceConnection | None, problems: list[Problem]) -> str:
    name = given.get("name", before.name if before else None)
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    said = "is missing" if name is None else f"{quoted(name)} will not do"
    problems.append(Problem("name", f"{said}: use 1 to 63 lower-case letters, digits and hyphens, such as resend-eu"))
    return ""


def _channel(given: Given, kind: ProviderKind, before: WorkspaceConnection | None, problems: list[Problem]) -> Channel:
    only = kind.channels[0] if len(kind.channels) == 1 else None
    channel = given.get("channel", before.channel if before else only)
    if before and channel != before.channel:
        problems.append(Problem("channel", f"is {before.channel} and cannot change: add another connection"))
    elif channel not in kind.channels:
        said = "is missing" if channel is None else f"{quoted(channel)} is not served by {kind.name}"
        problems.append(Problem("channel", f"{said}: use one of {', '.join(kind.channels)}"))
    else:
        return Channel(str(channel))
    return MESSAGE_CHANNELS[0]


def _object(given: Given, place: str, problems: list[Problem]) -> dict[str, Any]:
    found = given.get(place, {})
    if isinstance(found, Mapping):
        return {str(name): value for name, value in found.items()}
    problems.append(Problem(place, f"{quoted(found)} is no object: give names with values"))
    return {}


def _merged(given: Given, place: str, before: Mapping[str, Value], problems: list[Problem]) -> dict[str, Value]:
    """Return what was there with what is given; null takes a value away."""
    together = {**before, **_object(given, place, problems)}
    return {name: value for name, value in together.items() if value is not None}


def _problems_of_values(
    kind: ProviderKind,
    settings: Mapping[str, Value],
    credentials: Mapping[str, object],
    before: WorkspaceConnection | None,
) -> list[Problem]:
    kept = {name for name in (before.credential_names if before else ()) if credentials.get(name, "") is not None}
    problems = kind.problems_of(settings, credentials, stored=kept)
    if before and (moved := _moved(kind, before.settings, settings)) and kept - credentials.keys():
        names = ", ".join(sorted(kept - credentials.keys()))
        why = f"settings.{moved} says where they are sent"
        problems.append(Problem("credentials", f"give {names} anew: {why}, and stored ones go nowhere else"))
    return problems


def _moved(kind: ProviderKind, before: Mapping[str, Value], after: Mapping[str, Value]) -> str | None:
    """The first setting with another value that says where credentials are sent."""
    old, new = kind.filled(before), kind.filled(after)
    return next((name for name in sorted(kind.addresses) if old.get(name) != new.get(name)), None)


def _number(given: Given, place: str, before: int | None, problems: list[Problem]) -> int | None:
    value = given.get(place, before)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_BESIDE):
        return value
    problems.append(Problem(place, f"{quoted(value)} will not do: use a whole number from 1 to {MOST_BESIDE:,}"))
    return None


def _flag(given: Given, place: str, before: bool, problems: list[Problem]) -> bool:
    value = given.get(place, before)
    if isinstance(value, bool):
        return value
    problems.append(Problem(place, f"{quoted(value)} will not do: use true or false"))
    return before


def _limits(given: Given, before: WorkspaceConnection | None, problems: list[Problem]) -> SendingLimits:
    """Read the limits, which replace those before as a whole."""
    known = before.limits if before else NO_LIMITS
    if "limits" not in given:
        return known
    try:
        limits = msgspec.convert(given["limits"] or {}, SendingLimits)
    except msgspec.ValidationError as error:
        names = ", ".join(one.encode_name for one in msgspec.structs.fields(SendingLimits))
        problems.append(Problem("limits", f"{error}: give an object with some of {names}"))
        return known
    problems += problems_of_limits(limits)
    return limits


def problems_of_limits(limits: SendingLimits) -> list[Problem]:
    """Return what is wrong with limits: numbers out of their range, domains that are none, too many of either."""
    found = _problems_of_rates("limits", limits)
    if limits.concurrency is not None:
        found += _problem_of_number("limits.concurrency", limits.concurrency, 10_000)
    if len(limits.per_domain) > MOST_DOMAINS:
        found.append(Problem("limits.perDomain", f"names {len(limits.per_domain)} domains; use at most {MOST_DOMAINS}"))
    for domain, rates in limits.per_domain.items():
        if not _DOMAIN.fullmatch(domain) or len(domain) > 253:
            found.append(Problem("limits.perDomain", f"{quoted(domain)} is no domain such as example.com, nor *"))
        found += _problems_of_rates(f"limits.perDomain.{domain[:100]}", rates)
    if len(limits.warm_up) > MOST_WARM_UP_DAYS:
        found.append(Problem("limits.warmUp", f"has {len(limits.warm_up)} days; use at most {MOST_WARM_UP_DAYS}"))
    for day, most in enumerate(limits.warm_up[:MOST_WARM_UP_DAYS]):
        found += _problem_of_number(f"limits.warmUp[{day}]", most)
    return found


def _problems_of_rates(place: str, rates: RateLimits) -> list[Problem]:
    given = {"perSecond": rates.per_second, "perMinute": rates.per_minute, "perDay": rates.per_day}
    return [
        one for name, most in given.items() if most is not None for one in _problem_of_number(f"{place}.{name}", most)
    ]


def _problem_of_number(place: str, given: int, most: int = MOST) -> list[Problem]:
    return [] if 1 <= given <= most else [Problem(place, f"{given} will not do: use a number from 1 to {most:,}")]


def left_after(credentials: Mapping[str, str], given: Mapping[str, str | None]) -> dict[str, str]:
    """Return stored credentials with those given in their place; None takes one away."""
    together = {**credentials, **given}
    return {name: value for name, value in together.items() if value is not None}


def names_after(names: Collection[str], given: Mapping[str, str | None]) -> list[str]:
    """Return which credentials are set once those given are."""
    return sorted(left_after(dict.fromkeys(names, ""), given))
