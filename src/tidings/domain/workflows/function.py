"""A function a workflow calls: where it is, and what a host application's own one may raise.

A registered callable is called as `await function(action, payload)`; what it returns is its result. Raising
`FunctionRejected` or `FunctionRetryLater` says which kind of failure it was; what any other exception means depends on
whether the function may be called again (providers/functions.py).
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import quote, urlsplit

from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.messages import quoted
from tidings.domain.names import LONGEST_NAME, problem_of_name
from tidings.domain.private_addresses import NO_PRIVATE_ADDRESSES, PrivateAddresses

BASE = "*"
"""The name under which a workspace keeps the address of all functions that have none of their own."""

FunctionCallable = Callable[..., Awaitable[object] | object]
"""`function(action, payload)`, async or not; one that takes the keyword `idempotency_key` gets it as well."""

_LONGEST_URL = 2_000
_URL_TEXT = re.compile(r"[!-~]+")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_SECRET = re.compile(r"[!-~]{1,4000}")


class FunctionRejected(Exception):
    """Raised by a registered function: it failed for good, and calling it again cannot help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FunctionRetryLater(Exception):
    """Raised by a registered function: it did nothing, and should be called again, after `delay` if given.

    Each time uses an attempt, so it cannot continue for ever.
    """

    def __init__(self, reason: str, delay: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.delay = delay


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where calls go, the bearer token they carry and the secrets that sign them, none of which is ever shown.

    `private` says which private addresses may be called for it, and `hidden` what else no answer may repeat.
    """

    url: str
    secret: str | None = field(default=None, repr=False)
    private: PrivateAddresses = NO_PRIVATE_ADDRESSES
    signing: tuple[str, ...] = field(default=(), repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_url(self.url)
        if self.secret is not None:
            check_secret(self.secret)

    def of_function(self, name: str) -> "Endpoint":
        """The address of one function below this base."""
        return replace(self, url=f"{self.url.rstrip('/')}/functions/v1/{quote(name, safe='')}")

    @property
    def host(self) -> str:
        """The host and port that calls go to."""
        parts = urlsplit(self.url)
        return f"{(parts.hostname or '').rstrip('.')}:{parts.port or (443 if parts.scheme == 'https' else 80)}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What an answer must not repeat; a signing secret also without its prefix."""
        bare = (secret.partition("_")[2] for secret in self.signing)
        return tuple(filter(None, (self.secret, *self.signing, *bare, *self.hidden)))


Directory = Callable[[Workspace, str], Awaitable[Endpoint | None]]
"""Return the endpoint of a workspace's function, or None when there is neither an address nor a base for it."""


def check_url(url: str) -> None:
    """Refuse an address that calls must not go to, whatever it resolves to; credentials in it are not quoted."""
    problem = _problem_of(url)
    if problem:
        raise InputInvalid(f"the URL of a function {problem}; write it like https://example.com/functions/v1/send")


def _problem_of(url: str) -> str | None:
    if not _URL_TEXT.fullmatch(url) or len(url) > _LONGEST_URL:
        return f"must be 1 to {_LONGEST_URL} printable ASCII characters without blanks"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "cannot be read"
    if parts.scheme not in {"http", "https"}:
        return "must begin with http:// or https://"
    if "@" in parts.netloc:
        return "must not carry a user name or a password"
    if not _HOST.fullmatch(parts.netloc if port is None else parts.netloc.rpartition(":")[0]) or port == 0:
        return "names no host that can be looked up"
    return "must not have a fragment" if "#" in url else None


def problem_of_function(name: str) -> str | None:
    """Why no URL can carry a name as one step of its path, so that it can never be called; None when one can."""
    if name in {".", ".."} or not name.isprintable() or problem_of_name(name):
        return (
            f"{quoted(name)} is no name for a function; use 1 to {LONGEST_NAME} characters that can be seen, not dots"
        )
    return None


def check_name(name: str) -> None:
    """Refuse a name that no call can carry."""
    if wrong := problem_of_function(name):
        raise InputInvalid(wrong)


def check_secret(secret: str) -> None:
    """Refuse what no header can carry, without repeating it."""
    if not _SECRET.fullmatch(secret):
        raise InputInvalid("the secret of a function must be 1 to 4000 printable ASCII characters without blanks")
