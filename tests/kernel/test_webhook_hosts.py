"""A receiver of webhooks that does not answer is left alone, and the others get theirs."""

from base64 import b64encode
from collections import Counter

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql
from tests.kernel.test_function_hosts import a_closed_port, opened
from tests.providers.function_server import answer, function_server
from tests.stored import TESTER
from tidings import Config
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.flow.hosts import FAILURES_BEFORE_REST
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.retry import UNREACHED
from tidings.domain.workflows.signing import signing_secret
from tidings.engine import Engine
from tidings.providers.catalogue import CATALOGUE
from tidings.providers.vendor_api import RecipientHosts
from tidings.views.connections import ProviderConnection

HERE = Workspace()
SECRET = signing_secret(b"a-secret-of-the-receivers!")
ITEMS = "select case when recipient = 'default' then 'ours' else 'theirs' end, status, attempts from outbox"


@pytest.fixture
def config(dsn: str) -> Config:
    key = b64encode(b"k" * 32).decode()
    return Config(database_url=dsn, allow_unsafe_storage=True, secret_key=key, allow_private_addresses=True)


async def connected(engine: Engine, url: str) -> ProviderConnection:
    """A workflow that sends a webhook, through a connection whose own receiver is at a URL."""
    node = {"id": "a", "type": "webhook", "to": "{{ to }}", "body": {"paid": True}}
    await engine.define("tell", {"entryNodeId": "a", "nodes": [node], "edges": []})
    given = {"name": "hooks", "provider": "webhook", "channel": "webhook", "credentials": {"secret": SECRET}}
    return await engine.connections.create(TESTER, given | {"settings": {"url": url}})


async def tell(engine: Engine, key: str, to: str, times: int) -> None:
    for number in range(times):
        await engine.trigger("tell", {"to": to}, f"{key}{number}")
        await engine.work_everything()


async def test_a_dead_receiver_rests_and_another_of_the_same_connection_gets_its_own(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    dead = f"https://127.0.0.1:{await a_closed_port()}/hook"
    async with function_server() as server, opened(config, clock) as engine:
        made = await connected(engine, server.url())
        await tell(engine, "dead", dead, FAILURES_BEFORE_REST)
        await tell(engine, "later", dead, 10)
        await tell(engine, "ours", "default", 3)

        seen = Counter(tuple(record) for record in await sql.fetch(ITEMS))
        assert seen == {("theirs", "queued", 0): FAILURES_BEFORE_REST + 10, ("ours", "sent", 1): 3}
        rests = "select paused_until from provider_pauses where starts_with(provider, 'host:')"
        assert [one["paused_until"] for one in await sql.fetch(rests)] == [clock.time + UNREACHED.shortest]
        assert len(server.requests) == 3

        await engine.connections.reset(TESTER, made.id)

        assert await sql.fetch(rests) == []


async def test_a_receiver_that_asks_for_time_holds_up_no_other_webhook(
    config: Config, clock: ManualClock, sql: Sql
) -> None:
    busy = answer(status=429, headers=["Retry-After: 600"])
    async with function_server(busy, answer()) as server, opened(config, clock) as engine:
        await connected(engine, server.url())
        await tell(engine, "k", "default", 2)

    assert Counter(tuple(record) for record in await sql.fetch(ITEMS)) == {
        ("ours", "queued", 0): 1,
        ("ours", "sent", 1): 1,
    }


@pytest.mark.parametrize(
    ("recipient", "host"),
    [
        ("https://Example.com/hook", "example.com:443"),
        ("https://example.com.:8443/hook", "example.com:8443"),
        ("default", "hooks.test:80"),
        ("no address", None),
        ("https://[broken", None),
    ],
)
async def test_the_host_of_a_webhook_is_its_recipients(recipient: str, host: str | None) -> None:
    kind = CATALOGUE["webhook"]
    values: dict[str, str | int | bool] = {"secret": SECRET, "url": "http://hooks.test/x", "receiverDedupesMinutes": 0}
    provider = kind.build(ConnectionSettings("webhook/1", Channel.WEBHOOK, values))
    assert isinstance(provider, RecipientHosts)

    assert await provider.host_of(HERE, recipient) == host
    await provider.close()
