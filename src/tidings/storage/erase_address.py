"""Find what mentions an address, page by page, and take it out. Reached from kernel/people/erase_address.py."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.people.sought import SoughtAddress
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("erase_address")


class Mention(msgspec.Struct, frozen=True):
    """A record that mentions an address: it is that person's own, or somebody else's; open while work is under way."""

    id: UUID
    is_own: bool = False
    is_live: bool = False


class MentionedItem(msgspec.Struct, frozen=True):
    """An item that goes to an address or mentions it, with its place on its run's list."""

    id: UUID
    is_own: bool
    is_live: bool
    run_id: UUID | None
    ordinal: int


class MentioningEvent(msgspec.Struct, frozen=True):
    """An event that mentions an address, and which of its people does."""

    id: UUID
    is_lead: bool
    is_partner: bool
    is_agent: bool


class ListedMention(msgspec.Struct, frozen=True):
    """A place on a run's plain list that mentions an address."""

    run_id: UUID
    ordinal: int
    is_own: bool


@_SQL.statement
async def end_of_contacts(tx: Tx, *, shard: Shard, workspace: Workspace, after: UUID | None, size: int) -> UUID | None:
    """Where a page of contacts ends; None when it is the last."""


@_SQL.statement
async def end_of_executions(
    tx: Tx, *, shard: Shard, workspace: Workspace, after: UUID | None, size: int
) -> UUID | None:
    """Where a page of executions ends."""


@_SQL.statement
async def end_of_events(tx: Tx, *, shard: Shard, workspace: Workspace, after: UUID | None, size: int) -> UUID | None:
    """Where a page of events ends."""


@_SQL.statement
async def end_of_items(tx: Tx, *, shard: Shard, after: UUID | None, size: int) -> UUID | None:
    """Where a page of items ends."""


@_SQL.statement
async def end_of_audit(tx: Tx, *, shard: Shard, after: UUID | None, size: int) -> UUID | None:
    """Where a page of the audit log ends."""


@_SQL.statement
async def seek_contacts(
    tx: Tx, *, shard: Shard, workspace: Workspace, sought: SoughtAddress, after: UUID | None, upto: UUID | None
) -> list[Mention]:
    """Contacts that have or mention the address."""


@_SQL.statement
async def seek_executions(
    tx: Tx, *, shard: Shard, workspace: Workspace, sought: SoughtAddress, after: UUID | None, upto: UUID | None
) -> list[Mention]:
    """Executions that mention the address."""


@_SQL.statement
async def seek_events(
    tx: Tx, *, shard: Shard, workspace: Workspace, sought: SoughtAddress, after: UUID | None, upto: UUID | None
) -> list[MentioningEvent]:
    """Events that mention the address."""


@_SQL.statement
async def seek_items(
    tx: Tx, *, shard: Shard, workspace: Workspace, sought: SoughtAddress, after: UUID | None, upto: UUID | None
) -> list[MentionedItem]:
    """Items that go to the address or mention it."""


@_SQL.statement
async def seek_audit(
    tx: Tx, *, shard: Shard, workspace: Workspace, sought: SoughtAddress, after: UUID | None, upto: UUID | None
) -> list[Mention]:
    """Entries of the audit log that mention the address."""


@_SQL.statement
async def list_unplanned_lists(tx: Tx, *, shard: Shard, workspace: Workspace) -> list[UUID]:
    """Runs of one shard whose plain list is not all planned."""


@_SQL.statement
async def seek_listed(
    tx: Tx, *, shard: Shard, run_ids: Sequence[UUID], sought: SoughtAddress, limit: int
) -> list[ListedMention]:
    """People on lists who have the address, or about whom it is said."""


@_SQL.statement
async def find_leased(tx: Tx, *, shard: Shard, ids: Sequence[UUID]) -> list[UUID]:
    """Those that a worker holds."""


@_SQL.statement
async def redact_contacts(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of contacts."""


@_SQL.statement
async def redact_executions(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of executions that have ended."""


@_SQL.statement
async def redact_log(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of the log of executions."""


@_SQL.statement
async def redact_events(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of events."""


@_SQL.statement
async def redact_items(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of items that have ended."""


@_SQL.statement
async def redact_attempts(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of failed attempts."""


@_SQL.statement
async def redact_listed(
    tx: Tx, *, shard: Shard, run_ids: Sequence[UUID], ordinals: Sequence[int], pattern: str
) -> None:
    """Take the address out of what lists say."""


@_SQL.statement
async def redact_audit(tx: Tx, *, shard: Shard, ids: Sequence[UUID], pattern: str) -> None:
    """Take the address out of audit entries."""
