"""A provider of your own over HTTP, and the kit that proves it honest: run it with `pytest examples/testing`.

The service is made up: it sends texts by `POST /texts`, and tells by `GET /texts?reference=…` what became of one. So
it is Resolvable: after a crash the engine asks it, and sends again only when it says "never heard of it".
"""

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from tidings import App, Channel
from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Absent, CannotTell, Doubtful, Evidence, Found, Provider, Resolvable
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, PrivateAddresses
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider, json_request, judge_refusal
from tidings.testing import (
    ConformanceCase,
    DocumentedAnswer,
    HttpReply,
    marked_item,
    nonconformities,
    scripted_server,
)


class Texts:
    """How the service is asked, and what its answers mean. It knows no sockets: VendorProvider makes the calls."""

    # "Absent" is certain, because the service stores a text before it answers; 30 s is longer than any call takes.
    provider_class = Resolvable(authoritative=True, settle=timedelta(seconds=30))

    def __init__(self, url: str, key: str) -> None:
        self._url, self._authorization = url, ("Authorization", f"Bearer {key}")

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:  # noqa: ARG002
        """Write the request for one message, with the item's key as the reference to ask for later."""
        if not item.payload["body"]:
            return Rejected("the text is empty")
        body = {"to": item.recipient, "text": item.payload["body"], "reference": item.key.hex()}
        return json_request(f"{self._url}/texts", body, self._authorization)

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:  # noqa: ARG002
        """Say what an answer means: by the service's documents, and by common sense for what they do not list."""
        if answer.is_success:
            id = answer.fields.get("id")
            return Accepted(id) if isinstance(id, str) else Unknown(answer.reason("no id"))
        if answer.fields.get("error") == "number_is_gone":
            return Rejected(answer.reason("the number is gone"), is_gone=True)
        if answer.fields.get("error") == "no_credit":
            return Unavailable(answer.reason("no credit"), is_refused=True)  # a person must act; nobody's item fails
        return judge_refusal(answer)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Ask what became of a text. Whatever is unclear is CannotTell, never Absent."""
        url = f"{self._url}/texts?reference={quote(item.key.hex())}"
        answer = await calls.call(HttpRequest("GET", url, [self._authorization]), Workspace(), until, lambda: True)
        if not isinstance(answer, VendorAnswer) or not answer.is_success or "texts" not in answer.fields:
            return CannotTell("the service did not tell")
        found = answer.fields["texts"]
        return Found(found[0]["id"]) if found else Absent()


async def private_too(_: Workspace) -> PrivateAddresses:
    """Which private addresses it may call: in tests loopback, in production none (leave it out)."""
    return EVERY_PRIVATE_ADDRESS


def make(url: str, deadline: timedelta = timedelta(seconds=30), key: str = "a-secret-key") -> Provider:
    """Make the provider; it never shows its key, whatever the service repeats."""
    settings = ConnectionSettings("texts", Channel.SMS, {}, deadline, concurrency=20, private_addresses=private_too)
    return VendorProvider(settings, Texts(url, key), [key])


def application() -> App:
    """What `tidings worker --app my_module:application` starts with.

    TIDINGS_PROVIDER_CONCURRENCY=texts=50 limits its calls over all workers.
    """
    return App(providers=[make("https://texts.example.com")], routes={Channel.SMS: "texts"})


ITEM = marked_item("+442071838750", {"body": "Hi"}, channel=Channel.SMS)
DOCUMENTED = [
    DocumentedAnswer("number_is_gone", HttpReply(422, {"error": "number_is_gone"}), Rejected("", is_gone=True)),
    DocumentedAnswer("no_credit", HttpReply(402, {"error": "no_credit"}), Unavailable("", is_refused=True)),
    DocumentedAnswer("slow down", HttpReply(429, {"error": "rate"}), RetryLater("", uses_attempt=False)),
]


def test_it_conforms() -> None:
    """The kit plays each documented answer and every fault of a network; a list of what is wrong comes back."""
    taken = HttpReply(201, {"id": "t-1"})
    case = ConformanceCase(make, ITEM, taken, DOCUMENTED, message_id="t-1", secrets=["a-secret-key"])

    assert asyncio.run(nonconformities(case)) == []


def test_the_application_serves_the_channel() -> None:
    """A route names a provider that is there."""
    app = application()

    assert app.routes[Channel.SMS] in {one.name for one in app.providers}


def test_it_tells_what_became_of_a_text() -> None:
    """Found, absent, and nothing certain."""
    doubtful = Doubtful(ITEM.recipient, ITEM.key, datetime(2026, 1, 5, 9, tzinfo=UTC), ITEM.payload)

    assert asyncio.run(evidence(HttpReply(200, {"texts": [{"id": "t-1"}]}), doubtful)) == Found("t-1")
    assert asyncio.run(evidence(HttpReply(200, {"texts": []}), doubtful)) == Absent()
    assert isinstance(asyncio.run(evidence(HttpReply(500), doubtful)), CannotTell)


async def evidence(reply: HttpReply, doubtful: Doubtful) -> Evidence:
    """What the provider learns from one answer."""
    async with scripted_server(reply) as server:
        provider = make(server.url)
        try:
            return await provider.look_up(doubtful)
        finally:
            await provider.close()
