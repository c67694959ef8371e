"""One frozen Config: a setting is a flag, an environment variable or a key in tidings.toml; the first given wins."""

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from tidings.domain.doubt import DoubtPolicy
from tidings.domain.errors import ConfigInvalid
from tidings.domain.messages import shown_number
from tidings.domain.queue import Lane

Choice = TypeVar("Choice", bound=StrEnum)


class LogFormat(StrEnum):
    """How log lines look."""

    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, checked."""

    database_url: str | None = field(default=None, repr=False)
    data_dir: Path | None = None
    pg_bin: Path | None = None
    allow_unsafe_storage: bool = False
    shards: int = 4
    connections: int = 10
    smtp_url: str | None = field(default=None, repr=False)
    functions_url: str | None = None
    functions_key: str | None = field(default=None, repr=False)
    allow_private_addresses: bool = False
    secret_key: str | None = field(default=None, repr=False)
    lease_seconds: float = 300
    call_seconds: float = 60
    provider_concurrency: Mapping[str, int] = field(default_factory=dict)
    doubt_policy: DoubtPolicy = DoubtPolicy.HOLD
    processes: int = 1
    batch: int = 100
    lanes: tuple[Lane, ...] = tuple(Lane)
    poll_seconds: float = 5
    host: str = "127.0.0.1"
    port: int = 8080
    admin_key: str | None = field(default=None, repr=False)
    rate_limit: float = 5_000
    log_format: LogFormat = LogFormat.CONSOLE


def load_config(flags: Mapping[str, object], environ: Mapping[str, str], directory: Path) -> Config:
    """Gather every setting from where it was given first, and refuse what cannot be used."""
    file = _read_file(directory / "tidings.toml")
    known = {one.name for one in fields(Config)}
    unknown = sorted(file.keys() - known)
    if unknown:
        raise ConfigInvalid(
            f"tidings.toml has {unknown[0]!r}, which is no setting; use one of {', '.join(sorted(known))}"
        )
    given: dict[str, Any] = {}
    for name in known:
        for source, value in _sources(name, flags, environ, file):
            given[name] = _READERS[name](source, value)
            break
    return Config(**given)


def variable(name: str) -> str:
    """The environment variable of a setting; the database's is the one every platform sets."""
    return "DATABASE_URL" if name == "database_url" else f"TIDINGS_{name.upper()}"


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
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigInvalid(f"{path} cannot be read: {error}") from error


def _text(source: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigInvalid(f"{source} is {value!r}; write a text")
    return value


def _secret(source: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigInvalid(f"{source} is no text; write it in quotes")  # not quoted: it is a secret all the same
    return value


def _path(source: str, value: object) -> Path:
    if not str(value):
        raise ConfigInvalid(f"{source} is empty; write a path")
    return Path(str(value)).expanduser()


def _flag(source: str, value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    found = words.get(str(value).lower())
    if found is None:
        raise ConfigInvalid(f"{source} is {value!r}; write true or false")
    return found


def _number(least: float, most: float) -> Callable[[str, object], float]:
    def read(source: str, value: object) -> float:
        try:
            number = float(str(value))
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            bounds = f"from {shown_number(least)} to {shown_number(most)}"
            raise ConfigInvalid(f"{source} is {value!r}; write a number {bounds}")
        return number

    return read


def _whole(least: int, most: int) -> Callable[[str, object], int]:
    def read(source: str, value: object) -> int:
        number = _number(least, most)(source, value)
        if number != int(number):
            raise ConfigInvalid(f"{source} is {value!r}; write a whole number")
        return int(number)

    return read


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


def _provider_concurrency(source: str, value: object) -> Mapping[str, int]:
    """A table, or `name=number` with commas between: the calls of each provider in the air over all workers."""
    if isinstance(value, Mapping):
        pairs = [(str(name), number) for name, number in value.items()]
    else:
        pairs = [
            (name.strip(), number.strip()) for name, _, number in (one.partition("=") for one in str(value).split(","))
        ]
    for name, number in pairs:
        if not name or not str(number):
            raise ConfigInvalid(f"{source} has {f'{name}={number}'!r}; write it like smtp=20,functions=50")
    if repeated := [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]:
        raise ConfigInvalid(f"{source} names {repeated[0]!r} twice; give each provider one number")
    return {name: _whole(1, 100_000)(f"{source} for {name}", number) for name, number in pairs}


_READERS: Mapping[str, Callable[[str, object], object]] = {
    "database_url": _secret,
    "data_dir": _path,
    "pg_bin": _path,
    "allow_unsafe_storage": _flag,
    "shards": _whole(1, 4096),
    "connections": _whole(2, 1000),
    "smtp_url": _secret,
    "functions_url": _text,
    "functions_key": _secret,
    "allow_private_addresses": _flag,
    "secret_key": _secret,
    "lease_seconds": _number(0.5, 86_400),
    "call_seconds": _number(0.1, 3_600),
    "provider_concurrency": _provider_concurrency,
    "doubt_policy": _choice(DoubtPolicy),
    "processes": _whole(1, 256),
    "batch": _whole(1, 10_000),
    "lanes": _lanes,
    "poll_seconds": _number(0.05, 300),
    "host": _text,
    "port": _whole(0, 65_535),
    "admin_key": _secret,
    "rate_limit": _number(0, 1_000_000),
    "log_format": _choice(LogFormat),
}
