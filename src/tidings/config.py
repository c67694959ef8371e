"""One frozen Config: a setting is a flag, an environment variable or a key in tidings.toml; the first given wins."""

import json
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any, TypeVar

from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.queue import Lane
from tidings.domain.flow.retry import OUTAGE_PATIENCE
from tidings.domain.messages import shown_number
from tidings.domain.people.oidc import OidcLogin, read_login
from tidings.domain.people.region import read_region
from tidings.domain.workspace_patterns import workspace_patterns

Choice = TypeVar("Choice", bound=StrEnum)

PREFIX = "TIDINGS_"
CREDENTIAL_PREFIX = "TIDINGS_CREDENTIAL_"
"""How the variables begin from which a new connection's credentials are taken."""
OTHER_VARIABLES = frozenset(
    {
        *("TIDINGS_URL", "TIDINGS_KEY"),  # the Python client's
        "TIDINGS_CRASH_AT",  # where a worker dies in a chaos test
        "TIDINGS_TEST_API",  # and the rest the test suite's
        *("TIDINGS_TEST_RUN", "TIDINGS_TEST_SIMULATE_ON", "TIDINGS_TEST_SUPABASE"),
        *("TIDINGS_TEST_OWNER_URL", "TIDINGS_TEST_APP_URL", "TIDINGS_TEST_TYPESCRIPT"),
        *("TIDINGS_TEST_WEB", "TIDINGS_CHROMIUM"),
    }
)
"""Every variable with our prefix that is not a setting."""

