"""What a user asks of the products, as a user asks it: over HTTP, with the Python client, of a real `tidings serve`.

Campaigns to contacts chosen by a filter, contacts enrolled in a sequence of three steps, and events that rules turn
into messages. Whatever may be asked twice is: each deploy, each batch-enroll and each event arrives two times.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID

from tests.chaos.app import CHANNELS, CLASSES
from tests.chaos.arena import Arena
from tests.chaos.book import CAMPAIGN, ENROLLMENT, EVENT, TENANTS, Book
from tests.chaos.ledger import read_lines
from tests.chaos.processes import ApiProcess, WorkerProcess
from tidings.client import ApiError, Client, Conflict, Item, Retrying, Run, ServerUnreachable
from tidings.client.runs import Outcome

Answer = TypeVar("Answer")

STEPS = ("resolvable", "blind", "keyed")
"""The providers that the steps of the sequence go through, in order."""
TRIGGER = "chaos_happened"
COMPANY = "Chaos"
CONTENT: Mapping[str, Mapping[str, str]] = {
    "keyed": {"body": "Hello {{ contact.name }}"},
    "resolvable": {"title": "Hello", "body": "Hello {{ contact.name }}"},
    "blind": {"subject": "Hello", "body": "Hello {{ contact.name }}"},
}
PATIENCE = Retrying(attempts=40, base_seconds=0.1, cap_seconds=1.0)
"""Through a kill of the API and a restart of PostgreSQL, on a busy machine."""
MOST_TRIES = 40
NOTE = "the ledger says so"
LARGEST_BULK = 5_000
EVENTS_AT_ONCE = 10
SILENCE_SECONDS = 0.6
"""New workers have looked for work three times by then."""


class Products:
    """A user with a key, who writes down what they are about to ask for."""

    def __init__(self, arena: Arena, api: ApiProcess, client: Client) -> None:
        self.api = api
        self.client = client
        self.sequence = UUID(int=0)
        self.runs: dict[UUID, frozenset[str]] = {}  # run → whom it is for
        self.enrolled: set[str] = set()  # whom the sequence writes to
        self._arena = arena
        self._book: Book = arena.book
        self._turn = asyncio.Lock()  # nobody can be enrolled while the sequence is paused

    async def define(self) -> None:
        """The rules of the trigger, and the sequence; a day of it lasts as long as the arena says."""
        for provider in CLASSES:
            content = dict.fromkeys(CONTENT[provider], "Hello {{ lead.name }}")
            await self.client.rules.create(TRIGGER, CHANNELS[provider].value, "lead", [{"template": content}])
        steps = [
            {"dayOffset": day, "channel": CHANNELS[provider].value, "content": "Hello {{ contact.name }}"}
            for day, provider in enumerate(STEPS)
        ]
        self.sequence = (await self.client.sequences.create("steps", steps)).id
        await self.client.sequences.publish(self.sequence)

    async def deploy(self, provider: str, count: int) -> UUID:
        """Deploy a campaign to new contacts, twice at once; somebody of another company must hear nothing of it."""
        people = self._book.reachable(count, provider)
        self._book.intend(people, provider, CAMPAIGN)
        tag = f"campaign of {people[0]}"
        stranger = {**_contact({provider: f"{self._book.reachable(1, provider)[0]}"}, tag), "company": "Calm"}
        await self._add([*(_contact({provider: one}, tag) for one in people), stranger])
        campaign = await self._create_campaign(provider, tag)
        first, second = await asyncio.gather(
            *(self.client.campaigns.deploy(campaign, idempotency_key=tag) for _ in range(2))
        )
        if first.run.id != second.run.id:
            raise AssertionError(f"{tag} was deployed twice: {first.run.id} and {second.run.id}")
        self._book.write({"runs": {str(first.run.id): count}})
        self.runs[first.run.id] = frozenset(people)
        return first.run.id

    async def enroll(self, count: int) -> None:
        """Batch-enroll new contacts by their tag, two times."""
        people = [self._book.reachable(count, provider) for provider in STEPS]
        for provider, share in zip(STEPS, people, strict=True):
            self._book.intend(share, provider, ENROLLMENT)
            self.enrolled.update(share)
        walks = list(zip(*people, strict=True))
        tag = f"enrolled with {walks[0][0]}"
        self._book.write({"enrolled": people[0], "walks": walks})
        await self._add([_contact(dict(zip(STEPS, walk, strict=True)), tag) for walk in walks])
        async with self._turn:
            await self.client.enrollments.batch_enroll(self.sequence, tag=tag)
            again = await self.client.enrollments.batch_enroll(self.sequence, tag=tag)
        if (again.enrolled_count, again.skipped_count) != (0, count):
            raise AssertionError(f"{tag}: enrolling {count} people a second time came to {again}")

    async def post_events(self, count: int) -> None:
        """Post events, each of which writes to one person by every class, and each twice at the same moment."""
        people = [self._book.reachable(count, provider) for provider in CLASSES]
        for provider, share in zip(CLASSES, people, strict=True):
            self._book.intend(share, provider, EVENT)
        leads = [dict(zip(CLASSES, lead, strict=True)) for lead in zip(*people, strict=True)]
        self._book.write({"events": [lead["keyed"] for lead in leads]})
        for first in range(0, count, EVENTS_AT_ONCE):
            await asyncio.gather(*(self._post_twice(lead) for lead in leads[first : first + EVENTS_AT_ONCE]))

    async def _post_twice(self, lead: Mapping[str, str]) -> None:
        key = lead["keyed"]
        given = {"name": key, **_reached_at(lead)}
        both = await asyncio.gather(
            *(self.client.events.send(TRIGGER, lead=given, idempotency_key=key) for _ in range(2))
        )
        if len({one.id for one in both}) != 1 or not any(one.duplicate for one in both):
            raise AssertionError(f"event {key} was taken twice: {both}")

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[frozenset[str]]:
        """Everything that runs now and the sequence, paused for the block; gives whom they are for."""
        async with self._turn:
            stopped = [id for id in list(self.runs) if await self._tell(self.client.runs.pause, id)]
            await self.client.sequences.pause(self.sequence)
            yield frozenset().union(*(self.runs[id] for id in stopped), self.enrolled)
            await self.client.sequences.resume(self.sequence)
            for id in stopped:
                await self._tell(self.client.runs.resume, id)

    async def _tell(self, ask: Callable[[UUID], Awaitable[Run]], id: UUID) -> bool:
        """Pause or resume a run; False when it has ended, as one may whose last calls were in the air at its pause."""
        try:
            await ask(id)
        except Conflict:
            if (await self.client.runs.get(id)).has_ended:
                return False
            raise
        return True

    async def resolve_by_evidence(self) -> int:
        """End all doubt as people would who can look at what arrived: it was sent, or it is sent again.

        Gives how many there were. Whoever flooded or asked for a little beside it decides about what is theirs.
        """
        arrived = {line.recipient for line in read_lines(self._arena.file) if line.effective}
        return sum([await self._resolve_all_of(tenant, arrived) for tenant in TENANTS])

    async def _resolve_all_of(self, tenant: str, arrived: set[str]) -> int:
        """What is in doubt for one tenant, asked for with a key of its own."""
        made = await self.client.keys.create(f"decides for {tenant}", "systemAdmin", tenant=tenant)
        async with Client(self.api.url, made.secret, retrying=PATIENCE) as client:
            doubtful = [item async for item in client.outbox.list(in_doubt=True, page_size=1000)]
            self._book.write({"resent": [item.recipient for item in doubtful if item.recipient not in arrived]})
            await self._resolve(client, doubtful, arrived)
        return len(doubtful)

    async def _resolve(self, client: Client, doubtful: Sequence[Item], arrived: set[str]) -> None:
        """Runs are told in bulk, everything else item by item."""
        for run in {item.run_id for item in doubtful if item.run_id}:
            await self._resolve_run(run, [item for item in doubtful if item.run_id == run], arrived)
        for item in doubtful:
            if item.run_id is None:
                await client.outbox.resolve(item.id, "sent" if item.recipient in arrived else "resend", NOTE)

    async def _resolve_run(self, run: UUID, doubtful: Sequence[Item], arrived: set[str]) -> None:
        """What is in doubt is on the run, held, counted, and told item by item."""
        shown = await self.client.runs.get(run)
        listed = {item.id async for item in self.client.runs.items(run, in_doubt=True, page_size=1000)}
        if listed != {item.id for item in doubtful} or shown.counts.in_doubt != len(listed):
            raise AssertionError(f"run {run} has {len(doubtful)} in doubt, lists {len(listed)} and shows {shown}")
        if shown.status_text != f"running, {len(listed):,} in doubt":
            raise AssertionError(f"run {run} with {len(listed)} in doubt says {shown.status_text!r}")
        sent = [item.id for item in doubtful if item.recipient in arrived]
        others = [item.id for item in doubtful if item.recipient not in arrived]
        outcomes: dict[Outcome, list[UUID]] = {"sent": sent, "resend": others}
        for outcome, ids in outcomes.items():
            if ids:
                await self.client.runs.resolve(run, outcome, NOTE, ids)

    async def unfinished(self) -> list[str]:
        """What the API says of runs that are not completed, or whose counts do not add up."""
        shown = [run async for run in self.client.runs.list(page_size=1000) if run.id in self.runs]
        wrong = [f"run {run.id} is {run.status_text}: {run.counts}" for run in shown if not _is_complete(run)]
        return wrong + [f"run {id} is not listed" for id in self.runs.keys() - {run.id for run in shown}]

    async def _add(self, people: Sequence[Mapping[str, object]]) -> None:
        for first in range(0, len(people), LARGEST_BULK):
            await self.client.contacts.upsert(people[first : first + LARGEST_BULK])

    async def _create_campaign(self, provider: str, tag: str) -> UUID:
        """Making one may not be repeated blindly: whoever got no answer looks whether it is there."""

        async def find_or_create() -> UUID:
            async for found in self.client.campaigns.list(name=tag):
                return found.id
            audience = {"company": COMPANY, "tag": tag}
            channel, content = CHANNELS[provider].value, CONTENT[provider]
            return (
                await self.client.campaigns.create(name=tag, channel=channel, content=content, audience=audience)
            ).id

        return await self._insist(find_or_create)

    @staticmethod
    async def _insist(ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask again after a failure of the server or of the way to it."""
        for _ in range(MOST_TRIES):
            try:
                return await ask()
            except ServerUnreachable:
                continue
            except ApiError as error:
                if error.status < 500:
                    raise
        raise AssertionError(f"no answer after {MOST_TRIES} tries")


