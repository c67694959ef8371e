"""A campaign to be simulated: deployed as it is, to those who are in its audience now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.content.linking import Frozen
from tidings.domain.errors import Problem, ScenarioInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.simulation.crowd import Crowd, Ground
from tidings.storage.campaigns import FoundCampaign

MOST_SHARDS = 16
"""Up to this number the scratch database has as many shards as the live one: a rate assigns places shard by shard."""
MOST_PLACES = 500
"""Up to which everybody is sent to at their own second."""
LONGEST_STEP = timedelta(seconds=20)
"""Less than what a run takes for a missed place."""
ITEMS_WITHOUT_NODE = ""


@dataclass(frozen=True, slots=True)
class SimulatedCampaign:
    """A campaign as it is, and whom it is for with its segment resolved; a social one has no audience."""

    found: FoundCampaign
    people: Audience | None
    live_shards: int
    kept: Frozen = field(default_factory=dict)
    kind: str = "campaign"
    functions: Sequence[str] = ()
    only_its_audience: bool = True

    @classmethod
    async def find(cls, live: Engine, workspace: Workspace, campaign: UUID | str) -> "SimulatedCampaign":
        """A campaign by id or name."""
        found = await live.campaigns.load(workspace, campaign)
        reaches = found.channel.reaches_contacts
        people = await live.campaigns.audience_of(workspace, found.definition) if reaches else None
        return cls(found, people, live.kernel.shards)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.found.name

    @property
    def version(self) -> int | None:
        """How often it was changed, and once more."""
        return self.found.version

    @property
    def labels(self) -> Mapping[str, str]:
        """It has one step: its message, or its posts."""
        return {self._step: self._step}

    @property
    def written(self) -> Mapping[str, object]:
        """What its message says."""
        return {"content": self.found.content}

    @property
    def words(self) -> Mapping[str, str]:
        """The states of its run keep their names."""
        return {}

    def audience(self, scenario: Scenario) -> Audience | None:
        """Its own audience, unless another is given."""
        if self.people is None and (scenario.contacts or scenario.messages_of):
            place = "contacts" if scenario.contacts else "messagesOf"
            raise ScenarioInvalid([Problem(place, "a social campaign has no contacts; leave them out")])
        return scenario.contacts or self.people

    def ground(self, crowd: Crowd) -> Ground:
        """As many shards as there are, where the places in its rate depend on them; a sample has places of its own.

        Each place is a jump of the clock: for very many people it takes them in steps.
        """
        rate = self._rate(crowd)
        if rate is None:
            return Ground()
        takes = timedelta(minutes=len(crowd.people) / rate)
        step = min(takes / MOST_PLACES, LONGEST_STEP) if len(crowd.people) > MOST_PLACES else timedelta()
        has_places = len(crowd.people) == crowd.audience and self.live_shards <= MOST_SHARDS
        return Ground(self.live_shards if has_places else 1, step)

    async def begin(self, scratch: Engine, caller: Caller, crowd: Crowd, scenario: Scenario) -> Mapping[str, str]:
        """Deploy it to everybody there."""
        audience = None if self.people is None else Audience(all=True).shown()
        found = replace(self.found, audience=audience, rate=self._rate(crowd))
        await scratch.campaigns.deploy_found(caller, found, scheduled_for=scenario.scheduled_for)
        return {ITEMS_WITHOUT_NODE: self._step}

    def _rate(self, crowd: Crowd) -> int | None:
        """Its rate; of a sample as much less as there are fewer people, so that it takes as long as it will."""
        if self.found.rate is None or not crowd.audience:
            return self.found.rate
        return max(1, round(self.found.rate * min(1, len(crowd.people) / crowd.audience)))

    @property
    def _step(self) -> str:
        return "post" if self.people is None else "message"
