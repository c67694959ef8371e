"""Contacts: create, change, find, list, import and delete them. Every change is in the audit log.

domain/people/contact.py reads what a caller sends and contact_store.py stores it; contact_import.py reads whole files.
The audit log says which fields were changed, never their values: what is about a person is deleted with the contact.
"""

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from tidings.domain.caller import Caller
from tidings.domain.errors import ContactsInvalid, InputInvalid, NotFound, Problem
from tidings.domain.flow.ids import BUCKETS, Bucket, Shard, Workspace, bucket_of_id
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first
from tidings.domain.people.audience_filter import EVERYONE, LEAVES, AudienceFilter, Where, both, matches
from tidings.domain.people.contact import ContactReference, contact_bucket, read_contact
from tidings.domain.people.contact_fields import LONGEST_EXTERNAL_ID, LONGEST_TEXT, ContactChange
from tidings.domain.people.contact_file import ContactFile
from tidings.domain.people.filter_reader import read_filter
from tidings.domain.storable import is_storable
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.references import find_contact
from tidings.kernel.phone_region import numbers_of
from tidings.kernel.process.breaks import Breaks
from tidings.resources import contact_store, suppressions
from tidings.resources.address_erasure import erase_address
from tidings.resources.contact_erasure import delete_contact
from tidings.resources.contact_export import ContactExporter
from tidings.resources.contact_import import Import, ImportReport
from tidings.resources.contact_store import NewContact, StoredShare, change_share
from tidings.resources.contact_story import ContactStory
from tidings.resources.pages import newest_in_all_shards
from tidings.storage import contacts
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.views.contacts import Contact, ContactOutcome, ErasedAddress, Imported, UpsertedContact
from tidings.views.pages import Page
from tidings.views.stories import StoryLine

__all__ = ["ContactFilter", "Contacts", "Import", "ImportReport"]

MOST_CONTACTS = 10_000
MOST_PROBLEMS = 100
Found = list[Contact]
Upserts = list[UpsertedContact]


@dataclass(frozen=True, slots=True)
class ContactFilter:
    """Which contacts; every condition that is given must hold."""

    company: str | None = None
    tag: str | None = None
    status: str | None = None
    text: str | None = None
    """A part of the name, an address, a number, the company or the external id, in upper or lower case."""
    external_id: str | None = None
    where: Mapping[str, object] | None = None
    """A filter as audiences have it."""

    @property
    def tree(self) -> AudienceFilter:
        """Return the conditions beside the external id."""
        given = {name: getattr(self, name) for name in LEAVES if hasattr(self, name)}
        filters = [Where(name, value) for name, value in given.items() if value is not None]
        return both(*filters, read_filter(self.where, "where")[0] if self.where else EVERYONE)


