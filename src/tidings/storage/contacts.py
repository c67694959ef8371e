"""Contacts as they are stored, changed, listed and erased. Reached from resources/contacts.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.domain.people.audience_filter import AudienceFilter
from tidings.domain.people.contact import SEPARATOR
from tidings.domain.people.contact_fields import (
    LIST_FIELDS,
    MERGED_FIELDS,
    PLAIN_FIELDS,
    ContactChange,
)
from tidings.storage.contact_parts import for_filter
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.contacts import Contact

_SQL = load("contacts")
_TAKERS = {name: attrgetter(name) for name in (*PLAIN_FIELDS, *MERGED_FIELDS)}
Json = Mapping[str, object]


class Erased(Contact, frozen=True, kw_only=True):
    """What a contact was before it was erased, since its tags and its suppressions are still to be dealt with."""

    was_deleted: bool


class Changed(Struct, frozen=True, kw_only=True):
    """A contact that existed: whether anything about it is new, and the tags it had before."""

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
    """Insert the contacts whose external id is free; return their ids by external id."""
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


async def add_contact(
    tx: Tx, *, shard: Shard, workspace: Workspace, contact: Contact, audit_id: UUID, actor: str, detail: Json
) -> bool:
    """Add a new contact and note that in the audit log; False when its external id is taken. Commits alone."""
    given = asdict(contact) | {"shard": shard, "tenant_id": workspace.tenant, "workspace_id": workspace.name}
    row = await tx.fetch_one(
        _SQL["add_contact"], shard=shard, given=given, audit_id=audit_id, actor=actor, detail=detail
    )
    return row is not None and row["is_new"]


async def change_contacts(
    tx: Tx,
    *,
    shard: Shard,
    workspace: Workspace,
    external_ids: Sequence[str],
    changes: Sequence[ContactChange],
    now: datetime,
) -> list[Changed]:
    """Change the contacts that exist; the others are not in the answer."""
    # Each contact is in the answer as it was, and once more if it was changed.
    given = _changing(workspace, external_ids, changes)
    rows = await tx.fetch(_SQL["change_contacts"], shard=shard, **given, now=now)
    found = {row["id"]: Changed(**row) for row in rows}
    return [*found.values()]


async def compare_contacts(
    tx: Tx, *, shard: Shard, workspace: Workspace, external_ids: Sequence[str], changes: Sequence[ContactChange]
) -> Mapping[str, tuple[UUID, bool]]:
    """Return the ids of the contacts that exist, and whether they would be changed, by external id; writes nothing."""
    given = _changing(workspace, external_ids, changes)
    rows = await tx.fetch(_SQL["compare_contacts"], shard=shard, **given)
    return {row["external_id"]: (row["id"], row["changed"]) for row in rows}


@_SQL.statement
async def add_contact_tags(
    tx: Tx, *, shard: Shard, workspace: Workspace, tags: Sequence[str], contact_ids: Sequence[UUID]
) -> None:
    """Make contacts findable by these tags, pair by pair."""


@_SQL.statement
async def remove_contact_tags(
    tx: Tx, *, shard: Shard, workspace: Workspace, tags: Sequence[str], contact_ids: Sequence[UUID]
) -> None:
    """Make contacts no longer findable by these tags, pair by pair."""


@_SQL.statement
async def show_contacts(tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> list[Contact]:
    """The contacts of one shard and workspace with these ids, as far as they exist."""


@_SQL.statement
async def find_contact(tx: Tx, *, shard: Shard, workspace: Workspace, external_id: str) -> Contact | None:
    """The contact with an external id, if there is one."""


async def list_contacts(
    tx: Tx, *, shard: Shard, workspace: Workspace, wanted: AudienceFilter, now: datetime, span: Span, limit: int
) -> list[Contact]:
    """One shard's contacts that match a filter, newest first."""
    statement, values = for_filter(_SQL["list_contacts"], wanted, workspace, span, now)
    return [Contact(**row) for row in await tx.fetch(statement, shard=shard, limit=limit, **values)]


@_SQL.statement
async def erase_contact(tx: Tx, *, shard: Shard, workspace: Workspace, id: UUID, now: datetime) -> Erased | None:
    """Remove everything about a contact, and return what it was; None when it never existed."""


def _columns(changes: Sequence[ContactChange]) -> Mapping[str, object]:
    """The arrays of a batch. The separator is one that no tag, token or name may contain."""
    given = {name: [*map(take, changes)] for name, take in _TAKERS.items()}
    for name in LIST_FIELDS:
        given[name] = [*map(_joined, given[name])]
    for name in MERGED_FIELDS:
        given[name] = [one or None for one in given[name]]
    return given


def _changing(
    workspace: Workspace, external_ids: Sequence[str], changes: Sequence[ContactChange]
) -> Mapping[str, object]:
    """The arrays of a batch that changes contacts, some of which may not exist."""
    return {
        **_of(workspace),
        "external_id": external_ids,
        **_columns(changes),
        **{f"no_{name}": [_joined(getattr(one, f"no_{name}")) for one in changes] for name in MERGED_FIELDS},
        "separator": SEPARATOR,
    }


def _of(workspace: Workspace) -> Mapping[str, str]:
    return {"tenant": workspace.tenant, "workspace": workspace.name}


def _joined(texts: Sequence[str] | None) -> str | None:
    return None if texts is None else SEPARATOR.join(texts)
