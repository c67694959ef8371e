"""Where a workspace's functions are. Reached from directory.py when one is called, and from resources/."""

from dataclasses import dataclass, field
from datetime import datetime

from tidings.domain.flow.ids import Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.functions import FunctionAddress

_SQL = load("functions")


@dataclass(frozen=True, slots=True)
class FoundFunction:
    """A function as a call needs it; `sealed` is its secret as it is stored."""

    name: str
    url: str
    sealed: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """The secret of a function as it is stored."""

    workspace: Workspace
    function: str
    sealed: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"function {self.function!r} in workspace {self.workspace.name!r} of tenant {self.workspace.tenant!r}"


@_SQL.statement
async def list_functions(tx: Tx, *, workspace: Workspace) -> list[FunctionAddress]:
    """Every function of a workspace, by name."""


@_SQL.statement
async def upsert_function(
    tx: Tx, *, workspace: Workspace, name: str, url: str, sealed: bytes | None, now: datetime
) -> FunctionAddress:
    """Set where a function is; without a new secret the old one stays as long as the address does."""


@_SQL.statement
async def delete_function(tx: Tx, *, workspace: Workspace, name: str) -> str | None:
    """Delete where a function is; None when that was not set."""


@_SQL.statement
async def list_sealed(tx: Tx, *, most: int) -> list[SealedSecret]:
    """Return the oldest and the newest sealed secrets of all workspaces, up to `most` of each."""


@_SQL.statement
async def forget_secret(tx: Tx, *, workspace: Workspace, name: str, secret: bytes, now: datetime) -> str | None:
    """Remove a secret; None when it has been set anew or removed since it was read."""


@_SQL.statement
async def find_function(tx: Tx, *, workspace: Workspace, name: str) -> FoundFunction | None:
    """The row of a function, or else of its workspace's base."""
