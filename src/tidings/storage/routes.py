"""Which provider serves a channel.

Reached from kernel/readiness.py, which remembers them, and from who lists them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tidings.domain.flow.ids import Workspace, workspace_of
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import PRINTING
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("routes")


@dataclass(frozen=True, slots=True)
class ChannelRoute:
    """Which provider serves a channel, who said so and since when; without a workspace, in every workspace."""

    workspace: Workspace | None
    channel: Channel
    provider: str
    source: str
    since: datetime


async def list_routes(tx: Tx) -> list[ChannelRoute]:
    """All of them, those of every workspace first."""
    return [
        ChannelRoute(
            workspace_of(row["tenant_id"], row["workspace_id"]) if row["tenant_id"] else None,
            Channel(row["channel"]),
            row["provider"],
            row["source"],
            row["since"],
        )
        for row in await tx.fetch(_SQL["list_routes"])
    ]


async def put_routes(tx: Tx, *, providers: Mapping[Channel, str], source: str, now: datetime) -> Mapping[Channel, str]:
    """Let providers serve channels in every workspace; give what is new.

    What would only print does not take the place of what sends.
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


async def remove_route(tx: Tx, *, channel: Channel) -> str | None:
    """Take the provider from a channel in every workspace; give its name, or None if there was none."""
    row = await tx.fetch_one(_SQL["remove_route"], channel=channel)
    return row["provider"] if row else None
