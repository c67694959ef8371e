"""Keys to the API, and a tenant's history. Reached from resources/access.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.domain.roles import Role
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("access")


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key as it may be shown: everything but the key."""

    id: UUID
    workspace: Workspace
    role: Role
    name: str
    prefix: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One thing that was done, to what, and by whom."""

    id: UUID
    workspace: str
    subject_kind: str
    subject_id: UUID
    event: str
    actor: str
    detail: Mapping[str, object]
    at: datetime
    subject_name: str | None = None
    """What the subject is called, if it has a name."""


async def lock_admin_key(tx: Tx) -> None:
    """Let no other process make the first key until the transaction ends."""
    await tx.fetch(_SQL["lock_admin_key"])


async def count_admin_keys(tx: Tx) -> int:
    """How many keys of administrators are not revoked."""
    row = await tx.fetch_one(_SQL["count_admin_keys"])
    return row["keys"] if row else 0


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
) -> None:
    """Keep a new key's hash; the same again changes nothing."""
    await tx.fetch(
        _SQL["insert_key"],
        id=id,
        tenant=workspace.tenant,
        workspace=workspace.name,
        role=role,
        name=name,
        digest=digest,
        prefix=prefix,
        now=now,
        created_by=created_by,
        expires_at=expires_at,
    )


async def find_key(tx: Tx, *, digest: bytes) -> ShownKey | None:
    """The key with this hash, revoked and expired ones too."""
    row = await tx.fetch_one(_SQL["find_key"], digest=digest)
    return _shown(row) if row else None


async def list_keys(tx: Tx, *, tenant: str, span: Span, limit: int) -> list[ShownKey]:
    """A tenant's keys, newest first."""
    return [
        _shown(row)
        for row in await tx.fetch(_SQL["list_keys"], tenant=tenant, since=span.since, before=span.before, limit=limit)
    ]


async def read_key(tx: Tx, *, tenant: str, id: UUID) -> ShownKey | None:
    """One key; None when the tenant has no such key."""
    row = await tx.fetch_one(_SQL["read_key"], tenant=tenant, id=id)
    return _shown(row) if row else None


async def revoke_key(tx: Tx, *, id: UUID, now: datetime) -> bool:
    """End a key; False when it had ended before."""
    return await tx.fetch_one(_SQL["revoke_key"], id=id, now=now) is not None


async def touch_key(tx: Tx, *, id: UUID, now: datetime, before: datetime) -> None:
    """Note that a key is in use, unless that was noted after `before`."""
    await tx.fetch(_SQL["touch_key"], id=id, now=now, before=before)


async def list_tenant_audit(tx: Tx, *, shard: Shard, tenant: str, span: Span, limit: int) -> list[AuditLine]:
    """One shard's share of a tenant's history, newest first."""
    rows = await tx.fetch(
        _SQL["list_tenant_audit"], shard=shard, tenant=tenant, since=span.since, before=span.before, limit=limit
    )
    return [_line(row) for row in rows]


async def list_subject_audit(
    tx: Tx, *, shard: Shard, tenant: str, subject_id: UUID, span: Span, limit: int
) -> list[AuditLine]:
    """The history of one thing, newest first."""
    rows = await tx.fetch(
        _SQL["list_subject_audit"],
        shard=shard,
        tenant=tenant,
        subject_id=subject_id,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_line(row) for row in rows]


def _line(row: Row) -> AuditLine:
    return AuditLine(
        id=row["id"],
        workspace=row["workspace_id"],
        subject_kind=row["subject_kind"],
        subject_id=row["subject_id"],
        event=row["event"],
        actor=row["actor"],
        detail=row["detail"],
        at=row["at"],
    )


def _shown(row: Row) -> ShownKey:
    return ShownKey(
        id=row["id"],
        workspace=Workspace(row["tenant_id"], row["workspace_id"]),
        role=Role(row["role"]),
        name=row["name"],
        prefix=row["prefix"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )
