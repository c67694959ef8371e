"""Send an item, or look one up, by a provider for a server on this machine."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from tests.providers.items import yes
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Outcome
from tidings.domain.flow.provider import Doubtful, Evidence, Provider
from tidings.testing.scripted_http import HttpReply, HttpSeen, scripted_server

MARKED_AT = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
KEY = bytes(range(32))
Make = Callable[[str, timedelta], Provider]


async def sent(make: Make, item: Marked, *replies: HttpReply) -> tuple[Outcome, list[HttpSeen]]:
    """Send an item to a server that answers so; return the outcome and what the server saw."""
    async with scripted_server(*replies) as server:
        provider = make(server.url, timedelta(seconds=30))
        outcome = await provider.send(item, yes)
        await provider.close()
        return outcome, server.seen


async def looked_up(
    make: Make, recipient: str, payload: Payload, *replies: HttpReply
) -> tuple[Evidence, list[HttpSeen]]:
    """Look an item up that was marked at MARKED_AT; return the evidence and what the server saw."""
    async with scripted_server(*replies) as server:
        provider = make(server.url, timedelta(seconds=30))
        evidence = await provider.look_up(Doubtful(recipient, KEY, MARKED_AT, payload))
        await provider.close()
        return evidence, server.seen


def form_of(seen: HttpSeen) -> dict[str, str]:
    """The fields of a form, each of which is there once."""
    fields = parse_qsl(seen.body.decode(), keep_blank_values=True, strict_parsing=True)
    assert len(dict(fields)) == len(fields)
    return dict(fields)


def query_of(seen: HttpSeen) -> Mapping[str, str]:
    """The fields of a query."""
    return dict(parse_qsl(urlsplit(seen.path).query, keep_blank_values=True))
