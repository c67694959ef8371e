"""Rewrite an error about the API's fields to name the running command's flags: `--in-flight`, not `inFlight`.

Errors come from the domain, which knows fields and no flags. A flag stands for the field of its own name, or for those
in FIELDS; names of fields in a user's own data, a file or JSON stay as they are.
"""

import re
from collections.abc import Mapping, Sequence

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from tidings.cli.answers import camel
from tidings.domain.errors import DataMissing, TidingsError

FIELDS: Mapping[str, Sequence[str]] = {
    "--at": ["scheduledFor"],
    "--campaign": ["campaignId"],
    "--contact": ["contactId", "contactIds", "messagesOf"],
    "--day": ["dayOffset"],
    "--exclude": ["excludeContactIds"],
    "--expires": ["expiresAt"],
    "--from": ["start"],
    "--hour": ["sendHour"],
    "--key": ["idempotencyKey"],
    "--order": ["stepOrder"],
    "--step": ["stepId"],
    "--zone": ["timeZone"],
}
"""The fields that a flag of another name fills in."""
EVERYWHERE = frozenset(["data", "tenant", "workspace", "actor", "databaseUrl", "dataDir", "json", "yes", "limit"])
"""Options that are no field: who asks, where, and how the answer is shown."""
_LISTED = re.compile(r"[\w-]+(?:, [\w-]+)+(?: (?:and|or) [\w-]+)?")
_COMPOUND = re.compile(r"[a-z]+[A-Z]\w*")


def with_flags(error: TidingsError, command: TyperCommand | None, arguments: Sequence[str]) -> str:
    """Return the error's message with the command's flags in place of the fields they fill in."""
    text = " ".join(str(error).split())
    theirs = {*error.required, *error.variables} if isinstance(error, DataMissing) else set()
    for field, option in _options(command, arguments).items():
        if field not in theirs:
            text = _say(text, field, option)
    return text


def running_command(app: object, arguments: Sequence[str]) -> TyperCommand | None:
    """Return the command that these arguments name; groups take no options, so its name comes first."""
    found = app
    for argument in arguments:
        if not isinstance(found, TyperGroup):
            break
        found = found.commands.get(argument)
    return found if isinstance(found, TyperCommand) else None


def _options(command: TyperCommand | None, arguments: Sequence[str]) -> dict[str, TyperOption]:
    """Return a command's options by the fields they fill in; beside a file with fields of its own, only those given."""
    params = command.params if command else []
    has_file = any(isinstance(one, TyperArgument) and one.name in {"file", "files"} for one in params)
    found: dict[str, TyperOption] = {}
    for option in params:
        if not isinstance(option, TyperOption) or (has_file and option.opts[0] not in arguments):
            continue
        flag = option.opts[0]
        fields = [camel(flag.removeprefix("--").replace("-", "_")), *FIELDS.get(flag, [])]
        found |= {field: option for field in fields if field not in EVERYWHERE}
    return found


def _say(text: str, field: str, option: TyperOption) -> str:
    flag, name = option.opts[0], rf"(?<![\w.'\"`-]){field}(?:\[\d+\])?(?![\w.'\"`-])"
    if option.is_flag:
        text = re.sub(rf"\{{{field}: true\}}|{name}: true\b", flag, text)
    text = re.sub(rf"(^|; ){name}(?=:)", rf"\1{flag}", text)  # the place of a problem
    if _COMPOUND.fullmatch(field):
        return re.sub(rf"{name}(?:(:) )?", lambda found: f"{flag} " if found[1] else flag, text)  # inFlight: leave
    return _LISTED.sub(lambda names: _among(names[0], field, flag), text)


def _among(names: str, field: str, flag: str) -> str:
    """A list of fields; words that only look like one have no field of two words among them."""
    return re.sub(rf"(?<![\w-]){field}(?![\w-])", flag, names) if _COMPOUND.search(names) or "--" in names else names
