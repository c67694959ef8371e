"""Ids that carry their place: a time-ordered UUID whose 12 free bits are a permanent bucket.

Whatever must not happen twice always has the same bucket, so a unique index that begins with the shard is a unique
index. `shard` is the bucket modulo the number of shards stored in the database. storage/schema.sql computes the same
in SQL; tests/domain/vectors.json checks both.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import md5, sha256
from typing import NewType
from uuid import UUID

from tidings.domain.errors import InputInvalid
from tidings.domain.storable import is_storable

BUCKETS = 4096
COUNTED_BITS = 22
"""How many ids may be counted up from a first one, in bits: 20 addresses of 10,000 contacts are fewer."""
LONGEST_PART = 200
"""Bytes of a tenant's or a workspace's name: an entry of an index holds both, and the longest idempotency key."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

Bucket = NewType("Bucket", int)
Shard = NewType("Shard", int)


def length_prefixed(parts: tuple[str | None, ...]) -> bytes:
    """Encode parts so that no two different lists have the same bytes; None counts as empty."""
    encoded = [(part or "").encode() for part in parts]
    return b"".join([len(part).to_bytes(4, "big") + part for part in encoded])


def bucket_of(tenant: str, workspace: str, unique: str) -> Bucket:
    """The bucket of the thing that must be unique in a workspace: a contact's external id, a trigger's key."""
    return bucket_of_hash(sha256(length_prefixed((tenant, workspace, unique))).digest())


def bucket_of_hash(digest: bytes) -> Bucket:
    """The bucket of what is known by a hash: its first 12 bits."""
    return Bucket(int.from_bytes(digest[:2], "big") >> 4)


@dataclass(frozen=True, slots=True)
class Workspace:
    """One workspace of a tenant: nothing in it is visible from another."""

    tenant: str = "default"
    name: str = "default"

    def __post_init__(self) -> None:
        for what, given in (("tenant", self.tenant), ("workspace", self.name)):
            if not (given.isascii() and 0 < len(given) <= LONGEST_PART and "\x00" not in given):
                _check_part(what, given)

    def bucket_of(self, unique: str) -> Bucket:
        """The bucket of something that must be unique here."""
        return bucket_of(self.tenant, self.name, unique)

    @property
    def hash(self) -> int:
        """Whose work a row of the queue is, as a number; workspace_hash in storage/schema.sql computes the same."""
        return workspace_hash(self.tenant, self.name)


HALF = 32
"""How many bits of a workspace's hash say the workspace; those before them say its tenant."""


@lru_cache(maxsize=4096)
def workspace_hash(tenant: str, workspace: str) -> int:
    """A signed 64-bit number: the first half is of the tenant, the second of the workspace."""
    halves = sha256(length_prefixed((tenant,))).digest()[:4] + sha256(length_prefixed((tenant, workspace))).digest()[:4]
    return int.from_bytes(halves, "big", signed=True)


def tenant_part(workspace: int) -> int:
    """The half of a workspace's hash that all workspaces of its tenant share."""
    return workspace >> HALF


def _check_part(what: str, given: str) -> None:
    if not given or not is_storable(given) or len(given.encode()) > LONGEST_PART:
        raise InputInvalid(f"{what} {given[:50]!r}: use a name of 1 to {LONGEST_PART} bytes, none of them NUL")


@lru_cache(maxsize=4096)
def workspace_of(tenant: str, name: str) -> Workspace:
    """Return the same Workspace object for the same names: hundreds of rows share one."""
    return Workspace(tenant, name)


def make_id(bucket: Bucket, at: datetime, random_bits: int) -> UUID:
    """A version 7 UUID: milliseconds, then the bucket, then 62 random bits."""
    return UUID(int=id_bits(bucket, at, random_bits))


def id_bits(bucket: Bucket, at: datetime, random_bits: int) -> int:
    """The 128 bits of such an id."""
    low = random_bits & 0x3FFF_FFFF_FFFF_FFFF
    return milliseconds_of(at) << 80 | 7 << 76 | bucket << 64 | 2 << 62 | low


@lru_cache(maxsize=16)
def milliseconds_of(at: datetime) -> int:
    """The first part of an id; ids of one batch share it.

    In whole numbers, as new_id in storage/schema.sql has it: a float would be a millisecond short now and then.
    """
    return (at - EPOCH) // MILLISECOND & 0xFFFF_FFFF_FFFF


def first_id_at(at: datetime) -> UUID:
    """The smallest id that is made at this time or later; whatever was made before has a smaller one."""
    return UUID(int=milliseconds_of(max(at, EPOCH)) << 80)


def made_at(id: UUID) -> datetime:
    """When an id was made, to the millisecond."""
    return datetime.fromtimestamp((id.int >> 80) / 1000, UTC)


def first_of_many(id: UUID) -> UUID:
    """An id from which a statement counts up others."""
    return UUID(int=id.int >> COUNTED_BITS << COUNTED_BITS)


def counted_from(first: UUID) -> tuple[str, int]:
    """A first id as a statement counts from it: its first half as a string, its second as a signed 64-bit number."""
    tail = first.int & 0xFFFF_FFFF_FFFF_FFFF
    return first.hex[:16], tail - (1 << 64) if tail >> 63 else tail


def enrollment_id(contact: UUID, number: int, salt: str, at: datetime) -> UUID:
    """The id of a contact's n-th enrollment, as one call makes it: in the contact's bucket, and the same at each try.

    `salt` is the call's own. enrollment_id in storage/schema.sql makes the same, a chunk of contacts at a time.
    """
    digest = md5(f"{contact}:{number}:{salt}".encode(), usedforsecurity=False).digest()
    return make_id(bucket_of_id(contact), at, int.from_bytes(digest[:8], "big") >> 4)


def bucket_of_id(value: UUID) -> Bucket:
    """The bucket inside an id."""
    return Bucket((value.int >> 64) & 0xFFF)


def shard_of(value: UUID, shards: int) -> Shard:
    """The shard an id lives in."""
    return Shard(bucket_of_id(value) % shards)


def part_bucket(run: UUID, shard: Shard, shards: int) -> Bucket:
    """The bucket of a run's jobs in one shard.

    Every job and item of one part shares it, so they stay together when the number of shards changes; the run's own
    bucket spreads the parts of different runs.
    """
    return Bucket(shard + shards * (bucket_of_id(run) % (BUCKETS // shards)))
