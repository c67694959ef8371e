"""The applications of the benchmark's workers: providers that accept, at once or as fast as real ones do."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable

from tidings.domain.channels import MESSAGE_CHANNELS
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.providers.fake import Answer, FakeProvider
from tidings.wiring import App

ARRIVALS = "BENCH_ARRIVALS"
"""The variable that names the file where `recording` notes when each call came."""
SLOW_SECONDS = 0.02
SLOW_CALLS = 100
"""How long `recording_slow` takes for a call, and how many it takes at once: 5,000 a second."""


def _app(answer: Answer | None = None, concurrency: int = 1000, channels: Iterable[Channel] = Channel) -> App:
    provider = FakeProvider("null", concurrency=concurrency, record=False, answer=answer)
    return App(providers=[provider], routes=dict.fromkeys(channels, "null"))


app = _app()


def recording() -> App:
    """The same, noting when each call came by the clock that all processes of a machine share."""
    note = _note_in_file()

    def answer(item: Marked) -> Outcome:
        note(item)
        return Accepted(item.key.hex())

    return _app(answer)


def messages() -> App:
    """The same for messages alone: functions are called over HTTP."""
    return _app(channels=MESSAGE_CHANNELS)


def recording_slow() -> App:
    """Messages take the time that real ones take, so that a slot is worth something; notes when each call came."""
    note = _note_in_file()

    async def answer(item: Marked) -> Outcome:
        note(item)
        await asyncio.sleep(SLOW_SECONDS)
        return Accepted(item.key.hex())

    return _app(answer, SLOW_CALLS, MESSAGE_CHANNELS)


def _note_in_file() -> Callable[[Marked], None]:
    file = os.open(os.environ[ARRIVALS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(item: Marked) -> None:
        os.write(file, f"{item.recipient} {time.monotonic()}\n".encode())

    return note
