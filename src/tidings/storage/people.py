"""Contacts as the kernel reads them: for templates and for consent. Reached from kernel/people/contacts.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.contact import LoadedContact
from tidings.domain.people.contact_fields import TEMPLATE_FIELDS
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("people")
People = Mapping[UUID, LoadedContact]


async def load_people(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> People:
    """Contacts of one shard by id, with all that templates see."""
    rows = await tx.fetch(_SQL["load_people"], shard=shard, ids=ids)
    return {row["id"]: _person(row, _data(row)) for row in rows}


async def read_consents(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> People:
    """What contacts of one shard allow, by id, without what templates see."""
    rows = await tx.fetch(_SQL["read_consents"], shard=shard, ids=ids)
    return {row["id"]: _person(row, {}) for row in rows}


class NamedContact(Struct, frozen=True):
    """A contact that was looked for; `external_id` is None where it was found by its id."""

    id: UUID
    external_id: str | None
    is_deleted: bool


@_SQL.statement
async def find_named_contacts(
    tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID], external_ids: Sequence[str]
) -> list[NamedContact]:
    """The contacts of one shard with these ids or external ids that the workspace has or had."""


def _person(row: Row, data: Mapping[str, object]) -> LoadedContact:
    times = (row.get("created_at"), row.get("updated_at"))
    return LoadedContact(row["id"], data, row["consent"], row["suppressions"], row["is_deleted"], *times)


def _data(row: Row) -> Mapping[str, object]:
    return {shown: row[name] for shown, name in TEMPLATE_FIELDS.items()} | {"id": str(row["id"])}


@_SQL.statement
async def remove_push_token(tx: Tx, *, shard: Shard, id: UUID, token: str, now: datetime) -> UUID | None:
    """Take a token from a contact; None when it has it no more."""