@for_caller
class Contacts:
    """The contacts of every workspace; a contact of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: object) -> tuple[Contact, ContactOutcome]:
        """Create a contact, or change the one with this external id; safe to repeat with an external id."""
        change = await self._dated(await self._read(caller, given))
        new = await contact_store.name_new(self._kernel, caller.workspace, change)
        if await contact_store.add(self._kernel, caller, new):
            return new.contact, ContactOutcome.CREATED
        made = await self._audited(caller, new)
        return await self.get(caller.workspace, made.id), made.change

    async def update(self, caller: Caller, contact: ContactReference, given: object) -> Contact:
        """Change the given fields of a contact; its external id never changes."""
        before = await self.get(caller.workspace, contact)
        id = before.id
        change = await self._dated(await self._read(caller, given))
        if change.external_id not in {None, before.external_id}:
            raise ContactsInvalid([Problem("externalId", f"is {before.external_id!r} and never changes")])
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)
        change = await self._known_addresses(caller.workspace, before, change)
        share = StoredShare(self._kernel.shard_of(id), caller.workspace, {before.external_id: change}, {}, now)

        async def write(tx: Tx) -> None:
            for one in (await change_share(tx, share, [before.external_id])).values():
                if one.change is ContactOutcome.UPDATED:
                    await self._audit(tx, caller, id, "updated", {"fields": change.given()}, now, entry)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def upsert_many(self, caller: Caller, given: Sequence[object]) -> Upserts:
        """Create or change many contacts by external id; if one has a problem, nothing is stored."""
        if not 1 <= len(given) <= MOST_CONTACTS:
            raise InputInvalid(f"{len(given)} contacts: give 1 to {MOST_CONTACTS} in one call")
        changes, problems, breaks = [], [], Breaks()
        numbers = await numbers_of(self._kernel, caller.workspace)
        for place, one in enumerate(given):
            await breaks.take_if_due()
            with numbers:
                change, wrong = read_contact(one, f"contacts[{place}]")
            changes.append(change)
            problems += wrong
            if len(problems) >= MOST_PROBLEMS:
                break
        if problems:
            raise ContactsInvalid(problems[:MOST_PROBLEMS])
        stored = await contact_store.upsert(self._kernel, caller.workspace, changes)
        await self._audit_many(caller, "upserted", Counter(str(one.change) for one in stored))
        return stored

    async def import_file(
        self, caller: Caller, file: ContactFile, chunks: AsyncIterable[bytes], watcher: Import | None = None
    ) -> Imported:
        """Store every valid line, a few thousand at a time, and report the problems of the others.

        A watcher that is a dry run stores nothing and says what would be stored.
        """
        report = await (watcher or Import()).run(self._kernel, caller.workspace, file, chunks)
        if not report.dry_run:
            await self._audit_many(caller, "imported", report.counts())
        return report

    async def get(self, workspace: Workspace, contact: ContactReference) -> Contact:
        """Return one contact by its id or external id, or raise NotFound."""
        found = await self._show(workspace, contact) if isinstance(contact, UUID) else []
        if not found:
            found = await self._show(workspace, await find_contact(self._kernel, workspace, contact))
        if not found:
            raise NotFound(f"there is no contact {str(contact)!r} in workspace {workspace.name!r}")
        return found[0]

    async def _show(self, workspace: Workspace, id: UUID) -> Found:
        show = partial(
            contacts.show_contacts,
            shard=self._kernel.shard_of(id),
            workspace=workspace,
            ids=[id],
        )
        return await self._kernel.db.persist(show, alone=True)

    async def find(self, workspace: Workspace, external_id: str) -> Contact:
        """Return the contact with an external id, or raise NotFound."""
        found = await self._find(workspace, external_id)
        if found is None:
            raise NotFound(f"there is no contact with external id {external_id!r}")
        return found

    async def list(
        self,
        workspace: Workspace,
        where: ContactFilter | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Contact]:
        """Return contacts, newest first: one query in each shard, merged by id."""
        where = _checked(where or ContactFilter())
        check_limit(limit)
        span = newest_first(cursor, created)
        if where.external_id is not None:
            found = await self._only(workspace, where)
            return Page([one for one in found if span.since <= one.id < span.before], None)
        find = partial(contacts.list_contacts, wanted=where.tree, now=await self._kernel.clock.now())
        return await newest_in_all_shards(self._kernel, workspace, find, span=span, limit=limit)

    async def delete(self, caller: Caller, contact: ContactReference) -> None:
        """Erase everything about a person and stop what is under way for them; what was sent still counts."""
        await delete_contact(self._kernel, caller, await find_contact(self._kernel, caller.workspace, contact))

    async def export(self, caller: Caller, contact: ContactReference) -> AsyncIterator[bytes]:
        """Return everything about a contact as one JSON document in pieces, or raise NotFound."""
        found = await self.get(caller.workspace, contact)
        return ContactExporter(self._kernel, caller).pieces(found)

    async def story(
        self,
        workspace: Workspace,
        contact: ContactReference,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[StoryLine]:
        """Return what happened to a contact over all products, newest first; also to a deleted one, by its id."""
        return await ContactStory(self._kernel).page(workspace, contact, limit, created, cursor)

    async def erase_address(
        self, caller: Caller, address: str, *, dry_run: bool = False, cursor: str | None = None
    ) -> ErasedAddress:
        """Erase what is stored about an address that is no contact's, some pages in each call until there is no cursor.

        Raise Conflict if it is a contact's: that contact is deleted first.
        """
        return await erase_address(self._kernel, caller, address, dry_run=dry_run, cursor=cursor)

    async def _find(self, workspace: Workspace, external_id: str) -> Contact | None:
        if not 1 <= len(external_id) <= LONGEST_EXTERNAL_ID or not is_storable(external_id):
            return None
        look = partial(
            contacts.find_contact,
            shard=Shard(contact_bucket(workspace, external_id) % self._kernel.shards),
            workspace=workspace,
            external_id=external_id,
        )
        return await self._kernel.db.persist(look, alone=True)

    async def _only(self, workspace: Workspace, where: ContactFilter) -> Found:
        found = await self._find(workspace, where.external_id or "")
        return [found] if found and matches(where.tree, found, await self._kernel.clock.now()) else []

    async def _read(self, caller: Caller, given: object) -> ContactChange:
        with await numbers_of(self._kernel, caller.workspace):
            change, problems = read_contact(given)
        if problems:
            raise ContactsInvalid(problems)
        return change

    async def _dated(self, change: ContactChange) -> ContactChange:
        """Return a change in which every consent and suppression has a time; the default is now."""
        at = (await self._kernel.clock.now()).isoformat()
        return msgspec.structs.replace(
            change,
            consent={channel: {"at": at, **entry} for channel, entry in change.consent.items()},
            suppressions={channel: {"at": at, **entry} for channel, entry in change.suppressions.items()},
        )

    async def _known_addresses(self, workspace: Workspace, before: Contact, change: ContactChange) -> ContactChange:
        """Add what is stored about addresses that are new to the contact; a suppression that is lifted is forgotten."""
        if change.no_suppressions:
            await suppressions.lift(self._kernel, workspace, before, change.no_suppressions)
            await suppressions.lift(self._kernel, workspace, change, change.no_suppressions)
        fresh = msgspec.structs.replace(
            change,
            **{name: _new(getattr(change, name), getattr(before, name)) for name in suppressions.ADDRESS_COLUMNS},
        )
        kept = await suppressions.born_with(self._kernel, workspace, {before.external_id: fresh})
        return suppressions.born(change, kept.get(before.external_id))

    async def _audited(self, caller: Caller, new: NewContact) -> UpsertedContact:
        # Made once for each contact, so that a repeat after an unknown commit adds none.
        entries, change, now = {new.contact.id: new.audit_id}, new.change, new.contact.created_at

        async def audit(tx: Tx, one: UpsertedContact) -> None:
            if one.change is not ContactOutcome.UNCHANGED:
                entry = entries.setdefault(one.id, self._kernel.new_id(bucket_of_id(one.id), now))
                await self._audit(tx, caller, one.id, one.change, {"fields": change.given()}, now, entry)

        ids = {new.contact.external_id: new.contact.id}
        [made] = await contact_store.upsert(self._kernel, caller.workspace, [change], audit, ids=ids)
        return made

    async def _audit(
        self,
        tx: Tx,
        caller: Caller,
        id: UUID,
        event: str,
        detail: Mapping[str, object],
        now: datetime,
        entry: UUID,
    ) -> None:
        await write_audit(self._kernel, tx, caller, [AuditEntry("contact", id, event, detail, entry)], now)

    async def _audit_many(self, caller: Caller, event: str, counts: Mapping[str, int]) -> None:
        """Write one audit entry for the whole call; its subject is an id made for the call."""
        now = await self._kernel.clock.now()
        bucket = Bucket(int(self._kernel.spread() * BUCKETS))
        call, entry = self._kernel.new_id(bucket, now), self._kernel.new_id(bucket, now)
        await self._kernel.db.persist(lambda tx: self._audit(tx, caller, call, event, counts, now, entry), alone=True)


def _checked(where: ContactFilter) -> ContactFilter:
    """Return the filter without empty strings; a value that cannot be stored is not looked for."""
    given = {name: value for name, value in asdict(where).items() if value and value != {"all": True}}
    problems = [
        Problem(name, f"use at most {LONGEST_TEXT} characters, none of them NUL")
        for name, value in given.items()
        if isinstance(value, str) and (len(value) > LONGEST_TEXT or not is_storable(value))
    ]
    problems += read_filter(given["where"], "where")[1] if "where" in given else []
    if problems:
        raise ContactsInvalid(problems)
    return ContactFilter(**given)


def _new(given: str | Sequence[str] | None, before: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    """Return those addresses, of one or several, that were not there before."""
    if given is None or isinstance(given, str):
        return None if given == before else given
    return tuple(one for one in given if one not in (before or ()))