# What Kubernetes tells each pod about a Service whose name begins with "tidings".
_INJECTED = re.compile(
    r"TIDINGS(_[A-Z0-9_]+)?_"
    r"(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_PAGE_URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
_INJECTED_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


OUTAGE_HOURS: Mapping[Lane, float] = {
    lane: patience.total_seconds() / 3600 for lane, patience in OUTAGE_PATIENCE.items()
}


class RowSecurity(StrEnum):
    """Whether the database itself keeps a request to the rows of its workspace."""

    OFF = "off"
    FORCE = "force"


class LogFormat(StrEnum):
    """How log lines look."""

    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, checked."""

    database_url: str | None = field(default=None, repr=False)
    database_url_file: Path | None = None
    owner_database_url: str | None = field(default=None, repr=False)
    row_security: RowSecurity = RowSecurity.OFF
    data_dir: Path | None = None
    pg_bin: Path | None = None
    allow_unsafe_storage: bool = False
    shards: int = 4
    connections: int = 10
    smtp_url: str | None = field(default=None, repr=False)
    phone_region: str | None = None
    print: bool = False
    functions_url: str | None = None
    functions_key: str | None = field(default=None, repr=False)
    functions_for: tuple[str, ...] = ("default/default",)
    functions_signing_secret: str | None = field(default=None, repr=False)
    allow_private_addresses: bool = False
    secret_key: str | None = field(default=None, repr=False)
    lease_seconds: float = 300
    call_seconds: float = 60
    connect: Mapping[str, Mapping[str, object]] = field(default_factory=dict, repr=False)
    provider_concurrency: Mapping[str, int] = field(default_factory=dict)
    outage_hours: Mapping[Lane, float] = field(default_factory=lambda: OUTAGE_HOURS)
    doubt_policy: DoubtPolicy = DoubtPolicy.HOLD
    processes: int = 1
    batch: int = 100
    lanes: tuple[Lane, ...] = tuple(Lane)
    poll_seconds: float = 5
    host: str = "127.0.0.1"
    port: int = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None
    forwarded_allow_ips: tuple[str, ...] = ()
    max_connections: int = 0
    max_connections_per_address: int = 0
    admin_key: str | None = field(default=None, repr=False)
    rate_limit: float = 5_000
    public_url: str | None = None
    session_idle_hours: float = 24
    session_hours: float = 336
    oidc: Mapping[str, OidcLogin] = field(default_factory=dict, repr=False)
    log_format: LogFormat = LogFormat.CONSOLE


def read_config(**flags: object) -> Config:
    """Return the settings of this process: these flags, its environment, and tidings.toml in its working directory."""
    return load_config(flags, os.environ, Path.cwd())


def load_config(flags: Mapping[str, object], environ: Mapping[str, str], directory: Path) -> Config:
    """Gather every setting from where it was given first, and refuse what cannot be used."""
    path = directory / "tidings.toml"
    file = _read_file(path)
    environ = {name: value for name, value in environ.items() if not _is_injected(name, value)}
    _require_known(file, environ)
    given: dict[str, Any] = {}
    for name in _READERS:
        for source, value in _sources(name, flags, environ, file):
            given[name] = _READERS[name](source, value)
            break
    if "database_url" not in given and (kept := given.get("database_url_file")):
        given["database_url"] = _kept_address(kept)
    if any(_is_secret(name, value) for name, value in file.items()):
        _warn_if_others_may_read(path)
    return Config(**given)


def _kept_address(path: Path) -> str:
    """Read the database's address from a file, such as a container is handed its secrets in."""
    try:
        return _secret(str(path), path.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{variable('database_url_file')} cannot be read: {error}") from error


def variable(name: str) -> str:
    """Return the environment variable of a setting; the database's is the one every platform sets."""
    return "DATABASE_URL" if name == "database_url" else f"{PREFIX}{name.upper()}"


def _is_injected(name: str, value: str) -> bool:
    """Whether Kubernetes set this variable; TIDINGS_PORT is its own or ours, as its value shows."""
    if name.startswith(PREFIX) and name.endswith("_PORT") and _INJECTED_ADDRESS.match(value):
        return True
    return _INJECTED.fullmatch(name) is not None


def _require_known(file: Iterable[str], environ: Iterable[str]) -> None:
    """Refuse an unknown key or variable: a misspelt one would be silent."""
    for key in sorted(set(file) - _READERS.keys()):
        raise ConfigInvalid(f"tidings.toml has {key!r}, which is not a setting; {_meant(key, str)}")
    known = OTHER_VARIABLES.union(map(variable, _READERS))
    for name in sorted(name for name in set(environ) - known if not name.startswith(CREDENTIAL_PREFIX)):
        if name.upper().startswith(PREFIX):  # on most systems tidings_port is another variable than TIDINGS_PORT
            raise ConfigInvalid(f"{name} is not a setting; {_meant(name[len(PREFIX) :], variable)}")


def _meant(given: str, written: Callable[[str], str]) -> str:
    nearest = get_close_matches(given.lower(), _READERS, n=1)
    if nearest:
        return f"did you mean {written(nearest[0])}?"
    return f"use one of {', '.join(written(name) for name in sorted(_READERS))}"


def _is_secret(name: str, value: object) -> bool:
    """Whether a value must not be read by others: a key, or a URL with a password."""
    if _READERS[name] is not _secret:
        return name == "oidc" and "client_secret" in str(value)
    if not name.endswith("_url"):
        return True
    login = str(value).partition("?")[0].rpartition("@")[0].partition("://")[2]
    return ":" in login or "password" in str(value).lower()


@cache  # once in each process, however many engines it opens
def _warn_if_others_may_read(path: Path) -> None:
    if os.name != "posix":
        return  # elsewhere the mode says nothing about who may read
    found = path.stat()
    is_ours = found.st_uid == os.geteuid()
    # A group that may read another's file is how a service gets one; of our own file it is an oversight.
    if found.st_mode & (0o044 if is_ours else 0o004):
        owner = "" if is_ours else "make the user that runs Tidings its owner and "
        sys.stderr.write(
            f"tidings: warning: {path} holds secrets and others may read it; {owner}run chmod 600 {path}\n"
        )


def _sources(
    name: str, flags: Mapping[str, object], environ: Mapping[str, str], file: Mapping[str, object]
) -> list[tuple[str, object]]:
    candidates = [
        (f"--{name.replace('_', '-')}", flags.get(name)),
        (variable(name), environ.get(variable(name)) or None),
        (f"tidings.toml: {name}", file.get(name)),
    ]
    return [(source, value) for source, value in candidates if value is not None]


def _read_file(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigInvalid(f"{path} cannot be read: {error}") from error


def _text(source: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigInvalid(f"{source} is {value!r}; write a string, in quotes")
    return _not_empty(source, value)


def _secret(source: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigInvalid(f"{source} is not a string; write it in quotes")  # its value may be a secret all the same
    return _not_empty(source, value)


def _not_empty(source: str, value: str) -> str:
    """Refuse what a shell makes of a variable that is not set: the default would be used silently instead."""
    if not value.strip():
        raise ConfigInvalid(f"{source} is empty; write a value, or leave it out")
    return value


def _path(source: str, value: object) -> Path:
    if not isinstance(value, str | Path):
        raise ConfigInvalid(f"{source} is {value!r}; write a path, in quotes")
    try:
        return Path(_not_empty(source, str(value))).expanduser()
    except RuntimeError as error:  # there is no such user, or this user has no home
        raise ConfigInvalid(f"{source} is {str(value)!r}, which begins with an unknown home; write it out") from error


def _region(source: str, value: object) -> str:
    try:
        return read_region(str(value))
    except ValueError as error:
        raise ConfigInvalid(f"{source} is {value!r}; {error}") from None


def _page_url(source: str, value: object) -> str:
    url = _text(source, value).strip().rstrip("/")
    if not _PAGE_URL.fullmatch(url):
        raise ConfigInvalid(
            f"{source} is {value!r}; write where people open the page, like https://tidings.example.com"
        )
    return url


def _flag(source: str, value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    found = words.get(str(value).lower())
    if found is None:
        raise ConfigInvalid(f"{source} is {value!r}; write true or false")
    return found


def _number(least: float, most: float, *, whole: bool = False) -> Callable[[str, object], float]:
    kind = "whole number" if whole else "number"

    def read(source: str, value: object) -> float:
        try:
            number = float(str(value))
        except ValueError:
            number = least - 1
        if not least <= number <= most or (whole and not number.is_integer()):
            bounds = f"from {shown_number(least)} to {shown_number(most)}"
            raise ConfigInvalid(f"{source} is {value!r}; write a {kind} {bounds}")
        return number

    return read


def _whole(least: int, most: int) -> Callable[[str, object], int]:
    read = _number(least, most, whole=True)
    return lambda source, value: int(read(source, value))


def _choice(kind: type[Choice]) -> Callable[[str, object], Choice]:
    def read(source: str, value: object) -> Choice:
        try:
            return kind(str(value).lower())
        except ValueError as error:
            raise ConfigInvalid(f"{source} is {value!r}; use one of {', '.join(kind)}") from error

    return read


def _lanes(source: str, value: object) -> tuple[Lane, ...]:
    names = [str(name) for name in value] if isinstance(value, list | tuple) else str(value).split(",")
    known = {lane.name.lower(): lane for lane in Lane}
    unknown = [name for name in names if name.strip().lower() not in known]
    if unknown or not names:
        what = f"has {unknown[0]!r}" if unknown else "is empty"
        raise ConfigInvalid(f"{source} {what}; use some of {', '.join(known)}")
    return tuple(dict.fromkeys(known[name.strip().lower()] for name in names))


def _workspaces(source: str, value: object) -> tuple[str, ...]:
    """A list, or patterns with commas between: which workspaces something is for."""
    given = [str(one) for one in value] if isinstance(value, list | tuple) else str(value).split(",")
    try:
        workspace_patterns(given)
    except ValueError as error:
        raise ConfigInvalid(
            f"{source} has {str(error)!r}; write a tenant and a workspace like default/default,acme/*, or */* for all"
        ) from error
    return tuple(one.strip() for one in given)


def _addresses(source: str, value: object) -> tuple[str, ...]:
    """IP addresses and networks with commas between, or a list of them."""
    given = [str(one) for one in value] if isinstance(value, list | tuple) else str(value).split(",")
    for one in given:
        try:
            ip_network(one.strip(), strict=False)
        except ValueError as error:
            raise ConfigInvalid(
                f"{source} has {one.strip()!r}; write the proxy's addresses or networks, such as 10.0.0.7,172.16.0.0/12"
            ) from error
    return tuple(one.strip() for one in given)


def _provider_concurrency(source: str, value: object) -> Mapping[str, int]:
    """A table, or `name=number` with commas between: the calls of each provider under way over all workers."""
    pairs = _pairs(source, value, like="smtp=20,functions=50")
    return {name: _whole(1, 100_000)(f"{source} for {name}", number) for name, number in pairs}


def _connect(source: str, value: object) -> Mapping[str, Mapping[str, object]]:
    """Tables by the names of connections, or the same as JSON; what a value says is not repeated: it may be a key."""
    return _tables(source, value, "connections", "connect.NAME", '{"resend-eu": {"provider": "resend"}}')


def _tables(source: str, value: object, what: str, table: str, like: str) -> Mapping[str, Mapping[str, object]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, Mapping) or not all(isinstance(one, Mapping) for one in value.values()):
        raise ConfigInvalid(f"{source} describes no {what}: write a table [{table}] for each, or JSON like {like}")
    return {str(name): dict(one) for name, one in value.items()}


def _oidc(source: str, value: object) -> Mapping[str, OidcLogin]:
    """Tables by the names of logins, or the same as JSON; what a value says is not repeated: it may be a secret."""
    found: dict[str, OidcLogin] = {}
    for name, one in _tables(source, value, "logins", "oidc.NAME", '{"company": {"issuer": "https://…"}}').items():
        try:
            found[name] = read_login(name, one)
        except ValueError as error:
            raise ConfigInvalid(f"{source} has {name!r}, which {error}") from error
    return found


def _outage_hours(source: str, value: object) -> Mapping[Lane, float]:
    """One number for all lanes, or a table, or `lane=number` with commas between; other lanes keep their own."""
    read = _number(0, 24 * 365)
    if not isinstance(value, Mapping) and "=" not in str(value):
        return dict.fromkeys(OUTAGE_HOURS, read(source, value))
    pairs, known = (
        _pairs(source, value, like="transactional=6,campaigns=48"),
        {lane.name.lower(): lane for lane in OUTAGE_HOURS},
    )
    if unknown := [name for name, _ in pairs if name.lower() not in known]:
        raise ConfigInvalid(f"{source} has {unknown[0]!r}; use some of {', '.join(known)}")
    return {**OUTAGE_HOURS, **{known[name.lower()]: read(f"{source} for {name}", hours) for name, hours in pairs}}


def _pairs(source: str, value: object, like: str) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        pairs = [(str(name), number) for name, number in value.items()]
    else:
        pairs = [
            (name.strip(), number.strip()) for name, _, number in (one.partition("=") for one in str(value).split(","))
        ]
    for name, number in pairs:
        if not name or not str(number):
            raise ConfigInvalid(f"{source} has {f'{name}={number}'!r}; write it like {like}")
    if repeated := [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]:
        raise ConfigInvalid(f"{source} names {repeated[0]!r} twice; give each one number")
    return pairs


_READERS: Mapping[str, Callable[[str, object], object]] = {
    "database_url": _secret,
    "database_url_file": _path,
    "owner_database_url": _secret,
    "row_security": _choice(RowSecurity),
    "data_dir": _path,
    "pg_bin": _path,
    "allow_unsafe_storage": _flag,
    "shards": _whole(1, 4096),
    "connections": _whole(2, 1000),
    "smtp_url": _secret,
    "phone_region": _region,
    "print": _flag,
    "functions_url": _text,
    "functions_key": _secret,
    "functions_for": _workspaces,
    "functions_signing_secret": _secret,
    "allow_private_addresses": _flag,
    "secret_key": _secret,
    "lease_seconds": _number(0.5, 86_400),
    "call_seconds": _number(0.1, 3_600),
    "connect": _connect,
    "provider_concurrency": _provider_concurrency,
    "outage_hours": _outage_hours,
    "doubt_policy": _choice(DoubtPolicy),
    "processes": _whole(1, 256),
    "batch": _whole(1, 10_000),
    "lanes": _lanes,
    "poll_seconds": _number(0.05, 300),
    "host": _text,
    "port": _whole(0, 65_535),
    "tls_cert": _path,
    "tls_key": _path,
    "forwarded_allow_ips": _addresses,
    "max_connections": _whole(0, 1_000_000),
    "max_connections_per_address": _whole(0, 1_000_000),
    "admin_key": _secret,
    "rate_limit": _number(0, 1_000_000),
    "public_url": _page_url,
    "session_idle_hours": _number(0.01, 8_760),
    "session_hours": _number(0.01, 8_760),
    "oidc": _oidc,
    "log_format": _choice(LogFormat),
}
