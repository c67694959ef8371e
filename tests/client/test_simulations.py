"""`client.simulate` on a real server."""

from uuid import UUID

from tests.http.conftest import ADA, HOME, WELCOME, caller, listening
from tidings.client import Client
from tidings.config import Config
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.simulation import Simulator


async def test_a_simulation_is_asked_for_and_read(engine: Engine, server: str) -> None:
    key = await engine.access.create_key(caller(HOME), "k", Role.WORKFLOW_MANAGER)
    workflow: UUID = (await engine.workflows.create(caller(HOME), "welcome", WELCOME)).id

    await engine.contacts.create(caller(HOME), {"email": "ada@example.com"})
    letter = {
        "name": "n",
        "channel": "email",
        "content": {"subject": "News", "body": "News"},
        "audience": {"all": True},
    }
    campaign = (await engine.campaigns.create(caller(HOME), letter)).id

    async with (
        listening(engine, Config(rate_limit=0), Simulator(server=server)) as url,
        Client(url, key.secret) as client,
    ):
        found = await client.simulate.workflow(
            workflow, data=[ADA], days=2, start="2026-03-02T09:00:00Z", time_zone="Asia/Tokyo"
        )
        told = await client.simulate.campaign(
            campaign, scheduled_for="2026-03-02T10:00:00Z", start="2026-03-02T09:00:00Z"
        )

    assert (found.kind, found.version, found.sent, found.complete) == ("workflow", 1, 1, True)
    assert [(hour.day.isoformat(), hour.hour) for hour in found.calendar] == [("2026-03-02", 18)]
    assert found.messages[0].payload["body"] == "Welcome, Ada"
    assert (told.kind, told.sent, [hour.hour for hour in told.calendar]) == ("campaign", 1, [10])
