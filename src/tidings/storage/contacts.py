"""Contacts as they are stored, changed, listed and erased. Reached from resources/contacts.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.flow.ids import Shard
from tidings.domain.paging import Span
from tidings.domain.people.contact import SEPARATOR, ContactChange, Entries
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
    tenant: str,
    workspace: str,
    ids: Sequence[UUID],
    external_ids: Sequence[str],
    changes: Sequence[ContactChange],
    now: datetime,
) -> Mapping[str, UUID]:
    """Insert those whose external id is free; give their ids by it."""
    rows = await tx.fetch(
        _SQL["insert_contacts"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        ids=ids,
        external_ids=external_ids,
        **_columns(changes),
        separator=SEPARATOR,
        now=now,
    )
    return {row["external_id"]: row["id"] for row in rows}


async def change_contacts(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    external_ids: Sequence[str],
    changes: Sequence[ContactChange],
    now: datetime,
) -> list[Changed]:
    """Change those that are there; the others are not in the answer."""
    # Each is in the answer as it was, and once more if it was changed.
    rows = await tx.fetch(
        _SQL["change_contacts"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        external_ids=external_ids,
        **_columns(changes),
        no_attributes=[SEPARATOR.join(one.no_attributes) for one in changes],
        no_consents=[SEPARATOR.join(one.no_consent) for one in changes],
        no_suppressions=[SEPARATOR.join(one.no_suppressions) for one in changes],
        separator=SEPARATOR,
        now=now,
    )
    found = {row["id"]: Changed(row["id"], row["external_id"], row["old_tags"], row["changed"]) for row in rows}
    return [*found.values()]


async def add_contact_tags(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, tags: Sequence[str], contact_ids: Sequence[UUID]
) -> None:
    """Let contacts be found by these tags, pair by pair."""
    await tx.fetch(
        _SQL["add_contact_tags"], shard=shard, tenant=tenant, workspace=workspace, tags=tags, contact_ids=contact_ids
    )


async def remove_contact_tags(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, tags: Sequence[str], contact_ids: Sequence[UUID]
) -> None:
    """Let contacts be found no more by these tags, pair by pair."""
    await tx.fetch(
        _SQL["remove_contact_tags"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        tags=tags,
        contact_ids=contact_ids,
    )


async def show_contacts(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, ids: Sequence[UUID]
) -> list[ShownContact]:
    """Those of one shard and workspace that are there."""
    rows = await tx.fetch(_SQL["show_contacts"], shard=shard, tenant=tenant, workspace=workspace, ids=ids)
    return [shown_contact(row) for row in rows]


async def find_contact(tx: Tx, *, shard: Shard, tenant: str, workspace: str, external_id: str) -> ShownContact | None:
    """The contact with an external id, if there is one."""
    row = await tx.fetch_one(
        _SQL["find_contact"], shard=shard, tenant=tenant, workspace=workspace, external_id=external_id
    )
    return shown_contact(row) if row else None


async def list_contacts(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, text: str | None, span: Span, limit: int
) -> list[ShownContact]:
    """One shard's contacts, newest first."""
    rows = await tx.fetch(
        _SQL["list_contacts"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        text=text,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_contact(row) for row in rows]


async def list_contacts_of_status(
    tx: Tx, *, shard: Shard, tenant: str, workspace: str, status: str, text: str | None, span: Span, limit: int
) -> list[ShownContact]:
    """One shard's contacts with a status, newest first."""
    rows = await tx.fetch(
        _SQL["list_contacts_of_status"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        status=status,
        text=text,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_contact(row) for row in rows]


async def list_contacts_of_company(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    company: str,
    status: str | None,
    text: str | None,
    span: Span,
    limit: int,
) -> list[ShownContact]:
    """One shard's contacts of a company, newest first."""
    rows = await tx.fetch(
        _SQL["list_contacts_of_company"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        company=company,
        status=status,
        text=text,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_contact(row) for row in rows]


async def list_contacts_with_tag(
    tx: Tx,
    *,
    shard: Shard,
    tenant: str,
    workspace: str,
    tag: str,
    company: str | None,
    status: str | None,
    text: str | None,
    span: Span,
    limit: int,
) -> list[ShownContact]:
    """One shard's contacts with a tag, newest first."""
    rows = await tx.fetch(
        _SQL["list_contacts_with_tag"],
        shard=shard,
        tenant=tenant,
        workspace=workspace,
        tag=tag,
        company=company,
        status=status,
        text=text,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [shown_contact(row) for row in rows]


async def erase_contact(tx: Tx, *, shard: Shard, tenant: str, workspace: str, id: UUID, now: datetime) -> Erased | None:
    """Remove everything about a person, and give what else must be done about it; None when it was never there."""
    row = await tx.fetch_one(_SQL["erase_contact"], shard=shard, tenant=tenant, workspace=workspace, id=id, now=now)
    if row is None:
        return None
    return Erased(
        email=row["old_email"],
        phone=row["old_phone"],
        whatsapp=row["old_whatsapp"],
        push_tokens=row["old_push_tokens"],
        consent=row["old_consent"],
        suppressions=row["old_suppressions"],
        tags=row["old_tags"],
        was_deleted=row["was_deleted"],
    )


def _columns(changes: Sequence[ContactChange]) -> dict[str, object]:
    """The arrays of a batch. The separator is one that no tag, token or name may hold."""
    return {
        "names": [one.name for one in changes],
        "emails": [one.email for one in changes],
        "phones": [one.phone for one in changes],
        "whatsapps": [one.whatsapp for one in changes],
        "push_tokens": [_joined(one.push_tokens) for one in changes],
        "companies": [one.company for one in changes],
        "statuses": [one.status for one in changes],
        "time_zones": [one.time_zone for one in changes],
        "locales": [one.locale for one in changes],
        "tags": [_joined(one.tags) for one in changes],
        "attributes": [one.attributes or None for one in changes],
        "consents": [one.consent or None for one in changes],
        "suppressions": [one.suppressions or None for one in changes],
    }


def _joined(texts: Sequence[str] | None) -> str | None:
    return None if texts is None else SEPARATOR.join(texts)


def shown_contact(row: Row) -> ShownContact:
    """A contact from the columns that every statement about one gives."""
    return ShownContact(
        id=row["id"],
        external_id=row["external_id"],
        name=row["name"],
        email=row["email"],
        phone=row["phone"],
        whatsapp=row["whatsapp"],
        push_tokens=row["push_tokens"],
        company=row["company"],
        status=row["status"],
        time_zone=row["time_zone"],
        locale=row["locale"],
        tags=row["tags"],
        attributes=row["attributes"],
        consent=row["consent"],
        suppressions=row["suppressions"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
