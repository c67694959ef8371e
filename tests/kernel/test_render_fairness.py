"""Rendering is shared out by tenant, then by workspace: real children, and the order of answers instead of times."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidings.domain.content.template import RenderFailed
from tidings.domain.flow.ids import Workspace
from tidings.kernel.process.turns import FairTurns
from tidings.kernel.render.process import CHILD_MODULE
from tidings.kernel.render.renderer import Rendered, Renderer, RenderJob
from tidings.kernel.render.slow_tenants import FIRST_SECONDS, SlowTenants

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ENDLESS = "{% for i in (1..9999) %}{% for j in k %}{% endfor %}{% endfor %}" * 500
MINE, YOURS = Workspace("hostile"), Workspace("honest")


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    async with Renderer(cpu_seconds=0.3) as opened:
        await opened.render([cheap(YOURS)])
        yield opened


def cheap(workspace: Workspace) -> RenderJob:
    return RenderJob({"body": "Hi {{ name -}}"}, {"name": "Ada"}, frozenset(), NOW, workspace)


def endless(workspace: Workspace) -> RenderJob:
    return RenderJob({"body": ENDLESS}, {}, frozenset(), NOW, workspace)


def children_of(parent: int, module: str) -> list[int]:
    """Return the ids of a process's children that run a module."""
    every = [Path(f"/proc/{one}") for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    return [int(one.name) for one in every if module.encode() in (one / "cmdline").read_bytes()]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("workspaces", [1, 100])
async def test_a_tenant_at_the_cpu_limit_does_not_keep_another_waiting(renderer: Renderer, workspaces: int) -> None:
    batch = [endless(Workspace("hostile", f"w{number % workspaces}")) for number in range(100)]
    hostile = asyncio.create_task(renderer.render(batch))
    await until(lambda: renderer.is_busy)

    for _ in range(3):
        assert await renderer.render([cheap(YOURS)]) == [Rendered({"body": "Hi Ada"})]

    assert not hostile.done()
    hostile.cancel()
    await asyncio.gather(hostile, return_exceptions=True)


async def test_one_call_with_two_tenants_answers_the_cheap_one_and_fails_the_other(renderer: Renderer) -> None:
    slow, quick = await renderer.render([endless(MINE), cheap(YOURS)])

    assert slow == RenderFailed("exceeds the limit of 0.3 s of CPU time")
    assert quick == Rendered({"body": "Hi Ada"})


async def test_a_job_that_needs_more_than_a_moment_still_gets_all_of_its_time() -> None:
    some_work = "{% for i in (1..9999) %}{% for j in k %}{% endfor %}{% endfor %}" * 12

    async with Renderer(cpu_seconds=60, wall_seconds=60) as patient:
        [found] = await patient.render([RenderJob({"body": some_work}, {}, frozenset(), NOW, MINE)])

    assert found == Rendered({"body": ""})


async def test_an_expensive_tenant_renders_in_a_process_of_its_own(renderer: Renderer) -> None:
    await renderer.render([endless(MINE)])
    shared = renderer.child_pid

    [pid, other] = children_of(os.getpid(), CHILD_MODULE)
    os.kill(pid if other == shared else other, signal.SIGSTOP)
    apart = asyncio.create_task(renderer.render([cheap(MINE)]))
    for _ in range(3):
        assert await renderer.render([cheap(YOURS)]) == [Rendered({"body": "Hi Ada"})]

    assert not apart.done()
    os.kill(pid if other == shared else other, signal.SIGCONT)
    assert await apart == [Rendered({"body": "Hi Ada"})]


def test_a_tenant_that_is_slow_again_stays_apart_for_longer() -> None:
    time = 0.0
    slow = SlowTenants(lambda: time)

    slow.add("hostile")
    time = FIRST_SECONDS - 1
    assert slow.has("hostile")
    assert not slow.has("honest")
    time = FIRST_SECONDS
    assert not slow.has("hostile")
    slow.add("hostile")
    time = 3 * FIRST_SECONDS - 1

    assert slow.has("hostile")
    time = 3 * FIRST_SECONDS
    assert not slow.has("hostile")


async def take_turns(turns: FairTurns, asked: list[Workspace]) -> list[Workspace]:
    """Ask in this order while somebody else has the turn; return the order in which they had theirs."""
    had: list[Workspace] = []

    async def ask(workspace: Workspace) -> None:
        async with turns.turn(workspace):
            had.append(workspace)

    async with turns.turn(Workspace("before")):
        waiting: list[Awaitable[None]] = [asyncio.create_task(ask(one)) for one in asked]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    return had


async def test_turns_go_round_between_tenants_and_then_between_their_workspaces() -> None:
    a1, a2, b = Workspace("a", "1"), Workspace("a", "2"), Workspace("b")

    had = await take_turns(FairTurns(), [a1, a1, a1, a2, b, b])

    assert had == [a1, b, a2, b, a1, a1]


async def test_whoever_stops_waiting_takes_nobodys_turn() -> None:
    turns, had = FairTurns(), []

    async def ask(name: str) -> None:
        async with turns.turn(Workspace(name)):
            had.append(name)

    async with turns.turn(Workspace("before")):
        tasks = [asyncio.create_task(ask(name)) for name in ("a", "b", "c")]
        await asyncio.sleep(0)
        tasks[0].cancel()
    tasks[1].cancel()  # its turn was given to it just now
    await asyncio.gather(*tasks, return_exceptions=True)

    assert had == ["c"]
    assert not turns.is_taken


async def test_long_steps_of_several_tasks_leave_the_loop_in_between() -> None:
    turns, seen = FairTurns(), []

    async def work(name: str) -> None:
        await turns.step(Workspace(name))
        seen.append(name)

    async def look() -> None:
        while len(seen) < 9:
            seen.append("-")
            await asyncio.sleep(0)

    await asyncio.gather(*(work(name) for name in "abc"), look())

    assert [one for one in seen if one != "-"] == ["a", "b", "c"]
    assert "bc" not in "".join(seen)
    assert "ab" not in "".join(seen)[1:]
