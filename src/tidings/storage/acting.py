"""For whom the statements of a task act: one workspace, a whole tenant, everyone, or nobody.

Where the database forces row security (rights.py) it shows and changes only the rows of whom a session acts for: a
statement that forgot its filter finds nothing of another's. The resources act for the workspace of their caller, and a
request for nobody until its key is known. What is the kernel's own (claiming, delivering, looking at the whole system)
acts for everyone, which is also what a task does that nobody has asked anything of. Elsewhere this costs nothing.
"""

import inspect
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.storage.statements import load

Function = TypeVar("Function", bound=Callable[..., Any])
Resource = TypeVar("Resource")
Whom = Callable[[Caller | Workspace], "ActingFor"]
CHOSEN = "acts_for"
"""The attribute of a method that says that it acts for others than its caller's workspace."""


@dataclass(frozen=True, slots=True)
class ActingFor:
    """As the settings of a session say it, which policies look at."""

    acts_for: str = ""
    tenant: str = ""
    workspace: str = ""


_SQL = load("acting")
EVERYONE, NOBODY = ActingFor("everyone"), ActingFor()
_acting: ContextVar[ActingFor] = ContextVar("acting_for", default=EVERYONE)


async def read_row_security(connection: Any) -> bool:
    """Whether a connection's database forces row security."""
    return bool(await connection.fetchval(_SQL["read_row_security"].text))


async def say_acting_for(connection: Any, whom: ActingFor) -> None:
    """Tell the database for whom a session acts, outside any transaction: a rollback would undo it."""
    statement = _SQL["say_acting_for"]
    values = {"acts_for": whom.acts_for, "tenant": whom.tenant, "workspace": whom.workspace}
    await connection.fetchval(statement.text, *statement.arguments(values))


def acting_for() -> ActingFor:
    """Return for whom this task acts."""
    return _acting.get()


@contextmanager
def act_for(whom: ActingFor) -> Iterator[None]:
    """Act for somebody within the block, and in the tasks that are started there."""
    before = _acting.get()
    _acting.set(whom)
    try:
        yield
    finally:
        _acting.set(before)  # not by a token: a generator may be ended by another task than began it


def own_workspace(who: Caller | Workspace) -> ActingFor:
    """Act for the workspace of a caller."""
    workspace = who if isinstance(who, Workspace) else who.workspace
    return ActingFor("", workspace.tenant, workspace.name)


def own_tenant(who: Caller | Workspace) -> ActingFor:
    """Act for every workspace of a caller's tenant."""
    workspace = who if isinstance(who, Workspace) else who.workspace
    return ActingFor("tenant", workspace.tenant, workspace.name)


def for_caller(resource: type[Resource]) -> type[Resource]:
    """Make every public method of a class that takes a caller or a workspace first act for that workspace."""
    for name, method in vars(resource).copy().items():
        if not name.startswith("_") and _takes_whom(method) and not hasattr(method, CHOSEN):
            setattr(resource, name, _acting_as(method, own_workspace))
    return resource


def for_workspace(function: Function) -> Function:
    """Make a function that takes a workspace second act for that workspace."""
    return cast(Function, _acting_as(function, own_workspace))


def for_tenant(method: Function) -> Function:
    """Make a method act for the whole tenant of its caller: keys and history are a tenant's."""
    return cast(Function, _chosen(_acting_as(method, own_tenant)))


def for_everyone(method: Function) -> Function:
    """Make a method act for everyone: it looks at the whole installation, or does not know yet who asks."""

    @wraps(method)
    async def run(*given: Any, **named: Any) -> Any:
        with act_for(EVERYONE):
            return await method(*given, **named)

    return cast(Function, _chosen(run))


def _chosen(method: Any) -> Any:
    setattr(method, CHOSEN, True)
    return method


def _takes_whom(method: object) -> bool:
    if not (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
        return False
    return [*inspect.signature(method).parameters][1:2] in (["caller"], ["workspace"])


def _acting_as(method: Any, whom: Whom) -> Any:
    name = [*inspect.signature(method).parameters][1]

    def acting(given: Sequence[Any], named: Mapping[str, Any]) -> AbstractContextManager[None]:
        return act_for(whom(given[0] if given else named[name]))

    if inspect.isasyncgenfunction(method):
        return _acting_generator(method, acting)

    @wraps(method)
    async def run(self: Any, *given: Any, **named: Any) -> Any:
        with acting(given, named):
            return await method(self, *given, **named)

    return run


def _acting_generator(method: Any, acting: Callable[..., AbstractContextManager[None]]) -> Any:
    @wraps(method)
    async def run(self: Any, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
        generator = method(self, *given, **named)
        try:
            while True:
                with acting(given, named):  # only while it works: between its values the task acts for whom it did
                    try:
                        one = await anext(generator)
                    except StopAsyncIteration:
                        return
                yield one
        finally:
            await generator.aclose()

    return run
