"""Contacts as callers name them, by id or by external id: every command and operation that takes one uses this.

A reference that is a contact's id names that contact, even if another has it as its external id. Reached from check.py
and event_people.py, and from resources/.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from tidings.domain.errors import NotFound, Problem
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.audience import MOST_IDS, SPELLINGS
from tidings.domain.people.contact import ContactReference, contact_bucket
from tidings.domain.people.contact_fields import LONGEST_EXTERNAL_ID
from tidings.domain.storable import is_storable
from tidings.kernel.kernel import Kernel
from tidings.storage import people
from tidings.storage.people import NamedContact

Found = Mapping[ContactReference, UUID]
CONTACTS, EXCLUDED = "contact_ids", "exclude_contact_ids"


@dataclass(slots=True)
class _Share:
    """The references to look up in one shard."""

    ids: set[UUID] = field(default_factory=set)
    external_ids: set[str] = field(default_factory=set)


async def find_contacts(
    kernel: Kernel, workspace: Workspace, references: Iterable[ContactReference | None], *, deleted: bool = False
) -> Found:
    """Return the ids of contacts by reference, with one statement for each shard; unknown references are left out.

    With `deleted`, contacts that were deleted are found by their ids: what was meant for them can still be read.
    """
    found = await _look(kernel, workspace, {one for one in references if one is not None})
    return {one: contact.id for one, contact in found.items() if deleted or not contact.is_deleted}


async def _look(
    kernel: Kernel, workspace: Workspace, named: Collection[ContactReference]
) -> Mapping[ContactReference, NamedContact]:
    shares = _in_their_shards(kernel, workspace, named)
    look = partial(people.find_named_contacts, workspace=workspace)
    found = await asyncio.gather(
        *(
            kernel.db.persist(partial(look, shard=shard, ids=[*one.ids], external_ids=[*one.external_ids]), alone=True)
            for shard, one in shares.items()
        )
    )
    contacts = [one for share in found for one in share]
    by_id: dict[UUID | None, NamedContact] = {one.id: one for one in contacts if one.external_id is None}
    by_external_id = {one.external_id: one for one in contacts if one.external_id is not None}
    meant = {one: by_id.get(_id_of(one)) or by_external_id.get(str(one)) for one in named}
    return {one: contact for one, contact in meant.items() if contact is not None}


async def find_contact(
    kernel: Kernel, workspace: Workspace, reference: ContactReference, *, deleted: bool = True
) -> UUID:
    """Return the id of one contact, or raise NotFound."""
    found = await find_contacts(kernel, workspace, [reference], deleted=deleted)
    if reference not in found:
        raise NotFound(f"there is no contact {str(reference)!r} in workspace {workspace.name!r}")
    return found[reference]


def no_contact(place: str, reference: object) -> Problem:
    """The problem of a field that names no existing contact."""
    named = str(reference)[:LONGEST_EXTERNAL_ID]
    return Problem(place, f"there is no contact {named!r} in this workspace; create it first, or leave it out")


@dataclass(frozen=True, slots=True)
class NamedAudience:
    """An audience as it was given, with ids in place of references."""

    given: object
    known: object
    """The audience without the contacts that do not exist."""
    unknown: Sequence[Problem]
    """Named contacts that do not exist: a mistake that would otherwise go unnoticed."""
    unknown_exclusions: Sequence[Problem]


async def name_audience(kernel: Kernel, workspace: Workspace, given: object, place: str) -> NamedAudience:
    """Look up the contacts that an audience names one by one; read_audience reports every other problem.

    An excluded contact may be missing, deleted meanwhile: that causes no message.
    """
    lists = _contact_lists(given)
    if not lists or not isinstance(given, Mapping):
        return NamedAudience(given, given, [], [])
    found = await _look(kernel, workspace, {one for some in lists.values() for one in some if _is_reference(one)})
    ever = {one: contact.id for one, contact in found.items()}
    there = {one: contact.id for one, contact in found.items() if not contact.is_deleted}
    named, known = {**given}, {**given}
    unknown: dict[str, list[Problem]] = {CONTACTS: [], EXCLUDED: []}
    for spelled, some in lists.items():
        ids = ever if SPELLINGS[spelled] == EXCLUDED else there
        named[spelled] = [ids.get(one, one) if _is_reference(one) else one for one in some]
        missing = {at: one for at, one in enumerate(some) if _is_reference(one) and one not in ids}
        known[spelled] = [one for at, one in enumerate(named[spelled]) if at not in missing]
        unknown[SPELLINGS[spelled]] += [
            no_contact(f"{place}.{spelled}[{at}]".lstrip("."), one) for at, one in missing.items()
        ]
    return NamedAudience(named, known, unknown[CONTACTS], unknown[EXCLUDED])


def _contact_lists(given: object) -> Mapping[str, Sequence[Any]]:
    """The lists of contacts in an audience; one that is too long is not looked up."""
    if not isinstance(given, Mapping):
        return {}
    return {
        spelled: some
        for spelled, some in given.items()
        if SPELLINGS.get(spelled) in {CONTACTS, EXCLUDED} and isinstance(some, list | tuple) and len(some) <= MOST_IDS
    }


def _is_reference(one: object) -> bool:
    return isinstance(one, UUID | str)


def _in_their_shards(kernel: Kernel, workspace: Workspace, named: Iterable[ContactReference]) -> Mapping[Shard, _Share]:
    shares: dict[Shard, _Share] = defaultdict(_Share)
    for one in named:
        text, id = str(one), _id_of(one)
        if id is not None:
            shares[kernel.shard_of(id)].ids.add(id)
        if 1 <= len(text) <= LONGEST_EXTERNAL_ID and is_storable(text):
            shares[Shard(contact_bucket(workspace, text) % kernel.shards)].external_ids.add(text)
    return shares


def _id_of(reference: ContactReference) -> UUID | None:
    """Parse a reference as an id, if it reads as one; it may still be an external id."""
    if isinstance(reference, UUID):
        return reference
    try:
        return UUID(reference)
    except ValueError:
        return None
