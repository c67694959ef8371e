"""What a server simulates with: one at a time, on a PostgreSQL that stays warm and goes when it is drained."""

import asyncio
from itertools import pairwise

from tests.conftest import ManualClock
from tests.http.conftest import ADA, HOME, WELCOME, caller, listening
from tidings.client import Client
from tidings.config import Config
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.simulation import Simulator
from tidings.views.simulations import Simulation

DEADLINE_SECONDS = 30


async def test_the_second_simulation_over_http_finds_the_first_one_s_server_and_a_drain_stops_it(
    engine: Engine, clock: ManualClock
) -> None:
    """It starts two real servers, since one is killed in between, which is most of the time this takes."""
    key = await engine.access.create_key(caller(HOME), "k", Role.WORKFLOW_MANAGER)
    workflow = (await engine.workflows.create(caller(HOME), "welcome", WELCOME)).id
    simulator = Simulator()
    running = asyncio.create_task(simulator.run())

    async with listening(engine, Config(rate_limit=0), simulator) as url, Client(url, key.secret) as client:
        first = await client.simulate.workflow(workflow, data=[ADA], days=2)
        server = simulator._kept._server
        second = await client.simulate.workflow(workflow, data=[ADA], days=2)
        assert server is not None
        assert simulator._kept._server is server
        await server.kill()
        third = await client.simulate.workflow(workflow, data=[ADA], days=2)
        other = simulator._kept._server
        assert other is not None

    assert [one.sent for one in (first, second, third)] == [1, 1, 1]
    assert other.data_dir != server.data_dir
    assert not running.done()
    simulator.drain()
    async with asyncio.timeout(DEADLINE_SECONDS):
        await running
    assert not server.data_dir.exists()
    assert not other.data_dir.exists()


async def test_a_simulation_under_way_ends_where_it_is_when_the_server_is_drained(
    engine: Engine, clock: ManualClock, server: str
) -> None:
    workflow = (await engine.workflows.create(caller(HOME), "welcome", WELCOME)).id
    later = {"nodes": [{"id": "wait", "type": "delay", "duration": "P3D"}, *WELCOME["nodes"]], "entryNodeId": "wait"}
    definition = later | {"edges": [{"from": "wait", "to": "hello"}]}
    simulator = Simulator(server=server)

    found = await simulator.workflow(engine, HOME, workflow, Scenario(data=(ADA,)), definition, still=simulator.drain)

    assert (found.complete, found.sent) == (False, 0)


async def test_another_tenant_waits_for_its_turn_and_no_longer(engine: Engine, clock: ManualClock, server: str) -> None:
    others = Workspace("rival")
    workflow = (await engine.workflows.create(caller(HOME), "welcome", WELCOME)).id
    theirs = (await engine.workflows.create(caller(others), "welcome", WELCOME)).id
    waits = [{"id": f"w{number}", "type": "delay", "duration": "P1D"} for number in range(300)]
    nodes = [*waits, *WELCOME["nodes"]]
    edges = [{"from": one["id"], "to": other["id"]} for one, other in pairwise(nodes)]
    definition = {"nodes": nodes, "entryNodeId": "w0", "edges": edges}
    simulator = Simulator(server=server, turn_seconds=0)
    asked: list[asyncio.Task[Simulation]] = []

    def ask_once() -> None:
        if not asked:
            asked.append(asyncio.create_task(simulator.workflow(engine, others, theirs, Scenario(data=(ADA,)))))

    long = await simulator.workflow(engine, HOME, workflow, Scenario(days=365, data=(ADA,)), definition, still=ask_once)

    assert (long.complete, long.sent) == (False, 0)
    assert not asked[0].done()
    short = await asked[0]
    assert (short.complete, short.sent) == (True, 1)
