"""Contacts as they are stored, changed, listed and erased. Reached from resources/contacts.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.domain.people.audience_filter import AudienceFilter
from tidings.domain.people.contact import SEPARATOR
from tidings.domain.people.contact_fields import (
    FIELDS,
    LIST_FIELDS,
    MERGED_FIELDS,
    PLAIN_FIELDS,
    ContactChange,
    Entries,
)
from tidings.storage.contact_parts import for_filter
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("contacts")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShownContact:
    """A contact as a person sees it."""

    id: UUID
    external_id: str
    name: str | None
    email: str | None
    phone: str | None
    whatsapp: str | None
    push_tokens: Sequence[str]
    company: str | None
    status: str
    time_zone: str | None
    locale: str | None
    tags: Sequence[str]
    attributes: Json
    consent: Entries
    suppressions: Entries
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Erased:
    """What a contact was, as far as something remains to be done about it."""

    email: str | None
    phone: str | None
    whatsapp: str | None
    push_tokens: Sequence[str]
    consent: Entries
    suppressions: Entries
    tags: Sequence[str]
    was_deleted: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """A contact that was there: whether something is new about it, and the tags it had before."""

    id: UUID
    external_id: str
    old_tags: Sequence[str]
    changed: bool


async def insert_contacts(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    ids: Sequence[UUID],
    external_ids: Sequence[str],
    changes: Sequence[ContactChange],
    now: datetime,
) -> Mapping[str, UUID]:
    """Insert those whose external id is free; give their ids by it."""
    rows = await tx.fetch(
        _SQL["insert_contacts"],
        shard=shard,
        **_of(workspace),
        ids=ids,
        external_id=external_ids,
        **_columns(changes),
        separator=SEPARATOR,
        now=now,
    )
    return {row["external_id"]: row["id"] for row in rows}


async def change_contacts(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    external_ids: Sequence[str],
    changes: Sequence[ContactChange],
    now: datetime,
) -> list[Changed]:
    """Change those that are there; the others are not in the answer."""
    # Each is in the answer as it was, and once more if it was changed.
    rows = await tx.fetch(
        _SQL["change_contacts"],
        shard=shard,
        **_of(workspace),
        external_id=external_ids,
        **_columns(changes),
        **{f"no_{name}": [_joined(getattr(one, f"no_{name}")) for one in changes] for name in MERGED_FIELDS},
        separator=SEPARATOR,
        now=now,
    )
    found = {row["id"]: Changed(row["id"], row["external_id"], row["old_tags"], row["changed"]) for row in rows}
    return [*found.values()]


async def add_contact_tags(
    tx: Tx, *, shard: Shard, workspace: Workspace, tags: Sequence[str], contact_ids: Sequence[UUID]
) -> None:
    """Let contacts be found by these tags, pair by pair."""
    await tx.fetch(_SQL["add_contact_tags"], shard=shard, **_of(workspace), tags=tags, contact_ids=contact_ids)


async def remove_contact_tags(
    tx: Tx, *, shard: Shard, workspace: Workspace, tags: Sequence[str], contact_ids: Sequence[UUID]
) -> None:
    """Let contacts be found no more by these tags, pair by pair."""
    await tx.fetch(
        _SQL["remove_contact_tags"],
        shard=shard,
        **_of(workspace),
        tags=tags,
        contact_ids=contact_ids,
    )


async def show_contacts(tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> list[ShownContact]:
    """Those of one shard and workspace that are there."""
    rows = await tx.fetch(_SQL["show_contacts"], shard=shard, **_of(workspace), ids=ids)
    return [shown_contact(row) for row in rows]


async def find_contact(tx: Tx, *, shard: Shard, workspace: Workspace, external_id: str) -> ShownContact | None:
    """The contact with an external id, if there is one."""
    row = await tx.fetch_one(_SQL["find_contact"], shard=shard, **_of(workspace), external_id=external_id)
    return shown_contact(row) if row else None


async def list_contacts(
    tx: Tx, *, shard: Shard, workspace: Workspace, wanted: AudienceFilter, span: Span, limit: int
) -> list[ShownContact]:
    """One shard's contacts of a filter, newest first."""
    statement, values = for_filter(_SQL["list_contacts"], wanted, workspace, span)
    rows = await tx.fetch(statement, shard=shard, limit=limit, **values)
    return [shown_contact(row) for row in rows]


async def erase_contact(tx: Tx, *, shard: Shard, workspace: Workspace, id: UUID, now: datetime) -> Erased | None:
    """Remove everything about a person, and give what else must be done about it; None when it was never there."""
    row = await tx.fetch_one(_SQL["erase_contact"], shard=shard, **_of(workspace), id=id, now=now)
    if row is None:
        return None
    before = {each.name: row[f"old_{each.name}"] for each in fields(Erased) if each.name in FIELDS}
    return Erased(**before, was_deleted=row["was_deleted"])


def _columns(changes: Sequence[ContactChange]) -> dict[str, object]:
    """The arrays of a batch. The separator is one that no tag, token or name may hold."""
    plain = {name: [getattr(one, name) for one in changes] for name in PLAIN_FIELDS if name not in LIST_FIELDS}
    lists = {name: [_joined(getattr(one, name)) for one in changes] for name in LIST_FIELDS}
    merged = {name: [getattr(one, name) or None for one in changes] for name in MERGED_FIELDS}
    return {**plain, **lists, **merged}


def _of(workspace: Workspace) -> Mapping[str, str]:
    return {"tenant": workspace.tenant, "workspace": workspace.name}


def _joined(texts: Sequence[str] | None) -> str | None:
    return None if texts is None else SEPARATOR.join(texts)


def shown_contact(row: Row) -> ShownContact:
    """A contact from the columns that every statement about one has."""
    return ShownContact(**{name: row[name] for name in _SHOWN})


_SHOWN = tuple(each.name for each in fields(ShownContact))
