"""`client.templates` and `client.senders` against the real API: every method once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tidings.client import Client, Invalid, NotFound, Retrying
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.roles import Role
from tidings.engine import Engine, Workspace
from tidings.http.server import ApiServer


@pytest.fixture
async def client(engine: Engine) -> AsyncIterator[Client]:
    """A client that may define, of a server on a real socket."""
    api = ApiServer(engine, Config(port=0))
    running = asyncio.create_task(api.run())
    made = await engine.access.create_key(Caller(Workspace(), "test"), "client", Role.WORKFLOW_MANAGER)
    async with Client(api.url, made.secret, retrying=Retrying(attempts=2, base_seconds=0.01)) as client:
        yield client
    api.drain()
    await running


async def test_templates(client: Client) -> None:
    made = await client.templates.create("footer", "by {{ company }}", description="below every mail")
    changed = await client.templates.update("footer", "of {{ company }}")
    page = await client.templates.create("page", "<i>{{ content }}</i>", kind="layout")
    versions = await client.templates.versions(made.id)
    preview = await client.templates.preview("footer", {"company": "A&B"}, version=1)
    wrapped = await client.templates.preview(page.id, content="x")
    layouts = [one.name async for one in client.templates.list(kind="layout")]
    shown = await client.templates.get("footer")

    assert (made.version, changed.version, shown.description) == (1, 2, "below every mail")
    assert [one.number for one in versions] == [2, 1]
    assert (preview.text, wrapped.text) == ("by A&amp;B", "<i>x</i>")
    assert layouts == ["page"]
    assert shown.users == []
    with pytest.raises(Invalid, match="there is no template 'nothing'"):
        await client.templates.create("other", "{% render 'nothing' %}")
    await client.templates.delete("footer")
    with pytest.raises(NotFound):
        await client.templates.get("footer")


async def test_senders(client: Client) -> None:
    made = await client.senders.create("support", email="support@example.com", defaultFor=["email"])
    changed = await client.senders.update("support", displayName="Acme")
    listed = [one.name async for one in client.senders.list()]
    shown = await client.senders.get(made.id)

    assert (changed.display_name, shown.email, list(shown.default_for)) == ("Acme", "support@example.com", ["email"])
    assert listed == ["support"]
    await client.senders.delete("support")
    with pytest.raises(NotFound):
        await client.senders.get("support")
