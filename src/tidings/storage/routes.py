"""Which provider serves a channel.

Reached from kernel/readiness.py, which remembers them, and from resources/.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from tidings.domain.flow.ids import Workspace, workspace_of
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import PRINTING
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("routes")


class ChannelRoute(Struct, frozen=True):
    """Which provider serves a channel, who said so and since when; without a workspace, in every workspace."""

    workspace: Workspace | None
    channel: Channel
    provider: str
    source: str
    since: datetime


async def list_routes(tx: Tx) -> list[ChannelRoute]:
    """All routes, those for every workspace first."""
    return [_route(row) for row in await tx.fetch(_SQL["list_routes"])]


async def list_own_routes(tx: Tx, *, workspace: Workspace) -> list[ChannelRoute]:
    """The routes of one workspace and those for every workspace, which come first."""
    shared = await tx.fetch(_SQL["list_own_routes"], tenant="", workspace="")
    own = await tx.fetch(_SQL["list_own_routes"], tenant=workspace.tenant, workspace=workspace.name)
    return [_route(row) for row in [*shared, *own]]


def _route(row: Row) -> ChannelRoute:
    return ChannelRoute(
        workspace_of(row["tenant_id"], row["workspace_id"]) if row["tenant_id"] else None,
        Channel(row["channel"]),
        row["provider"],
        row["source"],
        row["since"],
    )


async def put_routes(tx: Tx, *, providers: Mapping[Channel, str], source: str, now: datetime) -> Mapping[Channel, str]:
    """Let providers serve channels in every workspace; return what is new.

    A provider that only prints does not replace one that sends.
    """
    rows = await tx.fetch(
        _SQL["put_routes"],
        channels=list(providers),
        providers=list(providers.values()),
        source=source,
        printing=PRINTING,
        now=now,
    )
    return {Channel(row["channel"]): row["provider"] for row in rows}


@_SQL.statement
async def remove_route(tx: Tx, *, channel: Channel) -> str | None:
    """Take the provider from a channel in every workspace; return its name, or None if there was none."""
