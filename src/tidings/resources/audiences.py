"""Audiences that are being written: how many they have, who can be reached, and some of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from msgspec import convert
from msgspec.structs import asdict

from tidings.domain.channels import Channel
from tidings.domain.content.nested import templates_in
from tidings.domain.errors import CampaignInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.contact import LoadedContact, addresses_of, lack_of
from tidings.domain.people.filter_words import audience_in_words
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.audience_chunks import next_chunk
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.references import name_audience
from tidings.kernel.templates import know_templates
from tidings.resources.reach import count_audience, within_segment
from tidings.resources.segments import together
from tidings.storage.acting import for_caller
from tidings.views.campaigns import CountedAudience, SampledContact

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AudienceQuestion:
    """What to tell of an audience beside how many it has."""

    channel: Channel | None = None
    content: Json = field(default_factory=dict)
    """A message: who lacks the attributes that it prints."""
    sample: int = 5


@for_caller
class UnsavedAudiences:
    """Counts audiences that are stored nowhere."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def count(self, workspace: Workspace, given: Json, asked: AudienceQuestion) -> CountedAudience:
        """Count the contacts that match at this moment, and show some; raise CampaignInvalid with every problem."""
        audience = await self._read(workspace, given)
        await know_templates(self._kernel, workspace, asked.content)
        sources = [source for _, source in templates_in(asked.content, "")]
        resolved = await within_segment(self._kernel, workspace, audience)
        counted = await count_audience(self._kernel, workspace, resolved, asked.channel, sources)
        sample = await self._sample(workspace, resolved, asked)
        return CountedAudience(**asdict(counted), in_words=audience_in_words(audience), sample=sample)

    async def _read(self, workspace: Workspace, given: Json) -> Audience:
        named = await name_audience(self._kernel, workspace, given, "audience")
        audience, problems = read_audience(named.given)
        if problems := together(named, problems):
            raise CampaignInvalid(problems)
        return audience

    async def _sample(self, workspace: Workspace, audience: Audience, asked: AudienceQuestion) -> list[SampledContact]:
        """Return the first contacts of the first shards: whom the number is about, not a fair share of them."""
        now, ids = await self._kernel.clock.now(), list[UUID]()
        for shard in self._kernel.every_shard():
            if len(ids) >= asked.sample:
                break
            left = asked.sample - len(ids)
            chunk = await next_chunk(
                self._kernel, shard, workspace, audience, now=now, made_by=now, after=None, limit=left
            )
            ids += [one.id for one in chunk.people]
        people = await load_people(self._kernel, ids)
        return [_sampled(people[id], asked.channel) for id in ids if id in people]


def _sampled(person: LoadedContact, channel: Channel | None) -> SampledContact:
    refused = None
    if channel is not None:
        refused = person.refusal(channel) or (None if addresses_of(person.data, channel) else lack_of(channel))
    names = {name: person.data[name] for name in ("externalId", "name", "email")}
    return convert({**names, "id": str(person.id), "skipped": refused}, SampledContact)
