"""Where a workspace's functions are. Reached from directory.py when one is called, and from whoever sets them."""

from dataclasses import dataclass, field
from datetime import datetime

from tidings.domain.flow.ids import Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("functions")


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function as a person may see it: its secret is write-only."""

    name: str
    url: str
    has_secret: bool
    created_at: datetime
    updated_at: datetime


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


async def list_functions(tx: Tx, *, tenant: str, workspace: str) -> list[ListedFunction]:
    """Every function of a workspace, by name."""
    rows = await tx.fetch(_SQL["list_functions"], tenant=tenant, workspace=workspace)
    return [
        ListedFunction(row["name"], row["url"], row["has_secret"], row["created_at"], row["updated_at"]) for row in rows
    ]


async def upsert_function(
    tx: Tx, *, tenant: str, workspace: str, name: str, url: str, sealed: bytes | None, now: datetime
) -> None:
    """Set where a function is; without a new secret the old one stays as long as the address does."""
    await tx.fetch(
        _SQL["upsert_function"], tenant=tenant, workspace=workspace, name=name, url=url, secret=sealed, now=now
    )


async def delete_function(tx: Tx, *, tenant: str, workspace: str, name: str) -> bool:
    """Forget where a function is; False when nobody knew."""
    return await tx.fetch_one(_SQL["delete_function"], tenant=tenant, workspace=workspace, name=name) is not None


async def list_sealed(tx: Tx, *, most: int) -> list[SealedSecret]:
    """Return the oldest and the newest sealed secrets of all workspaces, up to `most` of each."""
    rows = await tx.fetch(_SQL["list_sealed"], most=most)
    return [SealedSecret(Workspace(row["tenant_id"], row["workspace_id"]), row["name"], row["secret"]) for row in rows]


async def forget_secret(tx: Tx, secret: SealedSecret, *, now: datetime) -> bool:
    """Remove a secret; False when it has been set anew or removed since it was read."""
    here = secret.workspace
    row = await tx.fetch_one(
        _SQL["forget_secret"],
        tenant=here.tenant,
        workspace=here.name,
        name=secret.function,
        secret=secret.sealed,
        now=now,
    )
    return row is not None


async def find_function(tx: Tx, *, tenant: str, workspace: str, name: str) -> FoundFunction | None:
    """The row of a function, or else of its workspace's base."""
    row = await tx.fetch_one(_SQL["find_function"], tenant=tenant, workspace=workspace, name=name)
    return FoundFunction(row["name"], row["url"], row["secret"]) if row else None
