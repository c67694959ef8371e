"""Idempotency keys: deterministic, 32 bytes, never made from an address, which may be edited.

The first 8 bytes say where a key stands, laid out like those of an id: the time of its owner (of the execution, the
event or the run, never of a job) and the bucket that its item's id has. So keys that are made together stand together
in their index, and the database can refuse a key outside its shard. The other 24 are the first of sha256 over the parts
that make an item one of a kind, and decide alone whether two keys of one place are the same.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from tidings.domain.flow.ids import EPOCH, MILLISECOND, Bucket, Workspace, length_prefixed
from tidings.domain.flow.item import Channel

PLACE_BYTES, HASH_BYTES = 8, 24
CALLER_HASH_BYTES = 16
_TIME_BYTES, _VERSION = 6, 7
_LAST_MILLISECOND = 253_402_300_799_999
"""The end of the year 9999, the last that a datetime can name."""
_UUID_CHARS = 36
_WORKFLOW = length_prefixed(("workflow",)) + _UUID_CHARS.to_bytes(4, "big")
"""The prefix of every execution's keys: the id that follows always has the same length."""


def workflow_key(execution: UUID, node: str, visit: int, ordinal: int) -> bytes:
    """The key of a workflow's item: execution · node · visit · recipient ordinal."""
    digest = sha256(_WORKFLOW + str(execution).encode() + _node(node, visit, ordinal)).digest()
    return execution.bytes[:PLACE_BYTES] + digest[:HASH_BYTES]


def campaign_key(
    channel: Channel, run: UUID, bucket: Bucket, recipient: str, content: str, scheduled_for: str | None
) -> bytes:
    """The key of a campaign's item, of the parts that the execution contract names.

    `recipient` is the contact's id (for a plain list its ordinal; for social the post's id); `content` is the asset's
    id, for a script its version, for social the channel posted to. `bucket` is that of the run's part in the shard.
    """
    head, tail = campaign_key_parts(channel, run, content, scheduled_for)
    digest = sha256(head + length_prefixed((recipient,)) + tail).digest()
    return campaign_key_place(run, bucket) + digest[:HASH_BYTES]


def campaign_key_place(run: UUID, bucket: Bucket) -> bytes:
    """Where the keys of a run's part stand."""
    return run.bytes[:_TIME_BYTES] + (_VERSION << 12 | bucket).to_bytes(PLACE_BYTES - _TIME_BYTES, "big")


def campaign_key_parts(channel: Channel, run: UUID, content: str, scheduled_for: str | None) -> tuple[bytes, bytes]:
    """The parts of a run's keys before and after the recipient; campaign_key() in SQL joins them."""
    return length_prefixed(("campaign", channel, str(run))), length_prefixed((content, scheduled_for))


def retry_key(item: UUID) -> bytes:
    """The key of an item that tries a failed one again: the failed item and nothing else, so it is retried once."""
    return _key(item, "retry", str(item))


def rule_key(event: UUID, rule: UUID, step: UUID, ordinal: int) -> bytes:
    """The key of a rule's item: event · rule · step · recipient ordinal."""
    return _key(event, "rule", str(event), str(rule), str(step), str(ordinal))


def fallback_key(event: UUID, channel: Channel, audience: str) -> bytes:
    """The key of what stands in for a rule: event · channel · audience, so that it runs once for each event."""
    return _key(event, "fallback", str(event), channel, audience)


def owner_time(key: bytes) -> datetime:
    """When the owner of a key's item began, in milliseconds: what happened then is what the item tells of."""
    since = int.from_bytes(key[:_TIME_BYTES], "big")
    return EPOCH + min(since, _LAST_MILLISECOND) * MILLISECOND


@lru_cache(maxsize=4096)
def key_scope(tenant: str, workspace: str, within: str) -> bytes:
    """Where a caller's own key is unique: within a workflow's id or, with none, in the whole workspace."""
    return length_prefixed((tenant, workspace, within))


def key_hash(scope: bytes, key: str) -> bytes:
    """What an index holds of a caller's own key; key_hash() in SQL makes the same.

    Whoever finds a hash compares the key: two keys with one hash are told apart, and the second is refused.
    """
    return sha256(scope + length_prefixed((key,))).digest()[:CALLER_HASH_BYTES]


def key_hashes(workspace: Workspace, within: str, keys: Iterable[str]) -> list[bytes]:
    """The hashes of keys that are unique within something, or, where that is empty, in the whole workspace."""
    scope = key_scope(workspace.tenant, workspace.name, within)
    return [key_hash(scope, key) for key in keys]


@lru_cache(maxsize=4096)
def _node(node: str, visit: int, ordinal: int) -> bytes:
    """The part that the executions of a graph share."""
    return length_prefixed((node, str(visit), str(ordinal)))


def _key(owner: UUID, *parts: str | None) -> bytes:
    return owner.bytes[:PLACE_BYTES] + sha256(length_prefixed(parts)).digest()[:HASH_BYTES]
