"""The benchmark's mail server takes what the provider and the bare program send, and says what came."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from bench.bare_smtp import Caller, letter
from bench.letters import LETTER_BYTES, expected_of, items
from bench.sink import HOST, Taker, Tally
from tests.providers.items import marked
from tidings.domain.flow.outcome import Accepted
from tidings.providers.letter import Letter, Sender, compose
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


async def test_a_sink_that_refuses_one_in_ten_is_understood_and_counts_only_what_it_took() -> None:
    async with sink() as (tally, port):
        tally.refuses = True
        provider = SmtpProvider.from_url(f"smtp://{HOST}:{port}?from=us@example.com", concurrency=4)
        everybody = [marked(recipient=f"p{number:06}@example.com") for number in range(200)]
        outcomes = await asyncio.gather(*(provider.send(item, lambda: True) for item in everybody))
        await provider.close()

    assert [type(outcome) for outcome in outcomes] == [expected_of(item.recipient) for item in everybody]
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {
        "Accepted": 180,
        "Rejected": 10,
        "RetryLater": 8,
        "Unavailable": 2,
    }
    assert tally.take()["messages"] == 180


def test_a_letter_of_the_benchmark_is_as_large_as_it_says() -> None:
    [item] = items(1)
    made = compose(item, Sender("us@example.com"), datetime.now(UTC))

    assert isinstance(made, Letter)
    assert LETTER_BYTES < len(made.content) < 1.3 * LETTER_BYTES
    assert b"quoted-printable" in made.content


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
