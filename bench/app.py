"""The applications of the benchmark's workers: a provider that accepts at once, so that only the kernel is measured."""

import os
import time

from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome
from tidings.providers.fake import Answer, FakeProvider
from tidings.wiring import App

ARRIVALS = "BENCH_ARRIVALS"
"""The variable that names the file where `recording` notes when each call came."""


def _app(answer: Answer | None = None) -> App:
    provider = FakeProvider("null", concurrency=1000, record=False, answer=answer)
    return App(providers=[provider], routes=dict.fromkeys(Channel, "null"))


app = _app()


def recording() -> App:
    """The same, noting when each call came by the clock that all processes of a machine share."""
    file = os.open(os.environ[ARRIVALS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(item: Marked) -> Outcome:
        os.write(file, f"{item.recipient} {time.monotonic()}\n".encode())
        return Accepted(item.key.hex())

    return _app(note)
