"""Every sealed value, of every kind: which key sealed it, and the same value sealed with the newest.

Reached from resources/secrets.py. A kind is a table, a column, and the place that a value is sealed for; one more is
one more line of KINDS.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.domain.flow.ids import Workspace
from tidings.storage.connections import place_of_credentials
from tidings.storage.database import Tx
from tidings.storage.directory import place_of, signing_place_of
from tidings.storage.statements import load

_SQL = load("reseal")
PAGE = 200


@dataclass(frozen=True, slots=True)
class SealedKind:
    """Where sealed values of one kind are, in a table with tenant_id and workspace_id."""

    table: str
    column: str
    name: str
    """The column, or the SQL, that tells values of one workspace apart."""
    place: Callable[[Workspace, str], tuple[str, ...]]

    @property
    def parts(self) -> dict[str, str]:
        """What stands in the statements for this kind."""
        return {"sealed_table": self.table, "sealed_column": self.column, "sealed_name": self.name}


KINDS = (
    SealedKind("functions", "secret", "name", place_of),
    SealedKind("signing_secrets", "secret", "''::text", lambda workspace, _: signing_place_of(workspace)),
    SealedKind("signing_secrets", "before", "''::text", lambda workspace, _: signing_place_of(workspace)),
    SealedKind("connections", "credentials", "id::text", place_of_credentials),
)


@dataclass(frozen=True, slots=True)
class SealedValue:
    """One sealed value, and where it is."""

    kind: SealedKind
    workspace: Workspace
    name: str
    sealed: bytes = field(repr=False)

    @property
    def place(self) -> tuple[str, ...]:
        """The place it is sealed for."""
        return self.kind.place(self.workspace, self.name)

    def __str__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        whose = f"workspace {self.workspace.name!r} of tenant {self.workspace.tenant!r}"
        return f"{self.kind.table}.{self.kind.column}{named} in {whose}"


async def list_sealed_values(tx: Tx, *, kind: SealedKind, after: SealedValue | None, limit: int) -> list[SealedValue]:
    """The next sealed values of one kind."""
    where = (after.workspace.tenant, after.workspace.name, after.name) if after else ("", "", "")
    rows = await tx.fetch(
        _SQL["list_sealed_values"].with_parts(**kind.parts),
        **dict(zip(("after_tenant", "after_workspace", "after_name"), where, strict=True)),
        limit=limit,
    )
    return [SealedValue(kind, Workspace(row["tenant"], row["workspace"]), row["name"], row["sealed"]) for row in rows]


async def reseal_value(tx: Tx, *, value: SealedValue, resealed: bytes) -> bool:
    """Store a value sealed anew; False when it was set anew or removed since it was read."""
    rows = await tx.fetch(
        _SQL["reseal_value"].with_parts(**value.kind.parts),
        tenant=value.workspace.tenant,
        workspace=value.workspace.name,
        name=value.name,
        sealed=value.sealed,
        resealed=resealed,
    )
    return bool(rows)
