"""Idempotency keys: deterministic, 32 bytes, never made from an address, which may be edited."""

from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from tidings.domain.flow.ids import length_prefixed
from tidings.domain.flow.item import Channel

_UUID_CHARS = 36
_WORKFLOW = length_prefixed(("workflow",)) + _UUID_CHARS.to_bytes(4, "big")
"""The prefix of every execution's keys: the id that follows always has the same length."""


def workflow_key(execution: UUID, node: str, visit: int, ordinal: int) -> bytes:
    """The key of a workflow's item: execution · node · visit · recipient ordinal."""
    return sha256(_WORKFLOW + str(execution).encode() + _place(node, visit, ordinal)).digest()


def campaign_key(channel: Channel, run: UUID, recipient: str, content: str, scheduled_for: str | None) -> bytes:
    """The key of a campaign's item, of the parts that the execution contract names.

    `recipient` is the contact's id (for a plain list its ordinal; for social the post's id); `content` is the asset's
    id, for a script its version, for social the channel posted to.
    """
    head, tail = campaign_key_parts(channel, run, content, scheduled_for)
    return sha256(head + length_prefixed((recipient,)) + tail).digest()


def campaign_key_parts(channel: Channel, run: UUID, content: str, scheduled_for: str | None) -> tuple[bytes, bytes]:
    """The parts of a run's keys before and after the recipient; campaign_key() in SQL joins them."""
    return length_prefixed(("campaign", channel, str(run))), length_prefixed((content, scheduled_for))


def retry_key(item: UUID) -> bytes:
    """The key of an item that tries a failed one again: the failed item and nothing else, so it is retried once."""
    return _digest("retry", str(item))


def rule_key(event: UUID, rule: UUID, step: UUID, ordinal: int) -> bytes:
    """The key of a rule's item: event · rule · step · recipient ordinal."""
    return _digest("rule", str(event), str(rule), str(step), str(ordinal))


def fallback_key(event: UUID, channel: Channel, audience: str) -> bytes:
    """The key of what stands in for a rule: event · channel · audience, so that it runs once for each event."""
    return _digest("fallback", str(event), channel, audience)


@lru_cache(maxsize=4096)
def _place(node: str, visit: int, ordinal: int) -> bytes:
    """The part that the executions of a graph share."""
    return length_prefixed((node, str(visit), str(ordinal)))


def _digest(*parts: str | None) -> bytes:
    return sha256(length_prefixed(parts)).digest()
