"""Campaigns and segments as people make and change them. Reached from resources/{campaigns,segments}.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from msgspec import Struct

from tidings.domain.campaigns.campaign import CampaignDefinition
from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.domain.people.audience import Audience, read_audience
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load

_SQL = load("campaigns")
Json = Mapping[str, object]


class FoundCampaign(Struct, frozen=True, kw_only=True):
    """A campaign as it is stored; `version` counts its changes."""

    id: UUID
    name: str
    channel: Channel
    content: Json
    version: int
    audience: Json | None
    data: Json
    send_hour: int | None
    time_zone: str
    rate: int | None
    max_lateness: timedelta | None
    created_at: datetime
    updated_at: datetime

    @property
    def definition(self) -> CampaignDefinition:
        """What was decided about it."""
        return CampaignDefinition(
            name=self.name,
            channel=self.channel,
            content=self.content,
            audience=None if self.audience is None else read_audience(self.audience)[0],
            data=self.data,
            send_hour=self.send_hour,
            time_zone=self.time_zone,
            rate_per_minute=self.rate,
            max_lateness=self.max_lateness,
        )


@dataclass(frozen=True, slots=True)
class ShownSegment:
    """An audience under a name."""

    id: UUID
    name: str
    audience: Json
    created_at: datetime
    updated_at: datetime


async def insert_campaign(
    tx: Tx, *, id: UUID, workspace: Workspace, campaign: CampaignDefinition, now: datetime
) -> None:
    """Make a campaign; the same id again changes nothing."""
    whose = {"tenant": workspace.tenant, "workspace": workspace.name}
    await tx.fetch(_SQL["insert_campaign"], id=id, now=now, **whose, **_columns(campaign))


async def change_campaign(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    campaign: CampaignDefinition,
    version: int,
    read_version: int,
    now: datetime,
) -> bool:
    """Write a campaign over the version that was read; False when it is another by now."""
    row = await tx.fetch_one(
        _SQL["change_campaign"],
        id=id,
        tenant=workspace.tenant,
        workspace=workspace.name,
        version=version,
        read_version=read_version,
        now=now,
        **_columns(campaign),
    )
    return row is not None


@_SQL.statement
async def show_campaign(tx: Tx, *, workspace: Workspace, id: UUID) -> FoundCampaign | None:
    """One campaign, if there is one."""


@_SQL.statement
async def list_campaigns(
    tx: Tx, *, workspace: Workspace, name: str | None, channel: str | None, span: Span, limit: int
) -> list[FoundCampaign]:
    """Campaigns, newest first."""


@_SQL.statement
async def delete_campaign(tx: Tx, *, id: UUID, workspace: Workspace, now: datetime) -> UUID | None:
    """Hide a campaign; None when it is not there."""


async def insert_segment(
    tx: Tx, *, id: UUID, tenant: str, workspace: str, name: str, audience: Audience, now: datetime
) -> None:
    """Make a segment, or raise Conflict when its name is taken."""
    try:
        await tx.fetch(
            _SQL["insert_segment"],
            id=id,
            tenant=tenant,
            workspace=workspace,
            name=name,
            audience=audience.shown(),
            now=now,
        )
    except asyncpg.UniqueViolationError as error:
        raise _taken(name) from error


async def change_segment(
    tx: Tx, *, id: UUID, tenant: str, workspace: str, name: str, audience: Audience, now: datetime
) -> bool:
    """Write a segment; False when it is not there."""
    try:
        row = await tx.fetch_one(
            _SQL["change_segment"],
            id=id,
            tenant=tenant,
            workspace=workspace,
            name=name,
            audience=audience.shown(),
            now=now,
        )
    except asyncpg.UniqueViolationError as error:
        raise _taken(name) from error
    return row is not None


async def show_segment(
    tx: Tx, *, tenant: str, workspace: str, id: UUID | None, name: str | None
) -> ShownSegment | None:
    """One segment by id or by name, if there is one."""
    row = await tx.fetch_one(_SQL["show_segment"], tenant=tenant, workspace=workspace, id=id, name=name)
    return _segment(row) if row else None


async def list_segments(tx: Tx, *, tenant: str, workspace: str, span: Span, limit: int) -> list[ShownSegment]:
    """Segments, newest first."""
    rows = await tx.fetch(
        _SQL["list_segments"], tenant=tenant, workspace=workspace, since=span.since, before=span.before, limit=limit
    )
    return [_segment(row) for row in rows]


async def find_segment_users(tx: Tx, *, tenant: str, workspace: str, segment_id: UUID, limit: int) -> list[str]:
    """The names of campaigns whose audience is a segment."""
    rows = await tx.fetch(
        _SQL["find_segment_users"], tenant=tenant, workspace=workspace, segment_id=str(segment_id), limit=limit
    )
    return [row["name"] for row in rows]


async def delete_segment(tx: Tx, *, id: UUID, tenant: str, workspace: str, now: datetime) -> bool:
    """Hide a segment; False when it is not there."""
    row = await tx.fetch_one(_SQL["delete_segment"], id=id, tenant=tenant, workspace=workspace, now=now)
    return row is not None


def _columns(campaign: CampaignDefinition) -> Mapping[str, object]:
    return {
        "name": campaign.name,
        "channel": campaign.channel,
        "content": campaign.content,
        "audience": campaign.audience.shown() if campaign.audience else None,
        "data": campaign.data,
        "send_hour": campaign.send_hour,
        "time_zone": campaign.time_zone,
        "rate_per_minute": campaign.rate_per_minute,
        "max_lateness": campaign.max_lateness,
    }


def _segment(row: Row) -> ShownSegment:
    return ShownSegment(row["id"], row["name"], row["audience"], row["created_at"], row["updated_at"])


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a segment {name!r} already; choose another name")
