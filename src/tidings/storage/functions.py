"""Where a workspace's functions are. Reached from directory.py when one is called, and from resources/."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.functions import FunctionAddress, SigningSecret

_SQL = load("functions")

SIGNING = "."
"""Stands for the secret that signs a workspace's calls among those of functions; no function may be named so."""


@dataclass(frozen=True, slots=True)
class FoundFunction:
    """What a call needs to know of a function and its workspace; secrets are as they are stored.

    Without a name and a URL neither the function nor a base of the workspace is there.
    """

    name: str | None
    url: str | None
    sealed: bytes | None = field(repr=False)
    private_addresses: list[str]
    signing: bytes | None = field(repr=False)
    signing_before: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """The secret of a function, or of a connection, as it is stored."""

    workspace: Workspace
    function: str  # or SIGNING, or the connection's name
    connection: UUID | None
    sealed: bytes = field(repr=False)

    def __str__(self) -> str:
        if self.connection:
            what = f"connection {self.function!r}"
        else:
            what = "signing of calls" if self.function == SIGNING else f"function {self.function!r}"
        return f"{what} in workspace {self.workspace.name!r} of tenant {self.workspace.tenant!r}"


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
async def find_function(tx: Tx, *, workspace: Workspace, name: str, now: datetime) -> FoundFunction:
    """The row of a function, or else of its workspace's base, with what the workspace has for all calls."""


@_SQL.statement
async def read_signing_secret(tx: Tx, *, workspace: Workspace, now: datetime) -> SigningSecret | None:
    """Since when a workspace's calls are signed with a secret, and until when also with the one before."""


@_SQL.statement
async def put_signing_secret(
    tx: Tx, *, workspace: Workspace, sealed: bytes, before_until: datetime | None, now: datetime
) -> None:
    """Sign a workspace's calls with a new secret; the one before stays valid until then, if it is given."""


@_SQL.statement
async def forget_signing_secret(tx: Tx, *, workspace: Workspace, secret: bytes) -> str | None:
    """Remove a signing secret that no key opens; None when it has been replaced since it was read."""
