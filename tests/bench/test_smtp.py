"""The benchmark's mail server takes what the provider and the bare program send, and says what came."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.bare_smtp import Caller, letter
from bench.sink import HOST, Taker, Tally
from tests.providers.items import marked
from tidings.domain.flow.outcome import Accepted
from tidings.providers.smtp import SmtpProvider


@asynccontextmanager
async def sink() -> AsyncIterator[tuple[Tally, int]]:
    tally = Tally()
    async with await asyncio.get_running_loop().create_server(lambda: Taker(tally), HOST, 0) as server:
        yield tally, server.sockets[0].getsockname()[1]


async def test_the_sink_counts_messages_and_people() -> None:
    async with sink() as (tally, port):
        provider = SmtpProvider.from_url(f"smtp://{HOST}:{port}?from=us@example.com", concurrency=2)
        items = [marked(recipient=f"p{number % 4}@example.com") for number in range(6)]
        outcomes = await asyncio.gather(*(provider.send(item, lambda: True) for item in items))
        await provider.close()

        assert all(isinstance(outcome, Accepted) for outcome in outcomes)
        assert tally.take() == {"messages": 6, "recipients": 4}
        assert tally.take() == {"messages": 0, "recipients": 0}


async def test_the_bare_program_sends_each_number_once() -> None:
    async with sink() as (tally, port):
        numbers, loop = iter(range(10)), asyncio.get_running_loop()
        content = letter().content
        made = [await loop.create_connection(lambda: Caller(numbers, content), HOST, port) for _ in range(3)]
        callers = [caller for _, caller in made]
        async with asyncio.timeout(5):
            await asyncio.gather(*(caller.greeted for caller in callers))
            for caller in callers:
                caller.begin()
            await asyncio.gather(*(caller.done for caller in callers))

        assert tally.take() == {"messages": 10, "recipients": 10}
