"""The database's address: what is wrong with a malformed one, and how a good one is shown without its password."""

import re
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from tidings.domain.errors import ConfigInvalid

_START = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST = re.compile(r"(\[[^\[\]]+\]|[^:\[\]]*)(:(?P<port>[^:]*))?")
_HARMLESS = frozenset({"host", "port", "user", "dbname", "database", "sslmode", "target_session_attrs"})


def checked_address(given: str) -> str:
    """Return the address as the driver takes it; refuse a malformed one and quote nothing of it.

    With a character too many or too few, any part of it may be the password.
    """
    address = given.strip()
    problem = _problem(address)
    if problem:
        raise malformed(problem)
    return address


def malformed(problem: str) -> ConfigInvalid:
    """Return the refusal of an address."""
    return ConfigInvalid(
        f"DATABASE_URL {problem}; write it like postgresql://user:password@host:5432/database, "
        "with / ? # @ : in the user and the password as %2F %3F %23 %40 %3A"
    )


def without_password(address: str) -> str:
    """Return a checked address as it may be shown: no password, and of its options only those that hold none."""
    parts = urlsplit(address)
    login, at, hosts = parts.netloc.rpartition("@")
    user = re.split(":|%3a", login, maxsplit=1, flags=re.IGNORECASE)[0]
    options = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name in _HARMLESS], safe="/")
    return f"{parts.scheme}://{user}{at}{hosts}{parts.path}" + (f"?{options}" if options else "")


def _problem(address: str) -> str | None:
    if not _START.match(address):
        return "does not begin with postgresql://"
    if _CONTROL.search(address):
        return "has a line break or another control character in it"
    if "#" in address:
        return "has a # in it"
    try:
        parts = urlsplit(address)
    except ValueError:
        return "has a host that cannot be read"
    return _problem_of_hosts(parts.netloc) or _problem_of_rest(parts)


def _problem_of_hosts(netloc: str) -> str | None:
    if netloc.count("@") > 1:
        return "has more than one @"
    hosts = netloc.rpartition("@")[2].split(",")
    if len(hosts) > 1 and not all(hosts):
        return "has a comma without a host beside it"
    found = [_HOST.fullmatch(host) for host in hosts]
    if not all(found):
        return "has a host that cannot be read"
    ports = [one["port"] for one in found if one and one["port"] is not None]
    if not all(re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65_536 for port in ports):
        return "has a port that is not a number from 1 to 65535"
    return None


def _problem_of_rest(parts: SplitResult) -> str | None:
    if "@" in parts.path and "@" not in parts.netloc:
        return "has an @ after its first /"
    if not all("=" in option for option in parts.query.split("&") if option):
        return "has an option without = after its ?"
    return None
