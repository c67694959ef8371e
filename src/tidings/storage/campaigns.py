"""Campaigns and segments as people make and change them. Reached from resources/{campaigns,segments}.py."""

from collections.abc import Mapping, Sequence
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
from tidings.storage.statements import Statement, load
from tidings.views.segments import Segment

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
        """The campaign's definition."""
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
    """Replace a campaign at the version that was read; False when it has changed since."""
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
    """Hide a campaign; None when it does not exist."""


async def insert_segment(
    tx: Tx, *, id: UUID, workspace: Workspace, name: str, audience: Audience, now: datetime
) -> None:
    """Make a segment, or raise Conflict when its name is taken."""
    await _write_segment(tx, _SQL["insert_segment"], id, workspace, name, audience, now)


async def change_segment(
    tx: Tx, *, id: UUID, workspace: Workspace, name: str, audience: Audience, now: datetime
) -> bool:
    """Write a segment; False when it does not exist."""
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
    """Hide a segment; None when it does not exist."""


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


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a segment {name!r} already; choose another name")
