"""An engine on a database of its own, and a clock that you set.

`run_until` works whatever is due and jumps from due time to due time: three months of waiting take as long as the work
that is done in them. Runs look again every half minute in case no job woke them; here a job always does, so such a
look is taken on the way and never stopped for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.storage.scratch import drop_scratch_database, make_scratch_database, next_run_due
from tidings.testing.clock import MONDAY_MORNING, VirtualClock
from tidings.testing.recorder import Message, Recorder
from tidings.testing.server import temporary_server
from tidings.wiring import App, open_engine

SHARDS = 1
"""One shard is enough for one process, and needs a quarter of the statements."""
CONNECTIONS = 6
RECORDED: Sequence[Channel] = MESSAGE_CHANNELS
BATCH = 250
BATCHES_AT_ONCE = 2
LOCKED_SECONDS = 0.01
SOON = timedelta(seconds=1)
"""Within this time a run is rolled up that a job has woken."""
OnJump = Callable[[datetime], bool]
"""Called at each moment that work is done at; False stops there."""


class Scratch:
    """An engine with its clock and what its providers recorded."""

    def __init__(self, engine: Engine, clock: VirtualClock, providers: Mapping[Channel, Recorder], url: str) -> None:
        self.engine = engine
        self.clock = clock
        self.providers = providers
        self.url = url
        self.caller = Caller(Workspace(), "test")

    @property
    def calls(self) -> list[Message]:
        """Every call to a provider, in the order of time."""
        return sorted((call for one in self.providers.values() for call in one.messages), key=lambda call: call.at)

    @property
    def messages(self) -> list[Message]:
        """What people would have received, in the order of time."""
        return [call for call in self.calls if call.was_accepted]

    async def work(self) -> int:
        """Do everything that is due now; return how many rows were moved."""
        moved = 0
        while places := await self._due_places():
            claimed = sum([await self._work(shard, lane) for shard, lane in places])
            if not claimed:
                await asyncio.sleep(LOCKED_SECONDS)  # another task has locked them
            moved += claimed
        return moved

    async def run_until(self, moment: datetime, on_jump: OnJump | None = None, *, step: timedelta = timedelta()) -> int:
        """Do everything that is due up to a moment, each at its own time, and stop there; return how many rows moved.

        With a `step` it moves by at least that much at a time: fewer jumps, and what is due in between comes later.
        """
        moved = await self.work()
        while (due_at := await self._next_due()) is not None and due_at <= moment:
            self.clock.set(min(moment, max(due_at, self.clock.time + step)))
            if on_jump and not on_jump(self.clock.time):
                return moved
            moved += await self.work()
        self.clock.set(moment)
        return moved + await self.work()

    async def run_for(self, duration: timedelta = timedelta(), **parts: float) -> int:
        """Do everything that is due within a time: `run_for(timedelta(days=3))`, or `run_for(days=3, hours=1)`."""
        return await self.run_until(self.clock.time + duration + timedelta(**parts))

    async def _work(self, shard: Shard, lane: Lane) -> int:
        """Move what is due in one shard and lane, one batch being planned while PostgreSQL writes another."""
        moved, moving = 0, set[asyncio.Task[None]]()
        try:
            while claimed := await self.engine.claim(shard, lane, BATCH):
                moved += len(claimed)
                moving.add(asyncio.create_task(self.engine.move(shard, lane, claimed)))
                if len(moving) == BATCHES_AT_ONCE or len(claimed) < BATCH:
                    done, moving = await asyncio.wait(moving, return_when=asyncio.FIRST_COMPLETED)
                    for one in done:
                        one.result()
        finally:
            await asyncio.gather(*moving)
        return moved

    async def _due(self) -> list[tuple[datetime, Shard, Lane]]:
        kernel = self.engine.kernel
        # A jump may pass the time at which it would have looked from the beginning by itself.
        kernel.horizon.forget()
        shards = {shard: await self.engine.next_due(shard) for shard in kernel.every_shard()}
        return [(due_at, shard, lane) for shard, lanes in shards.items() for lane, due_at in lanes.items()]

    async def _due_places(self) -> list[tuple[Shard, Lane]]:
        return [(shard, lane) for due_at, shard, lane in await self._due() if due_at <= self.clock.time]

    async def _next_due(self) -> datetime | None:
        due = await self._due()
        times = [due_at for due_at, _, lane in due if lane is not Lane.RUNS]
        runs = [await self._next_run_due(shard) for _, shard, lane in due if lane is Lane.RUNS]
        return min((at for at in (*times, *runs) if at is not None), default=None)

    async def _next_run_due(self, shard: Shard) -> datetime | None:
        find = partial(next_run_due, shard=shard, soon=self.clock.time + SOON)
        return await self.engine.kernel.db.persist(find, alone=True)


@asynccontextmanager
async def scratch_engine(
    *,
    start: datetime = MONDAY_MORNING,
    app: App | None = None,
    server: str | None = None,
    pg_bin: Path | None = None,
    shards: int = SHARDS,
) -> AsyncIterator[Scratch]:
    """An engine on a database of its own, which is gone at the end of the block.

    The functions of `app` are called; its providers are not: every channel only records. Without the address of a
    `server` it starts one, which takes a second or two: tests share one, see `scratch_server`. The role of that
    address must be allowed to create databases. More `shards` only spread the same work.
    """
    clock = VirtualClock(start)
    recorders = {channel: Recorder(channel, clock) for channel in RECORDED}
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(temporary_server(pg_bin)) if server is None else server
        url = await make_scratch_database(address, shards=shards)
        stack.push_async_callback(drop_scratch_database, address, url)
        engine = await _open(url, shards, clock, recorders, app or App())
        stack.push_async_callback(engine.close)
        yield Scratch(engine, clock, recorders, url)


async def _open(url: str, shards: int, clock: VirtualClock, recorders: Mapping[Channel, Recorder], app: App) -> Engine:
    config = Config(database_url=url, allow_unsafe_storage=True, shards=shards, connections=CONNECTIONS)
    routes = {channel: one.name for channel, one in recorders.items()}
    recording = replace(app, providers=list(recorders.values()), routes=routes)
    return await open_engine(config, recording, clock=clock)
