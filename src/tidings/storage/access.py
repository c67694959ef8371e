"""Keys to the API, and a tenant's history. Reached from resources/access.py."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.domain.roles import Role
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.keys import ApiKey, AuditLine

_SQL = load("access")


@_SQL.statement
async def lock_admin_key(tx: Tx) -> None:
    """Let no other process make the first key until the transaction ends."""


@_SQL.statement
async def count_live_operators(tx: Tx, *, now: datetime) -> int:
    """How many keys of operators are neither revoked nor expired."""


@_SQL.statement
async def insert_key(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    role: Role,
    name: str,
    digest: bytes,
    prefix: str,
    now: datetime,
    created_by: str,
    expires_at: datetime | None,
    workflows: Sequence[str],
    origins: Sequence[str],
) -> None:
    """Keep a new key's hash; the same again changes nothing."""


@_SQL.statement
async def find_key(tx: Tx, *, digest: bytes) -> ApiKey | None:
    """The key with this hash, revoked and expired ones too."""


async def list_live_hashes(tx: Tx, *, now: datetime, limit: int) -> list[bytes]:
    """The hashes of the keys and sessions that open something, those used last first."""
    return [row["hash"] for row in await tx.fetch(_SQL["list_live_hashes"], now=now, limit=limit)]


@_SQL.statement
async def list_keys(tx: Tx, *, tenant: str, span: Span, limit: int) -> list[ApiKey]:
    """A tenant's keys, newest first."""


@_SQL.statement
async def read_key(tx: Tx, *, tenant: str, id: UUID) -> ApiKey | None:
    """One key; None when the tenant has no such key."""


@_SQL.statement
async def revoke_key(tx: Tx, *, id: UUID, now: datetime) -> UUID | None:
    """Revoke a key; None when it was revoked before."""


@_SQL.statement
async def touch_key(tx: Tx, *, id: UUID, now: datetime, before: datetime) -> None:
    """Note that a key is in use, unless that was noted after `before`."""


@_SQL.statement
async def list_tenant_audit(
    tx: Tx, *, shard: Shard, tenant: str, actor: str | None, subject_kind: str | None, span: Span, limit: int
) -> list[AuditLine]:
    """One shard's audit entries of a tenant, newest first; without the names of subjects."""


@_SQL.statement
async def list_subject_audit(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    subject_id: UUID,
    actor: str | None,
    subject_kind: str | None,
    span: Span,
    limit: int,
) -> list[AuditLine]:
    """One shard's audit entries about one subject, newest first; without its name."""


@_SQL.statement
async def list_origins(tx: Tx, *, now: datetime) -> set[str]:
    """The web pages from which some publishable key may be used."""
