"""Senders as people manage them, and as messages are written with them.

Reached from resources/senders.py and kernel/senders.py.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tidings.domain.content.sender import SenderIdentity, WorkspaceSenders
from tidings.domain.flow.ids import Workspace, workspace_of
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.senders import NamedSender

_SQL = load("senders")


@_SQL.statement
async def insert_sender(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    name: str,
    display_name: str | None,
    addresses: Mapping[str, str],
    reply_to: str | None,
    now: datetime,
) -> UUID | None:
    """Make a sender; None when its name is taken."""


@_SQL.statement
async def change_sender(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    display_name: str | None,
    addresses: Mapping[str, str],
    reply_to: str | None,
    now: datetime,
) -> UUID | None:
    """Write a sender; None when it does not exist."""


@_SQL.statement
async def put_default_senders(tx: Tx, *, workspace: Workspace, id: UUID, channels: Sequence[str]) -> None:
    """Let messages over these channels be from a sender when they name nobody."""


@_SQL.statement
async def clear_default_senders(tx: Tx, *, workspace: Workspace, id: UUID, channels: Sequence[str]) -> list[str]:
    """Take all other channels from a sender, and return them."""


@_SQL.statement
async def show_sender(
    tx: Tx, *, workspace: Workspace, id: UUID | None = None, name: str | None = None
) -> NamedSender | None:
    """One sender by id or by name, if there is one."""


@_SQL.statement
async def list_senders(tx: Tx, *, workspace: Workspace, span: Span, limit: int) -> list[NamedSender]:
    """Senders, newest first."""


@_SQL.statement
async def delete_sender(tx: Tx, *, workspace: Workspace, id: UUID) -> UUID | None:
    """Remove a sender; None when it does not exist."""


@_SQL.statement
async def find_sender_users(tx: Tx, *, workspace: Workspace, name: str, limit: int) -> list[str]:
    """What names a sender, in words."""


async def read_senders(tx: Tx, *, workspaces: Sequence[Workspace]) -> Mapping[Workspace, WorkspaceSenders]:
    """The senders of workspaces; one without any has an empty record."""
    rows = await tx.fetch(
        _SQL["read_senders"],
        tenants=[one.tenant for one in workspaces],
        workspaces=[one.name for one in workspaces],
    )
    identities: dict[Workspace, dict[str, SenderIdentity]] = defaultdict(dict)
    defaults: dict[Workspace, dict[str, str]] = defaultdict(dict)
    for row in rows:
        home = workspace_of(row["tenant_id"], row["workspace_id"])
        name = row["name"]
        identities[home][name] = SenderIdentity(name, row["display_name"], row["addresses"], row["reply_to"])
        defaults[home] |= dict.fromkeys(row["default_for"], name)
    return {one: WorkspaceSenders(identities.get(one, {}), defaults.get(one, {})) for one in workspaces}
