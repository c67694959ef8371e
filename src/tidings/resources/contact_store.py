"""Store contacts in sets: new ones are inserted, existing ones changed, and repeating a call changes nothing.

One transaction per shard, with its rows in one order, so that two calls for the same people wait for each other and
never deadlock. Used by contacts.py and contact_import.py.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec import structs

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import BUCKETS, Bucket, Shard, Workspace, bucket_of_id
from tidings.domain.people.contact import contact_bucket
from tidings.domain.people.contact_fields import LIST_FIELDS, MERGED_FIELDS, PLAIN_FIELDS, ContactChange, Entries
from tidings.kernel.kernel import Kernel
from tidings.kernel.process.breaks import Breaks
from tidings.resources import suppressions
from tidings.storage import contacts
from tidings.storage.database import Tx
from tidings.views.contacts import Contact, ContactOutcome, UpsertedContact

MOST_TRIES = 5


AndThen = Callable[[Tx, UpsertedContact], Awaitable[None]]
"""What else is written in the transaction of a contact."""


@dataclass(frozen=True, slots=True)
class StoredShare:
    """The contacts of one call that are in one shard, by external id, and the ids for those among them that are new."""

    shard: Shard
    workspace: Workspace
    changes: Mapping[str, ContactChange]
    ids: Mapping[str, UUID]
    now: datetime
    born: Mapping[str, Entries] = field(default_factory=dict)  # suppressions for those among them that are new


@dataclass(frozen=True, slots=True)
class NewContact:
    """A contact as it will be if its external id is free, and the id of its entry in the audit log."""

    change: ContactChange
    contact: Contact
    audit_id: UUID


async def name_new(kernel: Kernel, workspace: Workspace, change: ContactChange) -> NewContact:
    """Return the contact that a change makes where there is none, with an external id in any case."""
    now = await kernel.clock.now()
    if change.external_id is None:
        id = kernel.new_id(Bucket(int(kernel.spread() * BUCKETS)), now)
        change = structs.replace(change, external_id=str(id))
    else:
        id = kernel.new_id(contact_bucket(workspace, change.external_id), now)
    external_id = change.external_id or ""
    if change.no_suppressions:
        await suppressions.lift(kernel, workspace, change, change.no_suppressions)
    born = await suppressions.born_with(kernel, workspace, {external_id: change})
    contact = _as_new(suppressions.born(change, born.get(external_id)), id, external_id, now)
    return NewContact(change, contact, kernel.new_id(bucket_of_id(id), now))


def _as_new(change: ContactChange, id: UUID, external_id: str, now: datetime) -> Contact:
    """Return a contact of which nothing is known but a change; what is left out, or empty, is as views have it."""
    given = {name: value for name in (*PLAIN_FIELDS, *MERGED_FIELDS) if (value := getattr(change, name))}
    given |= {name: [*given[name]] for name in LIST_FIELDS if name in given}
    return Contact(**given, id=id, external_id=external_id, created_at=now, updated_at=now)


async def add(kernel: Kernel, caller: Caller, new: NewContact) -> bool:
    """Store a new contact, its tags and its entry in the audit log at once; False when its external id is taken."""
    add_contact = partial(
        contacts.add_contact,
        shard=kernel.shard_of(new.contact.id),
        workspace=caller.workspace,
        contact=new.contact,
        audit_id=new.audit_id,
        actor=caller.actor,
        detail={"fields": new.change.given()},
    )
    return await kernel.db.persist(add_contact, alone=True)


@dataclass(frozen=True, slots=True)
class _Upsert:
    """Contacts to be stored: what is given of each, and an id for it if it is new, by external id."""

    named: Sequence[str]
    """The external ids in the order of the contacts; one that occurs twice is there twice."""
    changes: Mapping[str, ContactChange]
    ids: Mapping[str, UUID]
    now: datetime


async def upsert(
    kernel: Kernel,
    workspace: Workspace,
    changes: Sequence[ContactChange],
    and_then: AndThen | None = None,
    *,
    ids: Mapping[str, UUID] | None = None,
) -> list[UpsertedContact]:
    """Insert or change contacts by their external ids; return the answers in the order of the contacts.

    For an external id that occurs twice in one call, both changes are made, the later over the earlier. A contact
    without an external id is new. `ids` holds ids for new contacts that already have one, in the database they are
    copied from.
    """
    batch = await _batch_of(kernel, workspace, changes, ids or {})
    for change in batch.changes.values():
        if change.no_suppressions:
            await suppressions.lift(kernel, workspace, change, change.no_suppressions)
    born = await suppressions.born_with(kernel, workspace, batch.changes)
    stored = await _store(kernel, _shares(kernel, workspace, batch, born), and_then)
    return [stored[external_id] for external_id in batch.named]


async def foresee(kernel: Kernel, workspace: Workspace, changes: Sequence[ContactChange]) -> list[UpsertedContact]:
    """Return what `upsert` would answer, and store nothing."""
    batch = await _batch_of(kernel, workspace, changes, {})
    found: dict[str, tuple[UUID, bool]] = {}
    for of_shard in await asyncio.gather(
        *(kernel.db.persist(partial(_compare, share), alone=True) for share in _shares(kernel, workspace, batch, {}))
    ):
        found |= of_shard
    return [_foreseen(external_id, batch.ids[external_id], found.get(external_id)) for external_id in batch.named]


async def _compare(share: StoredShare, tx: Tx) -> Mapping[str, tuple[UUID, bool]]:
    return await contacts.compare_contacts(
        tx,
        shard=share.shard,
        workspace=share.workspace,
        external_ids=[*share.changes],
        changes=[*share.changes.values()],
    )


def _foreseen(external_id: str, new: UUID, found: tuple[UUID, bool] | None) -> UpsertedContact:
    if found is None:
        return UpsertedContact(id=new, external_id=external_id, change=ContactOutcome.CREATED)
    id, is_changed = found
    change = ContactOutcome.UPDATED if is_changed else ContactOutcome.UNCHANGED
    return UpsertedContact(id=id, external_id=external_id, change=change)


async def _batch_of(
    kernel: Kernel, workspace: Workspace, changes: Sequence[ContactChange], ids: Mapping[str, UUID]
) -> _Upsert:
    now = await kernel.clock.now()
    named: list[str] = []
    merged: dict[str, ContactChange] = {}
    ids = dict(ids)
    breaks = Breaks()
    for change in changes:
        await breaks.take_if_due()
        external_id = change.external_id
        if external_id is None:
            new = kernel.new_id(Bucket(int(kernel.spread() * BUCKETS)), now)
            external_id = str(new)
            ids[external_id] = new
        named.append(external_id)
        merged[external_id] = merged[external_id].then(change) if external_id in merged else change
    for external_id in merged.keys() - ids.keys():
        # Made once: after an unknown commit these ids tell which contacts this very call has inserted.
        ids[external_id] = kernel.new_id(contact_bucket(workspace, external_id), now)
    return _Upsert(named, merged, ids, now)


def _shares(kernel: Kernel, workspace: Workspace, batch: _Upsert, born: Mapping[str, Entries]) -> Sequence[StoredShare]:
    changes, ids, now = batch.changes, batch.ids, batch.now
    by_shard: dict[Shard, list[str]] = defaultdict(list)
    for external_id in sorted(changes):
        by_shard[kernel.shard_of(ids[external_id])].append(external_id)
    return [
        StoredShare(shard, workspace, {one: changes[one] for one in share}, {one: ids[one] for one in share}, now, born)
        for shard, share in by_shard.items()
    ]


async def _store(
    kernel: Kernel, shares: Sequence[StoredShare], and_then: AndThen | None
) -> Mapping[str, UpsertedContact]:
    async def store(share: StoredShare) -> Mapping[str, UpsertedContact]:
        async def write(tx: Tx) -> Mapping[str, UpsertedContact]:
            stored = await _store_share(tx, share)
            if and_then:
                for one in stored.values():
                    await and_then(tx, one)
            return stored

        return await kernel.db.persist(write)

    stored: dict[str, UpsertedContact] = {}
    for of_shard in await asyncio.gather(*(store(share) for share in shares)):
        stored |= of_shard
    return stored


async def _store_share(tx: Tx, share: StoredShare) -> Mapping[str, UpsertedContact]:
    """Insert the new contacts, change the others; one that is deleted between the two statements is new again."""
    stored: dict[str, UpsertedContact] = {}
    for _ in range(MOST_TRIES):
        open_ids = [external_id for external_id in share.changes if external_id not in stored]
        if not open_ids:
            return stored
        new = await _insert(tx, share, open_ids)
        stored |= new
        stored |= await change_share(tx, share, [external_id for external_id in open_ids if external_id not in new])
    raise AssertionError("a contact is neither new nor there, time and again")


async def _insert(tx: Tx, share: StoredShare, external_ids: Sequence[str]) -> Mapping[str, UpsertedContact]:
    new = await contacts.insert_contacts(
        tx,
        shard=share.shard,
        workspace=share.workspace,
        ids=[share.ids[one] for one in external_ids],
        external_ids=external_ids,
        changes=[suppressions.born(share.changes[one], share.born.get(one)) for one in external_ids],
        now=share.now,
    )
    tagged = [(tag, id) for external_id, id in new.items() for tag in share.changes[external_id].tags or ()]
    await _write_tags(tx, share, tagged, [])
    return {
        external_id: UpsertedContact(id=id, external_id=external_id, change=ContactOutcome.CREATED)
        for external_id, id in new.items()
    }


async def change_share(tx: Tx, share: StoredShare, external_ids: Sequence[str]) -> Mapping[str, UpsertedContact]:
    """Change the contacts that exist; the others are not in the answer."""
    if not external_ids:
        return {}
    found = await contacts.change_contacts(
        tx,
        shard=share.shard,
        workspace=share.workspace,
        external_ids=external_ids,
        changes=[share.changes[one] for one in external_ids],
        now=share.now,
    )
    added: list[tuple[str, UUID]] = []
    removed: list[tuple[str, UUID]] = []
    stored: dict[str, UpsertedContact] = {}
    for one in found:
        tags = share.changes[one.external_id].tags
        if tags is not None:
            gone = [tag for tag in one.old_tags if tag not in tags]
            removed += [(tag, one.id) for tag in gone]
            # Deleting `VIP` also deletes the row of `vip`, so every tag that stays is written again.
            added += [(tag, one.id) for tag in tags if gone or tag not in one.old_tags]
        stored[one.external_id] = UpsertedContact(id=one.id, external_id=one.external_id, change=_kind(share, one))
    await _write_tags(tx, share, added, removed)
    return stored


def _kind(share: StoredShare, found: contacts.Changed) -> ContactOutcome:
    if found.id == share.ids.get(found.external_id):
        return ContactOutcome.CREATED  # by an earlier attempt of this call whose answer was lost
    return ContactOutcome.UPDATED if found.changed else ContactOutcome.UNCHANGED


async def _write_tags(
    tx: Tx, share: StoredShare, added: Sequence[tuple[str, UUID]], removed: Sequence[tuple[str, UUID]]
) -> None:
    for write, pairs in ((contacts.remove_contact_tags, removed), (contacts.add_contact_tags, added)):
        if pairs:
            await write(
                tx,
                shard=share.shard,
                workspace=share.workspace,
                tags=[tag for tag, _ in pairs],
                contact_ids=[id for _, id in pairs],
            )
