"""Connections that the settings describe: those of the workspace of the first key. Reached from wiring.py."""

import re
from collections.abc import Mapping

from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, ProblemsFound
from tidings.domain.flow.ids import Workspace
from tidings.resources.connections import Connections

_VARIABLE = re.compile(r"\$[A-Z][A-Z0-9_]*")
Described = Mapping[str, Mapping[str, object]]


async def declare_connections(connections: Connections, described: Described, environ: Mapping[str, str]) -> None:
    """Have the connections be as they are described; raise ConfigInvalid where one cannot be."""
    caller = Caller(Workspace(), "settings")
    for name, given in described.items():
        try:
            await connections.declare(caller, name, _with_variables(name, given, environ))
        except ProblemsFound as error:
            raise ConfigInvalid(f"TIDINGS_CONNECT: connection {name!r}: {error}") from error


def _with_variables(name: str, given: Mapping[str, object], environ: Mapping[str, str]) -> Mapping[str, object]:
    """Return a connection with its credentials: `$NAME` is what the environment has under that name."""
    credentials = given.get("credentials", {})
    if not isinstance(credentials, Mapping):
        return given
    return {
        **given,
        "credentials": {str(key): _filled(name, key, value, environ) for key, value in credentials.items()},
    }


def _filled(name: str, key: object, value: object, environ: Mapping[str, str]) -> object:
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if value[1:] not in environ:
        # A password may begin with $, too: only what looks like a variable's name is repeated.
        shown = value if _VARIABLE.fullmatch(value) else "a variable (it begins with $)"
        raise ConfigInvalid(f"TIDINGS_CONNECT: connection {name!r} takes {key} from {shown}, which is not set")
    return environ[value[1:]]
