"""What is asked of the engine itself, in the test's own process: executions, runs to a list, and enrollments.

book.py is the list of it; products.py asks as a user does.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from uuid import UUID, uuid4

from tests.chaos.app import CHANNELS, CLASSES
from tests.chaos.book import FLOODING, SMALL, Book
from tidings.domain.caller import Caller
from tidings.domain.flow.item import Channel
from tidings.engine import Deployment, Engine, Recipient, Trigger, Workspace
from tidings.kernel.start.enroll import Enrolling
from tidings.views.sequences import SequenceStatus

CALLER = Caller(Workspace(), "chaos")
WALK = ("blind", "keyed", "resolvable")
"""The providers that the three sends of the long workflow go through, in order."""
DRIP = ("resolvable", "blind")
"""Those of a sequence's two steps."""

_TEXTS = {Channel.EMAIL: {"subject": "Hello", "body": "Hello {{ name }}"}}
_CONTENT = {channel: _TEXTS.get(channel, {"body": "Hello {{ name }}"}) for channel in CHANNELS.values()}


class Workload:
    """Feeds the engine in the test's own process, and writes down what it fed."""

    def __init__(self, engine: Engine, book: Book) -> None:
        self._engine = engine
        self._book = book
        self.sequence = UUID(int=0)
        self.channels = CHANNELS
        """The channel that leads to each class."""

    async def define(self) -> None:
        """The workflows, and a sequence."""
        await self.define_workflows()
        steps = [{"dayOffset": 0, "channel": CHANNELS[provider].value, "content": "Hello"} for provider in DRIP]
        sequence = await self._engine.sequences.create(CALLER, "drip", steps=steps)
        await self._engine.sequences.update(CALLER, sequence.id, status=SequenceStatus.ACTIVE)
        self.sequence = sequence.id

    async def define_workflows(self) -> None:
        """One send for each provider, and a walk through all three."""
        for provider in CLASSES:
            await self._engine.define(f"one-{provider}", _one(self.channels, provider))
        nodes: list[dict[str, object]] = []
        for place, provider in enumerate(WALK):
            nodes += [_send(self.channels, provider, provider), {"id": f"wait{place}", "type": "delay", "delayMs": 50}]
        ids = [str(node["id"]) for node in nodes]
        edges = [{"from": one, "to": other} for one, other in pairwise(ids)]
        await self._engine.define("walk", {"entryNodeId": ids[0], "nodes": nodes, "edges": edges})

    def triggers(self, provider: str, count: int, mode: str = "to") -> list[Trigger]:
        """Wishes for executions with one send each, noted as intended."""
        addresses = self._book.addresses(count, provider, mode)
        self._book.intend(addresses, provider)
        return [Trigger(f"key {address}", {f"to_{provider}": address, "name": address}) for address in addresses]

    async def start_executions(self, provider: str, count: int, mode: str = "to") -> None:
        """Trigger executions with one send each."""
        await self._trigger(f"one-{provider}", self.triggers(provider, count, mode))

    async def start_walks(self, count: int) -> None:
        """Trigger executions with three sends, one through each provider."""
        people = [self._book.addresses(count, provider) for provider in WALK]
        for provider, share in zip(WALK, people, strict=True):
            self._book.intend(share, provider)
        self._book.write({"walks": list(zip(*people, strict=True))})
        triggers = []
        for addresses in zip(*people, strict=True):
            data = {f"to_{provider}": address for provider, address in zip(WALK, addresses, strict=True)}
            triggers.append(Trigger(f"key {addresses[0]}", {**data, "name": addresses[0]}))
        await self._trigger("walk", triggers)

    async def trigger_again(self, provider: str, triggers: Sequence[Trigger]) -> list[bool]:
        """Trigger with keys that may have been used already; tells which were."""
        return await self._trigger(f"one-{provider}", triggers)

    async def start_flood(self, provider: str, count: int, mode: str = "to") -> str:
        """Trigger so many executions of one tenant at once; return the flood's name."""
        triggers = self.triggers(provider, count, mode)
        recipients = [str(one.data["name"]) for one in triggers]
        self._book.write({"floods": {recipients[0]: recipients}})
        await self._trigger_for(FLOODING, provider, triggers)
        return recipients[0]

    async def start_beside(self, flood: str, provider: str, count: int) -> None:
        """Trigger a few executions of each of some other tenants, one by one, while a flood is there."""
        for tenant in count * SMALL:
            triggers = self.triggers(provider, 1)
            self._book.write({"beside": {str(triggers[0].data["name"]): flood}})
            await self._trigger_for(tenant, provider, triggers)

    async def _trigger_for(self, tenant: str, provider: str, triggers: Sequence[Trigger]) -> None:
        workspace, workflow = Workspace(tenant), f"one-{provider}"
        await self._engine.define(workflow, _one(self.channels, provider), workspace)
        await self._trigger(workflow, triggers, workspace)

    async def start_run(self, provider: str, count: int, mode: str = "to", poison: str = "") -> UUID:
        """Deploy a run to new people; `poison` is what the first of them gets to be rendered."""
        addresses = self._book.addresses(count, provider, mode)
        self._book.intend(addresses, provider)
        channel = self.channels[provider]
        recipients = [Recipient(address, {"name": address}) for address in addresses]
        content = dict(_CONTENT[channel])
        if poison:
            content["body"] += f"{{% if name == '{addresses[0]}' %}}{poison}{{% endif %}}"
            self._book.write({"unsendable": {addresses[0]: poison}})
        wish = Deployment(uuid4(), f"run {addresses[0]}", channel, content, recipients)
        started = await self._engine.deploy(wish)
        self._book.write({"runs": {str(started.id): count}})
        return started.id

    async def start_enrollments(self, count: int) -> None:
        """Enroll new contacts in a sequence with two steps."""
        await self.enroll(await self.add_contacts(count))

    async def add_contacts(self, count: int) -> str:
        """New contacts who will be enrolled, noted as intended; gives the tag that they have."""
        tokens, addresses = (self._book.addresses(count, provider) for provider in DRIP)
        for provider, share in zip(DRIP, (tokens, addresses), strict=True):
            self._book.intend(share, provider)
        people = [
            {"externalId": token, "pushTokens": [token], "email": address, "tags": [tokens[0]]}
            for token, address in zip(tokens, addresses, strict=True)
        ]
        self._book.write({"enrolled": tokens, "walks": list(zip(tokens, addresses, strict=True))})
        await self._engine.contacts.upsert_many(CALLER, people)
        return tokens[0]

    async def enroll(self, tag: str) -> Enrolling:
        """Enroll everybody with a tag, whoever of them may have been enrolled already."""
        return await self._engine.enrollments.batch_enroll(CALLER, self.sequence, {"tag": tag})

    async def _trigger(
        self, workflow: str, triggers: Sequence[Trigger], workspace: Workspace = CALLER.workspace
    ) -> list[bool]:
        started = await self._engine.trigger_many(workflow, triggers, workspace)
        keys = [one.idempotency_key for one in triggers]
        self._book.write({"executions": {key: str(got.id) for key, got in zip(keys, started, strict=True)}})
        return [one.duplicate for one in started]


def _one(channels: Mapping[str, Channel], provider: str) -> dict[str, object]:
    return {"entryNodeId": "send", "nodes": [_send(channels, "send", provider)]}


def _send(channels: Mapping[str, Channel], id: str, provider: str) -> dict[str, object]:
    channel = channels[provider]
    return {"id": id, "type": channel.value, "to": f"{{{{ to_{provider} }}}}", **_CONTENT[channel]}
