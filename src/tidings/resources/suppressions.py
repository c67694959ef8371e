"""What stays of deleted people: that their addresses want nothing more, as hashes that name nobody.

A new contact with such an address is suppressed from the start. Used by contact_erasure.py, contacts.py and
contact_store.py; a hash has a shard of its own, so each is read and written there.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial

import msgspec

from tidings.domain.channels import CONTACT_CHANNELS, Channel
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_hash
from tidings.domain.people.contact import addresses_of, refusal, suppression_hash
from tidings.domain.people.contact_fields import ContactChange, Entries, Json, SuppressionReason, camel_case
from tidings.domain.timing import parse_time
from tidings.kernel.kernel import Kernel
from tidings.storage import suppressions
from tidings.storage.suppressions import Kept
from tidings.views.contacts import Contact
from tidings.views.exports import KeptSuppression

HasAddresses = ContactChange | Contact
ADDRESS_COLUMNS = tuple(dict.fromkeys(name for channel in CONTACT_CHANNELS for name in channel.traits.address_fields))


async def keep(kernel: Kernel, workspace: Workspace, contact: Contact, now: datetime) -> None:
    """Remember every address over which a contact wants nothing more."""
    kept = {
        suppression_hash(workspace, channel, address): _kept(contact, channel, now)
        for channel in CONTACT_CHANNELS
        if refusal(contact.consent, contact.suppressions, channel)
        for address in addresses_of(addresses_in(contact), channel)
    }
    for shard, hashes in _by_shard(kernel, kept).items():
        share = {one: kept[one] for one in hashes}
        await kernel.db.persist(partial(suppressions.keep_suppressions, shard=shard, kept=share), alone=True)


def _kept(contact: Contact, channel: Channel, now: datetime) -> Kept:
    entry = contact.suppressions.get(channel) or contact.consent.get(channel) or {}
    since = now
    with suppress(ValueError):  # an entry without a time
        since = parse_time(str(entry.get("at")))
    return Kept(str(entry.get("reason", SuppressionReason.UNSUBSCRIBED)), since)


async def lift(kernel: Kernel, workspace: Workspace, one: HasAddresses, channels: Collection[str]) -> None:
    """Forget the suppressions of a contact's addresses over channels on which they may be written to again."""
    hashes = [
        suppression_hash(workspace, channel, address)
        for channel in CONTACT_CHANNELS
        if channel in channels
        for address in addresses_of(addresses_in(one), channel)
    ]
    for shard, share in _by_shard(kernel, hashes).items():
        await kernel.db.persist(partial(suppressions.lift_suppressions, shard=shard, hashes=share), alone=True)


async def born_with(
    kernel: Kernel, workspace: Workspace, changes: Mapping[str, ContactChange]
) -> Mapping[str, Entries]:
    """Return suppressions for contacts that are new, by external id; what a change says itself takes precedence."""
    # One contact's hashes are looked for in no more shards than there are; for a file of them, hashing is most of it.
    if len(changes) > 1 and not await _has_any(kernel):
        return {}
    wanted: dict[bytes, list[tuple[str, Channel]]] = defaultdict(list)
    for external_id, change in changes.items():
        for channel in CONTACT_CHANNELS:
            if channel not in change.no_suppressions:
                for address in addresses_of(addresses_in(change), channel):
                    wanted[suppression_hash(workspace, channel, address)].append((external_id, channel))
    born: dict[str, dict[str, Json]] = defaultdict(dict)
    for found, kept in (await _find(kernel, wanted)).items():
        for external_id, channel in wanted[found]:
            born[external_id][channel] = {"reason": kept.reason, "at": kept.since.isoformat()}
    return born


async def kept_for(kernel: Kernel, workspace: Workspace, contact: Contact) -> list[KeptSuppression]:
    """Return what is stored, as hashes, about a contact's addresses."""
    wanted = {
        suppression_hash(workspace, channel, address): channel
        for channel in CONTACT_CHANNELS
        for address in addresses_of(addresses_in(contact), channel)
    }
    found = await _find(kernel, wanted)
    return [KeptSuppression(channel=wanted[one], reason=kept.reason, since=kept.since) for one, kept in found.items()]


def born(change: ContactChange, entries: Entries | None) -> ContactChange:
    """Return the change of a new contact, with what is known about its addresses."""
    return msgspec.structs.replace(change, suppressions={**entries, **change.suppressions}) if entries else change


def addresses_in(one: HasAddresses) -> Json:
    """Return the addresses in a contact's data, as templates see it."""
    return {camel_case(name): getattr(one, name) for name in ADDRESS_COLUMNS}


async def _has_any(kernel: Kernel) -> bool:
    found = await asyncio.gather(
        *(
            kernel.db.persist(partial(suppressions.has_suppressions, shard=shard), alone=True)
            for shard in kernel.every_shard()
        )
    )
    return any(found)


async def _find(kernel: Kernel, hashes: Iterable[bytes]) -> Mapping[bytes, Kept]:
    found = await asyncio.gather(
        *(
            kernel.db.persist(partial(suppressions.find_suppressions, shard=shard, hashes=share), alone=True)
            for shard, share in _by_shard(kernel, hashes).items()
        )
    )
    return {address: kept for share in found for address, kept in share.items()}


def _by_shard(kernel: Kernel, hashes: Iterable[bytes]) -> Mapping[Shard, list[bytes]]:
    shares: dict[Shard, list[bytes]] = defaultdict(list)
    for one in hashes:
        shares[Shard(bucket_of_hash(one) % kernel.shards)].append(one)
    return shares
