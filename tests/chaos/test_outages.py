"""Outages that are nobody's fault: a mail relay that is away, and workers that died twice in a row."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from tests.chaos.arena import Arena, Timing
from tests.chaos.proof import feed, prove
from tests.chaos.waiting import until
from tests.kernel.scenes import plan_runs
from tidings.worker.loop import ALONE_AFTER

pytestmark = pytest.mark.chaos

HASTY = Timing(lease_seconds=3, call_seconds=2, retry_seconds=0.1)
"""Five attempts with such waits between them are over within two seconds, three within a third of one."""


class Relay:
    """A door before the ledger's SMTP door that can be shut and opened again at the same address."""

    def __init__(self, behind: str) -> None:
        self._host, _, port = behind.partition(":")
        self._behind, self._port = int(port), 0
        self._server: asyncio.Server | None = None
        self._writers: set[StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"{self._host}:{self._port}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, self._host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Refuse connections, and cut those that there are."""
        if self._server:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        onward_reader, onward = await asyncio.open_connection(self._host, self._behind)
        both = {writer, onward}
        self._writers |= both
        try:
            await asyncio.gather(_pump(reader, onward), _pump(onward_reader, writer))
        finally:
            self._writers -= both
            for one in both:
                one.close()


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
async def relay(arena: Arena) -> AsyncIterator[Relay]:
    relay = Relay(arena.mail_by_smtp())
    await relay.open()
    arena.mail_by_smtp(relay.address)
    yield relay
    await relay.shut()


async def rests(arena: Arena) -> int:
    """How often the relay was left alone in this outage."""
    async with arena.look() as connection:
        return int(await connection.fetchval("select coalesce(max(times), 0) from provider_pauses"))


@pytest.mark.parametrize("arena", [HASTY], indirect=True)
async def test_a_relay_that_is_away_fails_nobody_and_when_it_is_back_everybody_is_sent_to_once(
    arena: Arena, relay: Relay
) -> None:
    await relay.shut()
    await arena.start_workers(2)
    await feed(arena, "blind")
    await arena.workload.start_run("blind", 600)
    await until("the relay was tried for a while", lambda: _is_at_least(arena, 3))  # 1 + 2 + 4 s: all attempts' time
    async with arena.look() as connection:
        waiting = await connection.fetchrow(
            "select count(*) filter (where status <> 'queued') as over, count(*) filter (where attempts > 0) as used,"
            " (select count(*) from attempts) as rows from outbox where provider = 'blind'"
        )

    await relay.open()
    findings = await prove(arena)

    assert dict(waiting or {}) == {"over": 0, "used": 0, "rows": 0}
    tally = findings.tallies["blind"]
    assert (tally.failed, tally.in_doubt) == (0, 0)
    assert tally.sent == tally.intended >= 660
    assert await rests(arena) == 0


async def _is_at_least(arena: Arena, times: int) -> bool:
    return await rests(arena) >= times


@pytest.mark.parametrize("arena", [Timing(lease_seconds=2400, call_seconds=5)], indirect=True)
async def test_two_crashes_in_a_row_hold_up_nobody(arena: Arena) -> None:
    """With such leases, work that waits for work that waits for it would take ten minutes."""
    for _ in range(4):
        await arena.workload.start_run("blind", 20)
    await arena.workload.start_executions("keyed", 20)
    await plan_runs(arena.engine)
    async with arena.look() as connection:
        await connection.execute(
            "update queue set crashes = $1, leased = true, fence = fence + 1, due_at = now() where kind <> 'run'",
            ALONE_AFTER - 1,
        )

    await arena.start_workers(1)
    findings = await prove(arena, workers=1)

    assert (findings.tallies["blind"].sent, findings.tallies["keyed"].sent) == (80, 20)
