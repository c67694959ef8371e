"""Keeps pydantic out of commands that do not need it.

typer has pydantic convert every value, and importing it takes as long as everything else of a command. What was not
typed, and what is of its type already, needs no converting; all else, and every complaint, stays typer's. If typer
changes where it keeps its converters, it converts everything again.
"""

from typing import Any

from typer.core import TyperCommand, TyperGroup

CONVERTER = "_runtime_param"
"""The attribute of a parameter that typer fills when it first converts a value."""


class Plain:
    """A converter that leaves plain values as they are, and makes way for typer's own at the first other one."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value for a command's function; typer asks for it by this name."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        wanted = param.type_descriptor.annotation
        if isinstance(wanted, type) and isinstance(value, wanted):
            return value
        setattr(param, CONVERTER, None)
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class PlainCommand(TyperCommand):
    """A command that converts only what need be."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options and arguments, with --help."""
        return _leaving_plain_values(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group that converts only what need be."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its own options, with --help."""
        return _leaving_plain_values(super().get_params(ctx))


def _leaving_plain_values(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, CONVERTER, None) is None:
            setattr(param, CONVERTER, Plain())
    return params