def _contact(reached: Mapping[str, str], tag: str) -> dict[str, object]:
    name = next(iter(reached.values()))
    return {"externalId": name, "name": name, "company": COMPANY, "tags": [tag], **_reached_at(reached)}


def _reached_at(reached: Mapping[str, str]) -> dict[str, object]:
    """The fields of a person who is reached so by each provider."""
    fields: dict[str, Callable[[str], dict[str, object]]] = {
        "keyed": lambda number: {"phone": number},
        "resolvable": lambda token: {"pushTokens": [token]},
        "blind": lambda address: {"email": address},
    }
    return {name: value for provider, to in reached.items() for name, value in fields[provider](to).items()}


def _is_complete(run: Run) -> bool:
    return run.status == "completed" and run.counts.planned == run.counts.sent


async def hand_over(arena: Arena, products: Products, old: Sequence[WorkerProcess]) -> list[WorkerProcess]:
    """Pause everything, have new workers take the place of the old ones, and resume; gives the new ones.

    From the last old worker's end until the resume nobody may hear anything of what is paused.
    """
    async with products.paused() as silent:
        for worker in old:
            arena.terminate(worker)
        codes = [await worker.wait() for worker in old]
        if any(codes):
            raise AssertionError(f"drained workers ended with {codes}:\n" + "\n".join(one.tail() for one in old))
        silent_from = arena.file.stat().st_size
        new = await arena.start_workers(len(old))
        await asyncio.sleep(SILENCE_SECONDS)  # the silence itself, not a wait for something
        heard = [line for line in read_lines(arena.file, silent_from) if line.recipient in silent]
        if heard:
            raise AssertionError(f"{len(heard)} calls for what was paused, among them {heard[0]}")
    return new


@asynccontextmanager
async def open_products(arena: Arena) -> AsyncIterator[Products]:
    """A user of an arena, with an API of their own."""
    api = await arena.start_api()
    async with Client(api.url, api.key, retrying=PATIENCE) as client:
        products = Products(arena, api, client)
        await products.define()
        yield products
