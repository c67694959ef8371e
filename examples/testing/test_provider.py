"""A provider of your own, and its tests: run them with `pytest examples/testing`.

`send` takes a `Marked`: an item whose row and mark are committed. An application cannot make one, so that nothing
leaves past the outbox by mistake; tests get theirs from `tidings.testing`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from tidings import Channel
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Keyed, MayStart, Provider
from tidings.testing import marked_item

Post = Callable[[str, str, str], Awaitable[int]]
"""Somebody's API for text messages: number, text and key in, a status out."""


class Texts:
    """Sends text messages through an API that honours a key for a day."""

    name = "texts"
    provider_class = Keyed(timedelta(days=1))
    concurrency = 20
    call_deadline = timedelta(seconds=30)

    def __init__(self, post: Post) -> None:
        self._post = post

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Send one message; say what is known, not what went wrong."""
        if not may_start():  # asked right before the data is handed over
            return RetryLater("the lease was spent", uses_attempt=False)
        key = item.key.hex()
        try:
            status = await self._post(item.recipient, item.payload["body"], key)
        except ConnectionRefusedError as error:
            return Unavailable(str(error))  # nothing was accepted
        except ConnectionError as error:
            return Unknown(str(error))  # it may have been
        return Accepted(key) if status < 400 else Rejected(f"status {status}")

    async def look_up(self, item: Doubtful) -> Evidence:
        """It is never asked: a keyed provider is called again."""
        return CannotTell(f"nobody can be asked about {item.key.hex()}")

    async def close(self) -> None:
        """There is nothing to let go of."""


def send(post: Post, *, may_start: bool = True) -> Outcome:
    """What the provider says of one message."""
    item = marked_item("+442071838750", {"body": "Hi"}, channel=Channel.SMS, key=b"k" * 32)
    provider: Provider = Texts(post)  # as App(providers=[…]) takes it
    return asyncio.run(provider.send(item, lambda: may_start))


def test_a_text_goes_out_under_its_key() -> None:
    """The key is the item's, at every attempt."""
    sent = []

    async def post(number: str, text: str, key: str) -> int:
        sent.append((number, text, key))
        return 200

    assert send(post) == Accepted("6b" * 32)
    assert sent == [("+442071838750", "Hi", "6b" * 32)]


def test_what_may_have_arrived_is_in_doubt_and_what_could_not_begin_is_not() -> None:
    """Only what may have been accepted is in doubt."""

    async def refuse(*_: str) -> int:
        raise ConnectionRefusedError("connection refused")

    async def break_off(*_: str) -> int:
        raise ConnectionResetError("reset")

    assert isinstance(send(refuse), Unavailable)
    assert isinstance(send(break_off), Unknown)
    assert isinstance(send(break_off, may_start=False), RetryLater)
