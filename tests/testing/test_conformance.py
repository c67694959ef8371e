"""The conformance kit finds what is wrong with a provider: one that is wrong in every way fails every check."""

from datetime import timedelta

import pytest

from tests.providers.items import marked, yes
from tests.providers.vendors.making import everything
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful, Evidence, Keyed, MayStart, Provider, ProviderClass
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorAnswer, VendorCalls, VendorProvider
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.scripted_http import HttpReply, scripted_server

SECRET = "canary-93ab1c"
OK = HttpReply(200, {"id": "m-1"})
GONE = DocumentedAnswer("gone", HttpReply(410, b"{}"), Rejected("", is_gone=True))


class Careless:
    """Makes a call through the same client, and then does what authors do who think of success alone."""

    name, concurrency = "careless", 10

    def __init__(self, url: str, deadline: timedelta, provider_class: ProviderClass, outcome: Outcome) -> None:
        self.call_deadline, self.provider_class, self._outcome = deadline, provider_class, outcome
        vendor = _AnswersAll(url, outcome)
        settings = ConnectionSettings("careless", Channel.SMS, {}, deadline, 10, everything)
        self._inner = VendorProvider(settings, vendor, [])

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        outcome = await self._inner.send(item, yes)
        return self._outcome if isinstance(outcome, Unavailable | Unknown) else outcome

    async def look_up(self, item: Doubtful) -> Evidence:
        return CannotTell("")

    async def close(self) -> None:
        await self._inner.close()


class _AnswersAll:
    """Takes every answer for the same, repeats our secret, and writes another body each time."""

    provider_class = Blind()
    bodies = 0

    def __init__(self, url: str, outcome: Outcome) -> None:
        self._url, self._outcome = url, outcome

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        _AnswersAll.bodies += 1
        return HttpRequest("POST", self._url, body=str(_AnswersAll.bodies).encode())

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        return self._outcome

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        return CannotTell("")


def careless(outcome: Outcome, provider_class: ProviderClass) -> ConformanceCase:
    def make(url: str, deadline: timedelta) -> Provider:
        return Careless(url, deadline, provider_class, outcome)

    return ConformanceCase(make, marked(), OK, [GONE], message_id="m-1", secrets=[SECRET])


WRONG = [
    ("another body", Accepted("m-1"), Keyed(timedelta(days=1))),
    ("gone: became", Accepted("m-1"), Blind()),
    ("a refused connection became", Accepted("m-1"), Blind()),
    ("a TLS handshake that hangs became", Accepted("m-1"), Blind()),
    ("hangs after it has read the request became", Accepted("m-1"), Blind()),
    ("sends half the body of an answer became", Accepted("m-1"), Blind()),
    ("sends a body without an end became", RetryLater("again"), Blind()),
    ("429 with no Retry-After became", Rejected("no"), Blind()),
    ("500 became", RetryLater("again"), Blind()),
    ("a redirect became", Unknown("?"), Blind()),
    ("a spent lease became", Accepted("m-1"), Blind()),
    ("repeats a secret", Rejected(f"your key {SECRET}"), Blind()),
    ("the answer that means success became", Rejected("no"), Blind()),
]


@pytest.mark.parametrize(("words", "outcome", "provider_class"), WRONG)
async def test_the_kit_names_what_is_wrong(words: str, outcome: Outcome, provider_class: ProviderClass) -> None:
    found = await nonconformities(careless(outcome, provider_class))

    assert any(words in one for one in found), found


async def test_a_scripted_server_says_its_replies_in_order_and_the_last_one_on() -> None:
    async with scripted_server(HttpReply(500), OK) as server:
        settings = ConnectionSettings("one", Channel.SMS, {}, timedelta(seconds=30), 10, everything)
        provider = VendorProvider(settings, _Statuses(server.url), [])
        answers = [await provider.send(marked(), yes) for _ in range(3)]
        await provider.close()

    assert answers == [Rejected("500"), Rejected("200"), Rejected("200")]
    assert [one.path for one in server.seen] == ["/", "/", "/"]


class _Statuses(_AnswersAll):
    """Says which status came."""

    def __init__(self, url: str) -> None:
        super().__init__(url, Accepted())

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        return Rejected(str(answer.status))


async def test_a_private_address_is_refused_before_anything_is_written() -> None:
    async with scripted_server(OK) as server:
        settings = ConnectionSettings("closed", Channel.SMS, {}, timedelta(seconds=30), 10)
        provider = VendorProvider(settings, _Statuses(server.url), [])
        outcome = await provider.send(marked(workspace=Workspace()), yes)
        await provider.close()

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused
    assert server.seen == []
