"""Campaigns: create, try out and deploy them. Every change is in the audit log.

domain/campaigns/campaign.py reads what a caller sends. A run keeps what it needs, so a change here affects the next
deploy and no run under way; kernel/campaigns/start_run.py starts runs, resources/runs.py shows them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from tidings.domain.caller import Caller
from tidings.domain.campaigns.campaign import CampaignDefinition, read_campaign
from tidings.domain.channels import Channel
from tidings.domain.content.message import MessageContent
from tidings.domain.errors import CampaignInvalid, Conflict, InputInvalid, NotFound, Problem, ProblemsFound
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, EVERYTHING, Created, check_limit, newest_first, page_of
from tidings.domain.people.audience import Audience
from tidings.domain.people.contact import ContactReference, LoadedContact
from tidings.domain.people.filter_words import audience_in_words
from tidings.domain.timing import LONGEST_WAIT, format_duration, problem_of_moment
from tidings.kernel.campaigns.start_run import Deployment, Recipient, deploy, find_run
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.audience_chunks import every_chunk
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.references import find_contacts, name_audience, no_contact
from tidings.kernel.start.trigger import Started
from tidings.kernel.templates import know_templates
from tidings.resources.campaign_templates import check_linked, link_campaign
from tidings.resources.names import name_definitions
from tidings.resources.pages import id_of
from tidings.resources.previews import Draft, for_contact, render_drafts
from tidings.resources.reach import count_audience, is_empty, within_segment
from tidings.resources.readiness import find_unready
from tidings.resources.runs import Runs, started_run
from tidings.resources.segments import together
from tidings.storage import campaigns, resolve
from tidings.storage.acting import for_caller
from tidings.storage.campaigns import FoundCampaign
from tidings.storage.database import Tx
from tidings.views.campaigns import AudienceCount, Campaign
from tidings.views.pages import Page
from tidings.views.previews import Preview
from tidings.views.runs import StartedRun

__all__ = ["Campaigns", "Previews"]

Previews = list[Preview]
Shown = list[Campaign]
Problems = list[Problem]


@for_caller
class Campaigns:
    """The campaigns of every workspace; a campaign of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._runs = Runs(kernel)

    async def create(self, caller: Caller, given: object) -> Campaign:
        """Create a campaign; nothing is sent before it is deployed."""
        campaign = await self._read(caller.workspace, given)
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(campaign.name), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            await campaigns.insert_campaign(tx, id=id, workspace=caller.workspace, campaign=campaign, now=now)
            audit_entry = AuditEntry("campaign", id, "created", {"name": campaign.name}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def update(self, caller: Caller, id: UUID, given: object) -> Campaign:
        """Change the given fields; runs under way keep what they were deployed with."""
        before = await self.load(caller.workspace, id)
        campaign = await self._read(caller.workspace, given, before.definition)
        if campaign == before.definition:
            return await self.get(caller.workspace, id)
        now = max(await self._kernel.clock.now(), before.updated_at)
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            changed = await campaigns.change_campaign(
                tx,
                id=id,
                workspace=caller.workspace,
                campaign=campaign,
                version=before.version + 1,
                read_version=before.version,
                now=now,
            )
            if not changed:
                raise Conflict(f"campaign {id} was changed or deleted at the same moment; read it and try again")
            fields = sorted(given) if isinstance(given, Mapping) else []
            audit_entry = AuditEntry("campaign", id, "updated", {"fields": fields}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def check(self, workspace: Workspace, given: Mapping[str, object]) -> Problems:
        """Return every problem of a whole campaign; nothing is stored."""
        try:
            await self._read(workspace, given)
        except ProblemsFound as error:
            return [*error.problems]
        return []

    async def get(self, workspace: Workspace, id: UUID) -> Campaign:
        """Return one campaign, or raise NotFound."""
        [shown] = await self._shown(workspace, [await self.load(workspace, id)])
        return shown

    async def find(self, workspace: Workspace, name: str) -> Campaign:
        """Return the only campaign of this name; a name may be used more than once."""
        [shown] = await self._shown(workspace, [await self.load(workspace, name)])
        return shown

    async def load(self, workspace: Workspace, campaign: UUID | str) -> FoundCampaign:
        """Return a campaign as it is stored, by its id or its name, to deploy or simulate it."""
        if isinstance(campaign, UUID):
            find = partial(campaigns.show_campaign, workspace=workspace, id=campaign)
            found = await self._kernel.db.persist(find, alone=True)
            if found is None:
                raise NotFound(f"there is no campaign {campaign}")
            return found
        named = partial(
            campaigns.list_campaigns, workspace=workspace, name=campaign, channel=None, span=EVERYTHING, limit=2
        )
        several = await self._kernel.db.persist(named, alone=True)
        if not several:
            raise NotFound(f"there is no campaign {campaign!r} in workspace {workspace.name!r}")
        if len(several) > 1:
            raise Conflict(f"several campaigns are named {campaign!r}; give the id of one")
        return several[0]

    async def list(
        self,
        workspace: Workspace,
        *,
        name: str | None = None,
        channel: Channel | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Campaign]:
        """Return campaigns, newest first."""
        check_limit(limit)
        span = newest_first(cursor, created)
        find = partial(
            campaigns.list_campaigns, workspace=workspace, name=name, channel=channel, span=span, limit=limit + 1
        )
        page = page_of(await self._kernel.db.persist(find, alone=True), limit, id_of)
        return Page(await self._shown(workspace, page.items), page.next_cursor)

    async def _shown(self, workspace: Workspace, found: Sequence[FoundCampaign]) -> Shown:
        """Return campaigns with the names of their segments and the channels they lack a provider for."""
        named = {one.id: (one.audience or {}).get("segmentId") for one in found}
        segments = {id: UUID(str(segment)) for id, segment in named.items() if segment}
        names = await name_definitions(self._kernel, workspace, segments.values())
        unready = await find_unready(self._kernel, workspace, [one.channel for one in found])
        return [
            _shown(
                one,
                segment_name=names.get(segments[one.id]) if one.id in segments else None,
                is_ready=one.channel not in unready,
            )
            for one in found
        ]

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Hide a campaign; its runs go on and stay visible."""
        found = await self.load(caller.workspace, id)
        now = await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            if not await campaigns.delete_campaign(tx, id=id, workspace=caller.workspace, now=now):
                raise NotFound(f"there is no campaign {id}")
            audit_entry = AuditEntry("campaign", id, "deleted", {"name": found.name}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def count(self, workspace: Workspace, id: UUID) -> AudienceCount:
        """Count how many contacts a deploy would reach at this moment, and how many it would not."""
        found = await self.load(workspace, id)
        if not found.channel.reaches_contacts:
            posts = sum(1 for _ in found.definition.posts())
            return AudienceCount(matching=posts, reachable=posts, without_address=0, refused=0)
        audience = await self.audience_of(workspace, found.definition)
        sources = (await link_campaign(self._kernel, workspace, found)).definition.message.templates.values()
        return await count_audience(self._kernel, workspace, audience, found.channel, sources)

    async def preview(self, workspace: Workspace, id: UUID, contact_id: ContactReference | None = None) -> Previews:
        """Return what a contact, or else the first of the audience, would receive at this moment."""
        found = await link_campaign(self._kernel, workspace, await self.load(workspace, id))
        if not found.channel.reaches_contacts:
            return await self._preview_posts(workspace, found)
        person = await self._somebody(workspace, found.definition, contact_id)
        draft = for_contact(Draft(found.definition.message), person)
        return await render_drafts(self._kernel, workspace, [draft], _data(found), person)

    async def test(self, caller: Caller, id: UUID, to: str, contact_id: ContactReference | None = None) -> StartedRun:
        """Send the campaign to an address of your own, with a contact's data: a run of one item, marked as a test."""
        found = await self.load(caller.workspace, id)
        if not found.channel.reaches_contacts:
            raise InputInvalid("a post has no test: preview it, or deploy a campaign with an account for trying out")
        person = await self._somebody(caller.workspace, found.definition, contact_id)
        deployment = Deployment(
            campaign_id=id,
            idempotency_key=f"test:{id}:{uuid4()}",
            channel=found.channel,
            content=found.definition.message.content,
            recipients=[Recipient(to.strip(), about=person.id)],
            content_id=_content_id(found),
            data=_data(found),
            is_test=True,
        )
        return await self._started(caller.workspace, await deploy(self._kernel, caller, deployment))

    async def deploy(
        self,
        caller: Caller,
        id: UUID,
        *,
        scheduled_for: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> StartedRun:
        """Start a run; without a key, the same campaign for the same time is deployed only once.

        So a second click, or two people at once, write to nobody twice. To send an unchanged campaign once more, pass a
        key.
        """
        found = await self.load(caller.workspace, id)
        started = await self.deploy_found(caller, found, scheduled_for=scheduled_for, idempotency_key=idempotency_key)
        return await self._started(caller.workspace, started)

    async def deploy_found(
        self,
        caller: Caller,
        found: FoundCampaign,
        *,
        scheduled_for: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Started:
        """Start a run of a campaign that the caller has read, perhaps in another database, as a simulation does."""
        key = idempotency_key
        if key is None:
            key = f"campaign:{found.id}:{found.version}:{scheduled_for.isoformat() if scheduled_for else ''}"
        existing = await find_run(self._kernel, caller.workspace, key)
        if existing is not None:
            return Started(existing, duplicate=True)
        await self._check_schedule(found, scheduled_for)
        deployment = await self._deployment(caller.workspace, found, key, scheduled_for)
        return await deploy(self._kernel, caller, deployment)

    async def _deployment(
        self, workspace: Workspace, found: FoundCampaign, key: str, scheduled_for: datetime | None
    ) -> Deployment:
        campaign, now = found.definition, await self._kernel.clock.now()
        recipients: list[Recipient] = []
        audience: Audience | None = None
        content = campaign.message.content
        if not found.channel.reaches_contacts:
            recipients = [Recipient(to, {"post": {"id": post, **says}}) for post, to, says in campaign.posts()]
            content = next(says for _, _, says in campaign.posts())
        else:
            audience = await self.audience_of(workspace, campaign)
            begins_at = max(scheduled_for or now, now)
            if await is_empty(self._kernel, workspace, audience, begins_at):
                raise CampaignInvalid([Problem("audience", "matches nobody: no contact of this workspace is in it")])
        return Deployment(
            campaign_id=found.id,
            idempotency_key=key,
            channel=found.channel,
            content=content,
            recipients=recipients,
            content_id=_content_id(found),
            scheduled_for=scheduled_for,
            rate_per_minute=campaign.rate_per_minute,
            audience=audience,
            data=_data(found),
            send_hour=campaign.send_hour,
            time_zone=campaign.time_zone,
            max_lateness=campaign.max_lateness,
        )

    async def _started(self, workspace: Workspace, started: Started) -> StartedRun:
        return started_run(await self._runs.get(workspace, started.id), duplicate=started.duplicate)

    async def _check_schedule(self, found: FoundCampaign, scheduled_for: datetime | None) -> None:
        if scheduled_for is None:
            return
        if wrong := problem_of_moment(scheduled_for):
            raise CampaignInvalid([Problem("scheduledFor", wrong)])
        now = await self._kernel.clock.now()
        if found.max_lateness and now - scheduled_for > found.max_lateness:
            late = f"was {now - scheduled_for} ago, longer than maxLateness {found.max_lateness}"
            what = f"{late}: everybody would be skipped"
            raise CampaignInvalid([Problem("scheduledFor", what)])
        if scheduled_for - now > LONGEST_WAIT:
            raise CampaignInvalid([Problem("scheduledFor", "is more than ten years away")])

    async def _read(
        self, workspace: Workspace, given: object, before: CampaignDefinition | None = None
    ) -> CampaignDefinition:
        await know_templates(
            self._kernel, workspace, given, list(before.message.templates.values()) if before else None
        )
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
        await check_linked(self._kernel, workspace, campaign)
        return campaign

    async def audience_of(self, workspace: Workspace, campaign: CampaignDefinition) -> Audience:
        """Return a campaign's audience at this moment, with its segment resolved; a social campaign has none."""
        if campaign.audience is None:
            raise AssertionError("only a social campaign has no audience")
        return await within_segment(self._kernel, workspace, campaign.audience)

    async def _somebody(
        self, workspace: Workspace, campaign: CampaignDefinition, named: ContactReference | None
    ) -> LoadedContact:
        """Return the contact that was asked for, or the first of the audience."""
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
            async for chunk in every_chunk(self._kernel, shard, workspace, audience, now=now, limit=100):
                if chunk.people:
                    return chunk.people[0].id
        raise CampaignInvalid([Problem("audience", "matches nobody; name a contact with contactId")])

    async def _preview_posts(self, workspace: Workspace, found: FoundCampaign) -> Previews:
        drafts = [
            Draft(MessageContent(found.channel, says), post, recipients=[account])
            for post, account, says in found.definition.posts()
        ]
        return await render_drafts(self._kernel, workspace, drafts, _data(found), None)


def _shown(found: FoundCampaign, *, segment_name: str | None, is_ready: bool) -> Campaign:
    audience = found.definition.audience
    return Campaign(
        id=found.id,
        name=found.name,
        channel=found.channel,
        content=found.content,
        version=found.version,
        audience=found.audience,
        in_words=None if audience is None else audience_in_words(audience, segment_name),
        segment_name=segment_name,
        data=found.data,
        send_hour=found.send_hour,
        time_zone=found.time_zone,
        rate=found.rate,
        max_lateness=None if found.max_lateness is None else format_duration(found.max_lateness),
        not_ready=[] if is_ready else [found.channel],
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def _content_id(found: FoundCampaign) -> str:
    """Return the id that the keys of its items name as the asset, or as the version of a script."""
    return found.definition.content_version or f"{found.id}:{found.version}"


def _data(found: FoundCampaign) -> dict[str, object]:
    """Return what templates see beside the contact."""
    return {**found.data, "campaign": {"id": str(found.id), "name": found.name}}
