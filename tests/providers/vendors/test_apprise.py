"""Apprise: one address, whatever it reaches; tried with the kind of address that posts JSON to a server."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from tests.providers.items import marked, no, yes
from tests.providers.vendors.making import maker
from tidings import extras
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Blind
from tidings.domain.private_addresses import NO_PRIVATE_ADDRESSES, PrivateAddresses
from tidings.providers.catalogue import CATALOGUE
from tidings.testing.scripted_http import Break, HttpReply, HttpSeen, scripted_server

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:apprise", "ignore:.*imghdr:DeprecationWarning")
SECRET = "canary-in-an-address"
PAYLOAD: Payload = {"title": "Hello", "body": "Good morning.", "url": "https://example.com/1"}


def note(recipient: str = "default", channel: Channel = Channel.CHAT) -> Marked:
    return marked(recipient, PAYLOAD, channel=channel)


async def sent(
    reply: HttpReply, item: Marked | None = None, path: str = SECRET, *, may_start: bool = True, seconds: float = 30
) -> tuple[Outcome, list[HttpSeen]]:
    async with scripted_server(reply) as server:
        host = server.url.removeprefix("http://")
        make = maker("apprise", Channel.CHAT, address=f"json://{host}/{path}")
        provider = make(server.url, timedelta(seconds=seconds))
        outcome = await provider.send(item or note(), yes if may_start else no)
        await provider.close()
    return outcome, server.seen


async def test_what_apprise_calls_a_success_is_one() -> None:
    outcome, [seen] = await sent(HttpReply(200, "fine"))

    assert outcome == Accepted()
    assert seen.path == f"/{SECRET}"
    said = seen.json
    assert isinstance(said, dict)
    assert (said["title"], said["message"]) == ("Hello", "Good morning.\n\nhttps://example.com/1")


@pytest.mark.parametrize(
    "reply",
    [HttpReply(400), HttpReply(500), HttpReply(leaves_off=Break.CLOSES), HttpReply(leaves_off=Break.AFTER_READING)],
)
async def test_whatever_else_it_says_is_doubt(reply: HttpReply, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        outcome, _ = await sent(reply, seconds=2)

    assert isinstance(outcome, Unknown)
    assert SECRET not in str(outcome)
    assert SECRET not in caplog.text


async def test_without_its_lease_nothing_is_handed_over() -> None:
    outcome, seen = await sent(HttpReply(200), may_start=False)

    assert isinstance(outcome, RetryLater)
    assert seen == []


async def test_the_recipient_stands_where_the_address_says() -> None:
    _, [seen] = await sent(HttpReply(200), note("+1 202", Channel.SMS), "to/{recipient}")
    everybody, none = await sent(HttpReply(200), note("+1 202", Channel.SMS))

    assert seen.path == "/to/+1%20202"
    assert isinstance(everybody, Rejected)
    assert none == []


async def private_to(*hosts: str) -> Outcome:
    async def find(_: Workspace) -> PrivateAddresses:
        return PrivateAddresses(hosts=frozenset(hosts)) if hosts else NO_PRIVATE_ADDRESSES

    async with scripted_server(HttpReply(200)) as server:
        host = server.url.removeprefix("http://")
        values = {"address": f"json://{host}/"}
        settings = ConnectionSettings("tail", Channel.CHAT, values, timedelta(seconds=30), 2, find)
        provider = CATALOGUE["apprise"].build(settings)
        outcome = await provider.send(note(), yes)
        await provider.close()
    return outcome


async def test_an_address_that_names_a_host_needs_the_operators_word_for_it() -> None:
    assert isinstance(await private_to(), Rejected)
    assert isinstance(await private_to("other.internal"), Rejected)
    assert await private_to("127.0.0.1") == Accepted()


def test_the_address_is_checked_and_never_shown() -> None:
    kind = CATALOGUE["apprise"]
    provider = maker("apprise", Channel.CHAT, address=f"json://127.0.0.1/{SECRET}")("", timedelta(seconds=1))

    [problem] = kind.problems_of({}, {"address": f"nonsense-{SECRET}"})

    assert "does not know" in str(problem)
    assert SECRET not in str(problem) + repr(provider)
    assert provider.provider_class == Blind()


def test_who_lacks_the_library_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)

    [problem] = CATALOGUE["apprise"].problems_of({}, {"address": "json://127.0.0.1/"})

    assert "pip install 'tidings[apprise]'" in str(problem)


@pytest.mark.parametrize(
    "address",
    [
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js?template={file}",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ?template={url}",
        "tgram://123456789:abcdefg_hijklmnop/12315544/?template={file}",
        "fcm://project/token/?keyfile={url}",
        "vapid://user@example.com/?keyfile={file}&subfile={file}",
    ],
)
async def test_an_address_that_would_read_a_file_or_fetch_one_is_refused(address: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"text": "canary"}')
    async with scripted_server(HttpReply(200, "{}")) as server:
        full = address.format(file=secret, url=f"{server.url}/key.json")
        problems = CATALOGUE["apprise"].problems_of({}, {"address": full})
        settings = ConnectionSettings("tail", Channel.CHAT, {"address": full}, timedelta(seconds=2))
        provider = CATALOGUE["apprise"].build(settings)
        outcome = await provider.send(note(), yes)
        await provider.close()

    assert "file" in str(problems)
    assert isinstance(outcome, Rejected)
    assert server.seen == []
