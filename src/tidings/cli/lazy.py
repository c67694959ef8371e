"""Commands that are imported and built when they are named: whoever runs one of a hundred waits for that one.

A group's own help is known without its commands, so `tidings --help` imports none of the groups.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperGroup
from typer.models import CommandInfo, TyperInfo

from tidings.cli.plain_values import PlainCommand, PlainGroup

Makers = Mapping[str, Callable[[], Any]]
"""By the name of a command or group, what makes it."""


class Made(MutableMapping[str, Any]):
    """The commands of a group by name: found when a name is asked for, and each made when it is asked for itself."""

    def __init__(self, find: Callable[[], Makers]) -> None:
        self._find = find
        self._makers: dict[str, Callable[[], Any]] | None = None
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._found()[name]()
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._found()[name] = lambda: command
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found()[name]
        self._made.pop(name, None)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a command, if there is one; a KeyError of a module that is imported for it is told."""
        if name not in self:
            return default
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found()

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def _found(self) -> dict[str, Callable[[], Any]]:
        if self._makers is None:
            self._makers = dict(self._find())
        return self._makers


class LazyGroup(PlainGroup):
    """The group of all: its commands and groups are those that `find` finds."""

    find: Callable[[], Makers]

    def __init__(self, **described: Any) -> None:
        super().__init__(**described)
        self.commands = Made(self.find)


def group(name: str, about: str, find: Callable[[], Makers]) -> TyperGroup:
    """Return a group that knows what it is about, and finds its commands when one is asked for."""
    described = TyperInfo(typer.Typer(cls=PlainGroup, name=name, help=about, no_args_is_help=True))
    made = typer.main.get_group_from_info(
        described, pretty_exceptions_short=True, suggest_commands=True, rich_markup_mode="rich"
    )
    made.commands = Made(find)
    return made


def commands_in(module: str, app: str = "app") -> Makers:
    """Import a module of commands, and return what makes those of its typer app, and its groups."""
    return _commands_of(getattr(import_module(module), app))


def _commands_of(app: typer.Typer) -> Makers:
    makers: dict[str, Callable[[], Any]] = {_name_of(one): partial(_command, one) for one in app.registered_commands}
    for info in app.registered_groups:
        if info.name and info.typer_instance:
            inner = info.typer_instance
            makers[info.name] = partial(group, info.name, str(inner.info.help), partial(_commands_of, inner))
    return makers


def _name_of(info: CommandInfo) -> str:
    return info.name or typer.main.get_command_name(getattr(info.callback, "__name__", ""))


def _command(info: CommandInfo) -> Any:
    info.cls = PlainCommand
    return typer.main.get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")
