"""What happens in the demo, in order: start everything, kill a worker half-way, face the doubt, count.

Nothing here is staged but the cast: PostgreSQL, the SMTP server, the workers and the kill are real.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from uuid import UUID

from tidings.config import Config, LogFormat
from tidings.demo.cast import DELAY_SECONDS, WELCOME, WORKFLOW, mail_addresses, new_contacts, newsletter
from tidings.demo.processes import DemoWorker, Sink, running_sink, running_worker
from tidings.demo.screen import Screen, Standing
from tidings.demo.summary import PARTS, Killed, Ledger, Summary, Witnessed, find_problems
from tidings.demo.trouble import DemoFailed
from tidings.domain.caller import Caller
from tidings.domain.campaigns.run import OPEN_RUNS
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import LARGEST_LIMIT
from tidings.domain.words import ShownStatus
from tidings.embedded import TemporaryServer
from tidings.engine import Engine, Resolution
from tidings.resources.outbox import OutboxFilter, ShownItem
from tidings.resources.runs import ShownRun
from tidings.wiring import open_engine

DEMO = Caller(Workspace(), "demo")
LEASE_SECONDS = 6
CALL_SECONDS = 3
CONNECTIONS = 4
KILL_AFTER = 0.4  # of the campaign's e-mails
HOLD_AFTER = 0.9  # of all: however fast the machine is, the worker is killed before it is done
LOOK_EVERY_SECONDS = 0.1
ENDED = [status for status in ShownStatus if status.has_ended]


async def tell(people: int, screen: Screen, pg_bin: Path | None = None) -> Summary:
    """Play the whole story on a stage of its own, which is gone afterwards."""
    contacts = min(200, people // 5)
    async with _stage(screen, pg_bin, int(HOLD_AFTER * (people + contacts))) as stage:
        play = _Play(stage, people, contacts)
        await play.begin()
        with screen.bars():
            killed = await play.kill_and_take_over()
        return await play.count(killed)


@dataclass(slots=True)
class _Stage:
    """What the story is played on."""

    screen: Screen
    engine: Engine
    config: Config
    sink: Sink
    directory: Path
    stack: AsyncExitStack
    workers: list[DemoWorker]

    async def start_worker(self) -> DemoWorker:
        log = self.directory / f"worker-{len(self.workers) + 1}.log"
        worker = await self.stack.enter_async_context(running_worker(self.config, log))
        self.workers.append(worker)
        return worker


@asynccontextmanager
async def _stage(screen: Screen, pg_bin: Path | None, most: int) -> AsyncIterator[_Stage]:
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidings-demo-")))
        server = await stack.enter_async_context(TemporaryServer(bin_dir=pg_bin))
        screen.say(f"PostgreSQL runs in {server.data_dir}, with fsync on; it is removed at the end")
        sink = await stack.enter_async_context(running_sink(most))
        screen.say("an SMTP server takes mail in a process of its own, and counts it by itself")
        config = Config(
            database_url=server.dsn,
            smtp_url=sink.url,
            print=True,
            lease_seconds=LEASE_SECONDS,
            call_seconds=CALL_SECONDS,
            connections=CONNECTIONS,
            log_format=LogFormat.JSON,
        )
        engine = await open_engine(config)
        stack.push_async_callback(engine.close)
        yield _Stage(screen, engine, config, sink, directory, stack, [])


class _Play:
    def __init__(self, stage: _Stage, people: int, contacts: int) -> None:
        self._stage = stage
        self._engine, self._screen = stage.engine, stage.screen
        self._people, self._contacts = people, contacts
        self._patience_seconds = 60 + people / 50
        self._run_id = UUID(int=0)

    async def begin(self) -> None:
        """Ask for everything that is to be sent."""
        await self._engine.define(WORKFLOW, WELCOME)
        await self._engine.trigger_many(WORKFLOW, new_contacts(self._contacts))
        self._screen.say(
            f"workflow [bold]{WORKFLOW}[/] (e-mail → {DELAY_SECONDS} s → sms) triggered for {self._contacts} contacts"
        )
        self._run_id = (await self._engine.deploy(newsletter(self._people))).id
        self._screen.say(f"campaign deployed to {self._people:,} people")

    async def kill_and_take_over(self) -> Killed:
        """Kill the first worker half-way; the second finishes, once the doubt it found is resolved by evidence."""
        first = await self._stage.start_worker()
        self._screen.say(f"worker {first.pid} started")
        wanted = int(self._people * KILL_AFTER)
        before = await self._watch(first, lambda now: now.sent >= wanted, f"{wanted} e-mails to be sent")
        await first.kill()
        await self._stage.sink.go_on()
        self._screen.say(
            f"[bold red]kill -9 {first.pid}[/]: the worker dies with {before.sent:,} of {self._people:,} e-mails sent"
        )
        second = await self._stage.start_worker()
        self._screen.say(
            f"worker {second.pid} started; what the dead one held is free when its lease of {LEASE_SECONDS} s runs out"
        )
        await self._watch(second, lambda now: now.queued == 0 and now.ended == now.contacts, "the rest to be sent")
        killed = await self._resolve_by_evidence(first, before.sent)
        await self._watch(second, lambda now: now.sent == now.people and now.is_over, "the run to end")
        await self._drain(second)
        return killed

    async def _resolve_by_evidence(self, dead: DemoWorker, sent_until_then: int) -> Killed:
        doubtful = await self._items_in_doubt()
        arrived = (await self._stage.sink.arrived()).recipients
        there = [item for item in doubtful if item.recipient in arrived]
        absent = [item for item in doubtful if item.recipient not in arrived]
        self._screen.say(
            f"[yellow]{len(doubtful)} in doubt[/]: the worker died before it noted their answers, and SMTP cannot be "
            "asked for them; Tidings neither sends them again nor calls them sent"
        )
        await self._resolve(there, Resolution.SENT, "the sink has it")
        await self._resolve(absent, Resolution.RESEND, "the sink does not have it")
        self._screen.say(
            f"resolved by evidence, each on record: the sink has {len(there)} of them; the other {len(absent)} never "
            "arrived and may go out"
        )
        return Killed(dead.pid, sent_until_then, len(doubtful), len(there), len(absent))

    async def _items_in_doubt(self) -> list[ShownItem]:
        room, where = DEMO.workspace, OutboxFilter(in_doubt=True)
        page = await self._engine.outbox.list(room, where, limit=LARGEST_LIMIT)
        found = page.items
        while page.next_cursor:
            page = await self._engine.outbox.list(room, where, limit=LARGEST_LIMIT, cursor=page.next_cursor)
            found += page.items
        return found

    async def _resolve(self, items: list[ShownItem], outcome: Resolution, note: str) -> None:
        at_once = asyncio.Semaphore(CONNECTIONS)

        async def resolve(item: ShownItem) -> None:
            async with at_once:
                await self._engine.outbox.resolve(DEMO, item.id, outcome, note)

        await asyncio.gather(*(resolve(item) for item in items))

    async def _drain(self, worker: DemoWorker) -> None:
        status = await worker.drain()
        if status != 0:
            raise DemoFailed(f"worker {worker.pid} drained with exit status {status}")
        self._screen.say(f"worker {worker.pid} drained on SIGTERM")

    async def count(self, killed: Killed) -> Summary:
        """Put the ledger, the sink's count and `verify` side by side."""
        run = await self._engine.runs.get(DEMO.workspace, self._run_id)
        totals = await self._engine.health.totals()
        campaign = _ledger_of_run(run, self._people)
        everything = Ledger(0, {part: totals.items[part] for part in PARTS})
        workflow = Ledger(2 * self._contacts, {part: everything.parts[part] - campaign.parts[part] for part in PARTS})
        checks = {check.name: len(check.offences) for check in await self._engine.verify()}
        witnessed = await self._witness()
        unfinished = [] if run.status not in OPEN_RUNS else [f"the run is {run.status}"]
        if totals.executions[ShownStatus.COMPLETED] != self._contacts:
            unfinished.append(f"the executions are {dict(totals.executions)}")
        problems = find_problems({"campaign": campaign, "workflow": workflow}, witnessed, checks, unfinished)
        return Summary(campaign, workflow, killed, witnessed, checks, problems, round(self._screen.seconds, 1))

    async def _witness(self) -> Witnessed:
        arrived = await self._stage.sink.arrived()
        expected = mail_addresses(self._people, self._contacts)
        texts = set[str]().union(*(worker.text_messages() for worker in self._stage.workers))
        return Witnessed(
            distinct_emails=arrived.distinct,
            duplicates=arrived.accepted - arrived.distinct,
            missing=len(expected - arrived.recipients.keys()),
            strangers=len(arrived.recipients.keys() - expected),
            text_messages=len(texts),
        )

    async def _watch(self, worker: DemoWorker, reached: Callable[[Standing], bool], what: str) -> Standing:
        """Show the bars until something is reached; fail if a process ends by itself or patience does."""
        deadline = monotonic() + self._patience_seconds
        while True:
            worker.require_alive()
            self._stage.sink.require_alive()
            began = monotonic()
            standing = await self._look()
            self._screen.show(standing)
            if reached(standing):
                return standing
            if monotonic() > deadline:
                raise DemoFailed(f"waited {self._patience_seconds:.0f} s for {what}: {standing}")
            # Looking counts rows: however many there are, it may take a fifth of the time at most.
            await asyncio.sleep(max(LOOK_EVERY_SECONDS, 4 * (monotonic() - began)))

    async def _look(self) -> Standing:
        run = await self._engine.runs.get(DEMO.workspace, self._run_id)
        totals = await self._engine.health.totals()
        return Standing(
            people=self._people,
            sent=run.counts.sent,
            in_doubt=totals.items["in_doubt"],
            queued=None if run.planning else totals.items["queued"],
            contacts=self._contacts,
            ended=sum(totals.executions[status] for status in ENDED),
            is_over=run.status not in OPEN_RUNS,
        )


def _ledger_of_run(run: ShownRun, planned: int) -> Ledger:
    counts = run.counts
    return Ledger(
        planned,
        {
            "queued": counts.queued,
            "sent": counts.sent,
            "called": counts.called,
            "posted": counts.posted,
            "skipped": counts.skipped,
            "failed": counts.failed,
            "in_doubt": counts.in_doubt,
        },
    )
