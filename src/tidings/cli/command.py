"""One way to write a command: an async function that says what is its own, and returns what it found.

Its first parameter is a kind from opened.py: the options of that kind are added, and what they name is opened. The
others are its own options, as typer knows them; a parameter whose type is a dataclass stands for the options that are
its fields. What the function returns is printed for people by `shows`, or with --json for scripts.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_args

import typer

from tidings.cli.opened import Called, Configured, Opened, opened
from tidings.cli.options import AppReference, Read, Shared, Yes
from tidings.cli.output import print_json, print_line
from tidings.cli.running import config_from, run

Result = TypeVar("Result")
Function = Callable[..., Awaitable[Result]]


class Refused(Exception):
    """Everything that is wrong with what a command was given: a line for each, or one answer for scripts."""

    def __init__(self, lines: Sequence[str], answer: object) -> None:
        super().__init__("; ".join(lines))
        self.lines, self.answer = lines, answer


def already_shown(_: object) -> None:
    """Show nothing: the `shows` of a command that prints as it goes, for people and for scripts."""


def command(
    app: typer.Typer,
    name: str | None = None,
    *,
    shows: Callable[[Result], None],
    answers: Callable[[Result], object] | None = None,
    fails: Callable[[Result], bool] | None = None,
    asks: Callable[..., str | None] | None = None,
    with_app: bool = False,
) -> Callable[[Function[Result]], Function[Result]]:
    """Make an async function a command of `app`, under its own name or this one.

    `shows` prints the result for people, and `answers` makes of it what JSON says, unless that is the result. The exit
    status is 1 if it `fails`. `asks` makes of the own options a question that must be confirmed first, unless --yes is
    given. `with_app` opens the engine with a host application.
    """

    def register(function: Function[Result]) -> Function[Result]:
        kind, own = _parameters(function)

        def started(**typed: Any) -> None:
            try:
                result = _result(function, kind, own, asks, typed)
            except Refused as refused:
                _refuse(refused, as_json=typed["as_json"])
                raise typer.Exit(1) from None
            if typed["as_json"] and shows is not already_shown:
                print_json(answers(result) if answers else result)
            else:
                shows(result)
            if fails and fails(result):
                raise typer.Exit(1)

        more = [_parameter("yes", Yes, False)] if asks else []
        more += [_parameter("with_app", AppReference, None)] if with_app else []
        _describe(started, function, [*_own(own), *more, *_shared(kind)])
        app.command(name)(started)
        return function

    return register


def _result(
    function: Function[Result],
    kind: type[Called],
    own: Sequence[Parameter],
    asks: Callable[..., str | None] | None,
    typed: Mapping[str, Any],
) -> Result:
    """Read what was typed, ask, and run the function, in this order."""
    given = {one.name: _read(one, typed) for one in own}
    question = asks(**given) if asks and not typed["yes"] else None
    if question:
        typer.confirm(question, abort=True, err=True)
    shared = Shared(**{option: typed[option] for option in kind.OPTIONS})
    return run(lambda: _run(function, kind, shared, given, typed.get("with_app")))


def _refuse(refused: Refused, *, as_json: bool) -> None:
    if as_json:
        print_json(refused.answer)
        return
    for line in refused.lines:
        print_line(line, style="red")


async def _run(
    function: Function[Result], kind: type[Called], shared: Shared, given: Mapping[str, object], app: str | None
) -> Result:
    if not issubclass(kind, Configured):
        return await function(kind(shared), **given)
    config = config_from(database_url=shared.database_url, data_dir=shared.data_dir)
    if not issubclass(kind, Opened):
        return await function(kind(shared, config), **given)
    async with opened(config, app) as engine:
        return await function(kind(shared, config, engine), **given)


def _parameters(function: Callable[..., object]) -> tuple[type[Called], list[Parameter]]:
    """Return what kind of command a function is, and its own parameters."""
    first, *own = signature(function).parameters.values()
    return first.annotation, own


def _own(parameters: Sequence[Parameter]) -> list[Parameter]:
    return [option for one in parameters for option in _typed(one)]


def _shared(kind: type[Called]) -> list[Parameter]:
    known = signature(Shared).parameters
    return [_parameter(name, known[name].annotation, known[name].default) for name in kind.OPTIONS]


def _parameter(name: str, option: object, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)


def _typed(parameter: Parameter) -> Iterator[Parameter]:
    """Yield the options that a parameter stands for, as they are typed."""
    read = _reader(parameter)
    if _is_group(parameter):
        for inner in signature(parameter.annotation).parameters.values():
            yield from _typed(inner)
    elif read:
        option = get_args(parameter.annotation)[1]
        default = parameter.default if read.default is Parameter.empty else read.default
        yield _parameter(parameter.name, Annotated[read.typed, option], default)
    else:
        yield _parameter(parameter.name, parameter.annotation, parameter.default)


def _read(parameter: Parameter, typed: Mapping[str, Any]) -> object:
    """Return the value of a parameter, made of what was typed."""
    if _is_group(parameter):
        inner = signature(parameter.annotation).parameters
        return parameter.annotation(**{name: _read(one, typed) for name, one in inner.items()})
    read, value = _reader(parameter), typed[parameter.name]
    return value if read is None or value is None else read.read(value)


def _is_group(parameter: Parameter) -> bool:
    return is_dataclass(parameter.annotation)


def _reader(parameter: Parameter) -> Read | None:
    return next((one for one in get_args(parameter.annotation) if isinstance(one, Read)), None)


def _describe(started: Callable[..., None], function: Callable[..., object], options: list[Parameter]) -> None:
    """Tell typer what the command is called, what it does and which options it takes."""
    started.__name__, started.__doc__ = function.__name__, function.__doc__
    started.__annotations__ = {one.name: one.annotation for one in options}
    setattr(started, "__signature__", Signature(options))  # noqa: B010  a function's type has no such attribute
