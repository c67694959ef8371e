"""Campaigns and segments as people make and change them. Reached from resources/{campaigns,segments}.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from tidings.domain.campaigns.campaign import Campaign
from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.paging import Span
from tidings.domain.people.audience import Audience, read_audience
from tidings.storage.database import Row, Tx
from tidings.storage.statements import Statement, load
from tidings.views.segments import Segment

_SQL = load("campaigns")
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShownCampaign:
    """A campaign as a person sees it; `version` counts its changes."""

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
    segment_name: str | None = None
    """Of the segment that the audience names, if it names one."""
    not_ready: Sequence[Channel] = ()
    """Its channel, if no provider is set up for it: it cannot be deployed before there is one."""

    @property
    def channels(self) -> Sequence[Channel]:
        """What it sends over."""
        return [self.channel]

    @property
    def campaign(self) -> Campaign:
        """What was decided about it."""
        return Campaign(
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


async def insert_campaign(tx: Tx, *, id: UUID, tenant: str, workspace: str, campaign: Campaign, now: datetime) -> None:
    """Make a campaign; the same id again changes nothing."""
    await tx.fetch(_SQL["insert_campaign"], id=id, tenant=tenant, workspace=workspace, now=now, **_columns(campaign))


async def change_campaign(
    tx: Tx,
    *,
    id: UUID,
    tenant: str,
    workspace: str,
    campaign: Campaign,
    version: int,
    read_version: int,
    now: datetime,
) -> bool:
    """Write a campaign over the version that was read; False when it is another by now."""
    row = await tx.fetch_one(
        _SQL["change_campaign"],
        id=id,
        tenant=tenant,
        workspace=workspace,
        version=version,
        read_version=read_version,
        now=now,
        **_columns(campaign),
    )
    return row is not None


async def show_campaign(tx: Tx, *, tenant: str, workspace: str, id: UUID) -> ShownCampaign | None:
    """One campaign, if there is one."""
    row = await tx.fetch_one(_SQL["show_campaign"], tenant=tenant, workspace=workspace, id=id)
    return _campaign(row) if row else None


async def list_campaigns(
    tx: Tx,
    *,
    tenant: str,
    workspace: str,
    name: str | None,
    channel: str | None,
    span: Span,
    limit: int,
) -> list[ShownCampaign]:
    """Campaigns, newest first."""
    rows = await tx.fetch(
        _SQL["list_campaigns"],
        tenant=tenant,
        workspace=workspace,
        name=name,
        channel=channel,
        since=span.since,
        before=span.before,
        limit=limit,
    )
    return [_campaign(row) for row in rows]


async def delete_campaign(tx: Tx, *, id: UUID, tenant: str, workspace: str, now: datetime) -> bool:
    """Hide a campaign; False when it is not there."""
    row = await tx.fetch_one(_SQL["delete_campaign"], id=id, tenant=tenant, workspace=workspace, now=now)
    return row is not None


async def insert_segment(
    tx: Tx, *, id: UUID, workspace: Workspace, name: str, audience: Audience, now: datetime
) -> None:
    """Make a segment, or raise Conflict when its name is taken."""
    await _write_segment(tx, _SQL["insert_segment"], id, workspace, name, audience, now)


async def change_segment(
    tx: Tx, *, id: UUID, workspace: Workspace, name: str, audience: Audience, now: datetime
) -> bool:
    """Write a segment; False when it is not there."""
    return bool(await _write_segment(tx, _SQL["change_segment"], id, workspace, name, audience, now))


async def _write_segment(
    tx: Tx, statement: Statement, id: UUID, workspace: Workspace, name: str, audience: Audience, now: datetime
) -> Sequence[Row]:
    given = {"tenant": workspace.tenant, "workspace": workspace.name, "name": name, "audience": audience.shown()}
    try:
        return await tx.fetch(statement, id=id, now=now, **given)
    except asyncpg.UniqueViolationError as error:
        raise _taken(name) from error


@_SQL.statement
async def show_segment(tx: Tx, *, workspace: Workspace, id: UUID | None, name: str | None) -> Segment | None:
    """One segment by id or by name, if there is one."""


@_SQL.statement
async def list_segments(tx: Tx, *, workspace: Workspace, span: Span, limit: int) -> list[Segment]:
    """Segments, newest first."""


@_SQL.statement
async def find_segment_users(tx: Tx, *, workspace: Workspace, segment_id: str, limit: int) -> list[str]:
    """The names of campaigns whose audience is a segment."""


@_SQL.statement
async def delete_segment(tx: Tx, *, id: UUID, workspace: Workspace, now: datetime) -> UUID | None:
    """Hide a segment; None when it is not there."""


def _columns(campaign: Campaign) -> Mapping[str, object]:
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


def _campaign(row: Row) -> ShownCampaign:
    return ShownCampaign(
        id=row["id"],
        name=row["name"],
        channel=Channel(row["channel"]),
        content=row["content"],
        version=row["version"],
        audience=row["audience"],
        data=row["data"],
        send_hour=row["send_hour"],
        time_zone=row["time_zone"],
        rate=row["rate_per_minute"],
        max_lateness=row["max_lateness"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a segment {name!r} already; choose another name")
