"""What a connection is told on the command line: settings as arguments, credentials from anywhere but arguments.

A list of processes shows arguments to everybody on the machine.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidings.cli.given import read_data
from tidings.config import CREDENTIAL_PREFIX
from tidings.domain.errors import InputInvalid

if TYPE_CHECKING:
    from tidings.cli.given import Json
    from tidings.views.connections import KindSetting, ProviderKindView


def read_settings(kind: "ProviderKindView | None", given: Sequence[str] | None) -> dict[str, object]:
    """Return settings by name; a number and a flag are read as the kind says, and nothing after = takes one away."""
    types = {one.name: one.type for one in kind.settings} if kind else {}
    found: dict[str, object] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputInvalid(f"--set {text!r} has no value: write it like --set from=you@example.com")
        found[name] = _value(types.get(name, "text"), value) if value else None
    return found


def _value(kind: str, text: str) -> object:
    if kind == "number" and re.fullmatch("[0-9]{1,10}", text):
        return int(text)
    return {"true": True, "false": False}.get(text, text) if kind == "flag" else text


def read_secrets(
    kind: "ProviderKindView | None", given: Sequence[str] | None, *, asks_for_missing: bool
) -> dict[str, str]:
    """Return credentials by name: from files, and those still needed from the environment or the terminal."""
    found = dict(map(_from_file, given or ()))
    secrets = (
        [one for one in kind.settings if one.secret and one.name not in found] if kind and asks_for_missing else []
    )
    for one in secrets:
        if value := os.environ.get(variable_of(one.name)) or _asked(one):
            found[one.name] = value
    return found


def variable_of(name: str) -> str:
    """Return the environment variable of a credential: TIDINGS_CREDENTIAL_API_KEY for apiKey."""
    return CREDENTIAL_PREFIX + re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def _from_file(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    if not equals or not source.startswith("@"):
        # What stands there may be the secret itself, and is not repeated.
        raise InputInvalid(
            f"--credential {name} must name a file, as in --credential {name}=@FILE or {name}=@-: everybody on this "
            "machine can read arguments"
        )
    try:
        read = sys.stdin.read() if source == "@-" else Path(source[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputInvalid(f"--credential {name}: {source[1:]!r} cannot be read: {error}") from error
    return name, read.strip("\n")


def _asked(setting: "KindSetting") -> str | None:
    if not setting.required or not sys.stdin.isatty():
        return None
    return str(typer.prompt(f"{setting.name} ({setting.doc})", hide_input=True, err=True))


def read_limits(text: str | None) -> "Json | None":
    """Return limits given as JSON."""
    return None if text is None else read_data(text, "--limits")
