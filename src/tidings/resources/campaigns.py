"""Campaigns as people make, try out and deploy them. Every change is in the audit log.

What is given is read by domain/campaigns/campaign.py. A run keeps what it needs, so whatever is changed here reaches
the next deploy and no run under way; kernel/campaigns/start_run.py starts runs, resources/runs.py shows them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from msgspec import convert

from tidings.domain.caller import Caller
from tidings.domain.campaigns.campaign import Campaign, read_campaign
from tidings.domain.channels import HTML_FIELDS, Channel
from tidings.domain.content.template import RenderFailed
from tidings.domain.errors import CampaignInvalid, Conflict, InputInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first, page_of
from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.contact import CONTACT, ContactReference, LoadedContact, addresses_of, lack_of
from tidings.domain.timing import LONGEST_WAIT, problem_of_moment
from tidings.kernel.campaigns.start_run import Deployment, Recipient, deploy, find_run
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import Deed, write_audit
from tidings.kernel.people.audience_chunks import every_chunk
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.references import find_contacts, name_audience, no_contact
from tidings.kernel.render.renderer import Rendered, RenderJob
from tidings.kernel.start.trigger import Started
from tidings.resources.names import name_definitions
from tidings.resources.reach import count_audience, is_empty
from tidings.resources.readiness import with_readiness
from tidings.resources.segments import together
from tidings.storage import campaigns, resolve
from tidings.storage.campaigns import ShownCampaign
from tidings.storage.database import Tx
from tidings.views.campaigns import AudienceCount
from tidings.views.contacts import ContactName
from tidings.views.pages import Page

__all__ = ["Campaigns", "Preview", "Previews", "ShownCampaign"]


@dataclass(frozen=True, slots=True)
class Preview:
    """What one contact would get, or why they would get nothing."""

    contact_id: UUID | None
    recipients: Sequence[str]
    content: Mapping[str, str]
    error: str | None
    """Why the content cannot be rendered for them."""
    skipped: str | None
    """Why nothing would be sent to them."""
    contact: ContactName | None = None


Previews = list[Preview]
Shown = list[ShownCampaign]


class Campaigns:
    """The campaigns of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: object) -> ShownCampaign:
        """Make a campaign; nothing is sent before it is deployed."""
        campaign = await self._read(caller.workspace, given)
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(campaign.name), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            await campaigns.insert_campaign(
                tx,
                id=id,
                tenant=caller.workspace.tenant,
                workspace=caller.workspace.name,
                campaign=campaign,
                now=now,
            )
            deed = Deed("campaign", id, "created", {"name": campaign.name}, entry)
            await write_audit(self._kernel, tx, caller, [deed], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def update(self, caller: Caller, id: UUID, given: object) -> ShownCampaign:
        """Change what is given; runs under way keep what they were deployed with."""
        before = await self.get(caller.workspace, id)
        campaign = await self._read(caller.workspace, given, before.campaign)
        if campaign == before.campaign:
            return before
        now = max(await self._kernel.clock.now(), before.updated_at)
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            changed = await campaigns.change_campaign(
                tx,
                id=id,
                tenant=caller.workspace.tenant,
                workspace=caller.workspace.name,
                campaign=campaign,
                version=before.version + 1,
                read_version=before.version,
                now=now,
            )
            if not changed:
                raise Conflict(f"campaign {id} was changed or deleted at the same moment; read it and try again")
            fields = sorted(given) if isinstance(given, Mapping) else []
            deed = Deed("campaign", id, "updated", {"fields": fields}, entry)
            await write_audit(self._kernel, tx, caller, [deed], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def get(self, workspace: Workspace, id: UUID) -> ShownCampaign:
        """One campaign, or NotFound."""
        find = partial(campaigns.show_campaign, tenant=workspace.tenant, workspace=workspace.name, id=id)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no campaign {id}")
        [shown] = await self._completed(workspace, [found])
        return shown

    async def _completed(self, workspace: Workspace, found: Sequence[ShownCampaign]) -> Shown:
        """Campaigns with the names of the segments that they are for, and with what they lack to be deployed."""
        named = {one.id: (one.audience or {}).get("segmentId") for one in found}
        segments = {id: UUID(str(segment)) for id, segment in named.items() if segment}
        names = await name_definitions(self._kernel, workspace, segments.values())
        ready = await with_readiness(self._kernel, workspace, found)
        return [replace(one, segment_name=names.get(segments[one.id])) if one.id in segments else one for one in ready]

    async def find(self, workspace: Workspace, name: str) -> ShownCampaign:
        """The only campaign of a name; names may be used more than once."""
        page = await self.list(workspace, name=name, limit=2)
        if not page.items:
            raise NotFound(f"there is no campaign {name!r} in workspace {workspace.name!r}")
        if len(page.items) > 1:
            raise Conflict(f"several campaigns are named {name!r}; give the id of one")
        return page.items[0]

    async def list(
        self,
        workspace: Workspace,
        *,
        name: str | None = None,
        channel: Channel | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownCampaign]:
        """Campaigns, newest first."""
        check_limit(limit)
        find = partial(
            campaigns.list_campaigns,
            tenant=workspace.tenant,
            workspace=workspace.name,
            name=name,
            channel=channel,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        found = await self._completed(workspace, await self._kernel.db.persist(find, alone=True))
        return page_of(found, limit, lambda one: one.id)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Remove a campaign from sight; its runs go on and stay."""
        shown = await self.get(caller.workspace, id)
        tenant, workspace = caller.workspace.tenant, caller.workspace.name
        now = await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            if not await campaigns.delete_campaign(tx, id=id, tenant=tenant, workspace=workspace, now=now):
                raise NotFound(f"there is no campaign {id}")
            deed = Deed("campaign", id, "deleted", {"name": shown.name}, entry)
            await write_audit(self._kernel, tx, caller, [deed], now)

        await self._kernel.db.persist(write)

    async def count(self, workspace: Workspace, id: UUID) -> AudienceCount:
        """How many a deploy would reach at this moment, and how many not."""
        shown = await self.get(workspace, id)
        if shown.channel is Channel.SOCIAL:
            posts = sum(1 for _ in shown.campaign.posts())
            return AudienceCount(matching=posts, reachable=posts, without_address=0, refused=0)
        audience = await self.audience_of(workspace, shown.campaign)
        sources = shown.campaign.templates.values()
        return await count_audience(self._kernel, workspace, audience, shown.channel, sources)

    async def preview(self, workspace: Workspace, id: UUID, contact_id: ContactReference | None = None) -> Previews:
        """What a contact would get, as it would be at this moment; without one, the first of the audience."""
        shown = await self.get(workspace, id)
        if shown.channel is Channel.SOCIAL:
            return await self._preview_posts(shown)
        person = await self._somebody(workspace, shown.campaign, contact_id)
        [rendered] = await self._render(shown, [shown.campaign.templates], person)
        addresses = addresses_of(person.data, shown.channel)
        skipped = person.refusal(shown.channel) or (None if addresses else lack_of(shown.channel))
        return [Preview(person.id, addresses, *_fields(rendered), skipped=skipped, contact=_name_of(person))]

    async def test(self, caller: Caller, id: UUID, to: str, contact_id: ContactReference | None = None) -> Started:
        """Send the campaign to an address of your own, with a contact's data: a run of one, marked as a test."""
        shown = await self.get(caller.workspace, id)
        if shown.channel is Channel.SOCIAL:
            raise InputInvalid("a post has no test: preview it, or deploy a campaign with an account for trying out")
        person = await self._somebody(caller.workspace, shown.campaign, contact_id)
        wish = Deployment(
            campaign_id=id,
            idempotency_key=f"test:{id}:{uuid4()}",
            channel=shown.channel,
            content=shown.campaign.templates,
            recipients=[Recipient(to.strip(), {CONTACT: person.data})],
            content_id=_content_id(shown),
            data=_data(shown),
            is_test=True,
        )
        return await deploy(self._kernel, caller, wish)

    async def deploy(
        self,
        caller: Caller,
        id: UUID,
        *,
        scheduled_for: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Started:
        """Start a run; without a key of its own, the same campaign for the same time is deployed once.

        So a second click, or two people at once, write to nobody twice. To send what has not changed since once more,
        give a key.
        """
        shown = await self.get(caller.workspace, id)
        return await self.deploy_shown(caller, shown, scheduled_for=scheduled_for, idempotency_key=idempotency_key)

    async def deploy_shown(
        self,
        caller: Caller,
        shown: ShownCampaign,
        *,
        scheduled_for: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Started:
        """Start a run of a campaign as it is shown here, stored or not: a simulation has its campaign elsewhere."""
        key = idempotency_key
        if key is None:
            key = f"campaign:{shown.id}:{shown.version}:{scheduled_for.isoformat() if scheduled_for else ''}"
        existing = await find_run(self._kernel, caller.workspace, key)
        if existing is not None:
            return Started(existing, duplicate=True)
        await self._check_schedule(shown, scheduled_for)
        return await deploy(self._kernel, caller, await self._wish(caller.workspace, shown, key, scheduled_for))

    async def _wish(
        self, workspace: Workspace, shown: ShownCampaign, key: str, scheduled_for: datetime | None
    ) -> Deployment:
        campaign = shown.campaign
        recipients: list[Recipient] = []
        audience: Audience | None = None
        content: Mapping[str, str] = campaign.templates
        if shown.channel is Channel.SOCIAL:
            recipients = [Recipient(to, {"post": {"id": post, "body": body}}) for post, to, body in campaign.posts()]
            content = {"body": next(body for _, _, body in campaign.posts())}
        else:
            audience = await self.audience_of(workspace, campaign)
            if await is_empty(self._kernel, workspace, audience):
                raise CampaignInvalid([Problem("audience", "matches nobody: no contact of this workspace is in it")])
        return Deployment(
            campaign_id=shown.id,
            idempotency_key=key,
            channel=shown.channel,
            content=content,
            recipients=recipients,
            content_id=_content_id(shown),
            scheduled_for=scheduled_for,
            rate_per_minute=campaign.rate_per_minute,
            audience=audience,
            data=_data(shown),
            send_hour=campaign.send_hour,
            time_zone=campaign.time_zone,
            max_lateness=campaign.max_lateness,
        )

    async def _check_schedule(self, shown: ShownCampaign, scheduled_for: datetime | None) -> None:
        if scheduled_for is None:
            return
        if wrong := problem_of_moment(scheduled_for):
            raise CampaignInvalid([Problem("scheduledFor", wrong)])
        now = await self._kernel.clock.now()
        if shown.max_lateness and now - scheduled_for > shown.max_lateness:
            late = f"was {now - scheduled_for} ago, longer than maxLateness {shown.max_lateness}"
            what = f"{late}: everybody would be skipped"
            raise CampaignInvalid([Problem("scheduledFor", what)])
        if scheduled_for - now > LONGEST_WAIT:
            raise CampaignInvalid([Problem("scheduledFor", "is more than ten years away")])

    async def _read(self, workspace: Workspace, given: object, before: Campaign | None = None) -> Campaign:
        raw = given.get("audience") if isinstance(given, Mapping) else None
        named = await name_audience(self._kernel, workspace, raw, "audience")
        campaign, problems = read_campaign(
            {**given, "audience": named.given} if raw and isinstance(given, Mapping) else given, before
        )
        if campaign is None or (campaign.audience and (before is None or campaign.audience != before.audience)):
            problems = together(named, problems)
        if campaign and campaign.audience and not problems:
            await self.audience_of(workspace, campaign)
        if campaign is None or problems:
            raise CampaignInvalid(problems)
        return campaign

    async def audience_of(self, workspace: Workspace, campaign: Campaign) -> Audience:
        """Whom a campaign is for at this moment, its segment resolved; a social campaign is for nobody."""
        audience = campaign.audience
        if audience is None:
            raise AssertionError("only a social campaign has no audience")
        if audience.segment_id is None:
            return audience
        find = partial(campaigns.show_segment, workspace=workspace, id=audience.segment_id, name=None)
        segment = await self._kernel.db.persist(find, alone=True)
        if segment is None:
            what = f"there is no segment {audience.segment_id} in this workspace"
            raise CampaignInvalid([Problem("audience.segmentId", what)])
        inside, problems = audience.inside(read_audience(segment.audience)[0])
        if problems:
            raise CampaignInvalid([Problem(f"audience.{one.place}", one.message) for one in problems])
        return inside

    async def _somebody(
        self, workspace: Workspace, campaign: Campaign, named: ContactReference | None
    ) -> LoadedContact:
        """The contact that was asked for, or the first of the audience."""
        if named is None:
            id = await self._first(workspace, await self.audience_of(workspace, campaign))
        else:
            found = await find_contacts(self._kernel, workspace, [named])
            if named not in found:
                raise CampaignInvalid([no_contact("contactId", named)])
            id = found[named]
        return (await load_people(self._kernel, [id]))[id]

    async def _first(self, workspace: Workspace, audience: Audience) -> UUID:
        now = await self._kernel.clock.now()
        for shard in self._kernel.every_shard():
            async for chunk in every_chunk(self._kernel, shard, workspace, audience, made_by=now, limit=100):
                if chunk.people:
                    return chunk.people[0].id
        raise CampaignInvalid([Problem("audience", "matches nobody; name a contact with contactId")])

    async def _render(
        self, shown: ShownCampaign, templates: Sequence[Mapping[str, str]], person: LoadedContact | None
    ) -> Sequence[Rendered | RenderFailed]:
        now = await self._kernel.clock.now()
        data = _data(shown) | ({CONTACT: person.data} if person else {})
        jobs = [RenderJob(templates=one, data=data, html_fields=HTML_FIELDS, now=now) for one in templates]
        return await self._kernel.renderer.render(jobs)

    async def _preview_posts(self, shown: ShownCampaign) -> Previews:
        posts = list(shown.campaign.posts())
        rendered = await self._render(shown, [{"body": body} for _, _, body in posts], None)
        return [
            Preview(None, [account], *_fields(one), skipped=None)
            for (_, account, _), one in zip(posts, rendered, strict=True)
        ]


def _name_of(person: LoadedContact) -> ContactName:
    return convert({name: person.data[name] for name in ("externalId", "name", "email")}, ContactName)


def _fields(rendered: Rendered | RenderFailed) -> tuple[Mapping[str, str], str | None]:
    return ({}, rendered.reason) if isinstance(rendered, RenderFailed) else (rendered.fields, None)


def _content_id(shown: ShownCampaign) -> str:
    """What the keys of its items name as the asset, or as the version of a script."""
    return shown.campaign.content_version or f"{shown.id}:{shown.version}"


def _data(shown: ShownCampaign) -> dict[str, object]:
    """What templates see beside the contact."""
    return {**shown.data, "campaign": {"id": str(shown.id), "name": shown.name}}
