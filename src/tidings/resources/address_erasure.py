"""Erase a person by their address, for people who are no contacts: some pages in one call, and a cursor for the next.

Everything of a workspace is read once, shard by shard; kernel/people/erase_address.py does a page. The audit log says
that it was done, with a hash in place of the address. Used by contacts.py.
"""

from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.ids import BUCKETS, Bucket, Shard
from tidings.domain.people.sought import SoughtAddress, seek_address
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.erase_address import STAGES, Erasing, erase_page
from tidings.kernel.phone_region import numbers_of
from tidings.views.contacts import ErasedAddress

PAGES = 25
"""How many pages one call looks through: a second or two."""
Place = tuple[int, Shard, UUID | None]
"""Where an erasure is: its stage, its shard, and the last id that was looked at there."""


async def erase_address(
    kernel: Kernel, caller: Caller, address: str, *, dry_run: bool = False, cursor: str | None = None
) -> ErasedAddress:
    """Look through the next pages of a workspace and erase what is about an address, or only count it."""
    with await numbers_of(kernel, caller.workspace):
        sought = seek_address(address)
    place: Place | None = _read_cursor(kernel, cursor)
    erasing = Erasing(kernel, caller.workspace, sought, await kernel.clock.now(), dry_run)
    if not dry_run:
        await _audit(kernel, caller, sought)  # each call: one that begins half-way erases, too
    for _ in range(PAGES):
        if place is None:
            break
        stage, shard, after = place
        place = _next(kernel, place, await erase_page(erasing, STAGES[stage], shard, after))
    return ErasedAddress(
        hash=sought.hash_in(caller.workspace).hex(),
        dry_run=dry_run,
        **erasing.found,
        progress=_progress(kernel, place),
        next_cursor=_cursor(place),
    )


def _next(kernel: Kernel, place: Place, reached: UUID | None) -> Place | None:
    stage, shard, _ = place
    if reached is not None:
        return stage, shard, reached
    if shard + 1 < kernel.shards:
        return stage, Shard(shard + 1), None
    return (stage + 1, Shard(0), None) if stage + 1 < len(STAGES) else None


def _progress(kernel: Kernel, place: Place | None) -> float:
    """How many of the stages in all shards are done."""
    if place is None:
        return 1.0
    stage, shard, _ = place
    return round((stage * kernel.shards + shard) / (len(STAGES) * kernel.shards), 3)


def _cursor(place: Place | None) -> str | None:
    if place is None:
        return None
    stage, shard, after = place
    return f"{STAGES[stage]}.{int(shard)}.{after or ''}"


def _read_cursor(kernel: Kernel, cursor: str | None) -> Place:
    if cursor is None:
        return 0, Shard(0), None
    try:
        stage, shard, after = cursor.split(".")
        place = [str(one) for one in STAGES].index(stage), Shard(int(shard)), UUID(after) if after else None
    except ValueError:
        place = 0, Shard(-1), None
    if not 0 <= place[1] < kernel.shards:
        raise FieldsInvalid([Problem("cursor", "is none: give the nextCursor of the answer before, or leave it out")])
    return place


async def _audit(kernel: Kernel, caller: Caller, sought: SoughtAddress) -> None:
    """Write one entry for a call; its subject is an id made for it."""
    now = await kernel.clock.now()
    bucket = Bucket(int(kernel.spread() * BUCKETS))
    detail = {"hash": sought.hash_in(caller.workspace).hex()}
    entry = AuditEntry("contact", kernel.new_id(bucket, now), "address_erased", detail, kernel.new_id(bucket, now))
    await kernel.db.persist(lambda tx: write_audit(kernel, tx, caller, [entry], now), alone=True)
