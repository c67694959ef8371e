"""Rendering in a child process: real processes, real kills."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.domain.content.template import MAX_SOURCE_CHARS, RenderFailed
from tidings.domain.errors import RendererUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.kernel.render import process as rendering
from tidings.kernel.render.renderer import Rendered, Renderer, RenderJob

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DEFAULT = Workspace()
MIB = 1024 * 1024

# Does what no template should be able to do, so that the parent's own limits are seen at work.
HOSTILE_CHILD = """
import os, signal, time
from tidings.kernel.render import child as render_child

honest = render_child.render

def render(source, data, **options):
    if "KILL" in data:
        os.kill(os.getpid(), signal.SIGKILL)
    if "STALL" in data:
        time.sleep(3600)
    if "SPIN" in data:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGVTALRM})
        while True:
            pass
    return honest(source, data, **options)

render_child.render = render
render_child.main()
"""

PARENT = """
import asyncio, datetime, sys
from tidings.domain.flow.ids import Workspace
from tidings.kernel.render.renderer import Renderer, RenderJob

async def main():
    async with Renderer(cpu_seconds=0.2) as renderer:
        now = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
        await renderer.render([RenderJob({"a": "{{ x -}}"}, {"x": 1}, frozenset(), now, Workspace())])
        print(renderer.child_pid, flush=True)
        if sys.argv[1] == "busy":
            loops = "{% for i in (1..9999) %}{% for j in k %}{% endfor %}{% endfor %}" * 500
            spin = RenderJob({"a": loops}, {}, frozenset(), now, Workspace())
            while True:
                await renderer.render([spin])
        await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    async with Renderer(memory_bytes=128 * MIB, cpu_seconds=0.3, wall_seconds=5) as opened:
        yield opened


@pytest.fixture
def hostile_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hostile_child.py").write_text(HOSTILE_CHILD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(rendering, "CHILD_MODULE", "hostile_child")


def job(source: str, html: bool = False, **data: object) -> RenderJob:
    return RenderJob({"body": source}, data, frozenset({"body"}) if html else frozenset(), NOW, DEFAULT)


def greetings(count: int) -> list[RenderJob]:
    templates = {"body": "Hi {{ name -}}"}
    return [RenderJob(templates, {"name": f"n{i}"}, frozenset(), NOW, Workspace()) for i in range(count)]


def greeted(indexes: Iterable[int]) -> list[Rendered]:
    return [Rendered({"body": f"Hi n{i}"}) for i in indexes]


async def reason(renderer: Renderer, poison: RenderJob) -> str:
    [failed, fine] = await renderer.render([poison, job("{{ 1 }}")])
    assert fine == Rendered({"body": "1"})
    assert isinstance(failed, RenderFailed)
    return failed.reason


def is_gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def wait_until_gone(pid: int, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_gone(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


# Rendering


async def test_fields_are_rendered_each_in_its_own_way(renderer: Renderer) -> None:
    templates = {"subject": "{{ x -}}", "html": "<p>{{ x -}}</p>", "from": "a@example.com"}

    [result] = await renderer.render([RenderJob(templates, {"x": "<&>"}, frozenset({"html"}), NOW, Workspace())])

    assert result == Rendered({"from": "a@example.com", "subject": "<&>", "html": "<p>&lt;&amp;&gt;</p>"})


async def test_a_batch_is_answered_in_order_across_chunks(renderer: Renderer) -> None:
    assert await renderer.render(greetings(1234)) == greeted(range(1234))


async def test_an_empty_batch_has_no_results(renderer: Renderer) -> None:
    assert await renderer.render([]) == []


async def test_without_liquid_no_child_is_started(renderer: Renderer) -> None:
    assert await renderer.render([job("plain")]) == [Rendered({"body": "plain"})]
    assert renderer.child_pid is None


async def test_batches_of_several_tasks_do_not_mix(renderer: Renderer) -> None:
    first, second = await asyncio.gather(
        renderer.render(greetings(700)), renderer.render([job(f"{i}{{{{ x -}}}}", x=i) for i in range(700)])
    )

    assert first == greeted(range(700))
    assert second == [Rendered({"body": f"{i}{i}"}) for i in range(700)]


async def test_data_arrives_as_it_was_sent(renderer: Renderer) -> None:
    source = "{{ big }} {{ float }} {{ text }} {{ list | json }} {{ when }}"
    sent = job(source, big=2**80, float=1.5, text="ünï😀", list=[1, None, True], when=NOW)

    [result] = await renderer.render([sent])

    assert result == Rendered({"body": f"{2**80} 1.5 ünï😀 [1,null,true] 2026-01-02T00:00:00Z"})


async def test_the_time_keeps_its_zone(renderer: Renderer) -> None:
    now = datetime.fromisoformat("2026-01-02T03:00:00+05:30")

    [result] = await renderer.render(
        [RenderJob({"a": "{{ 'now' | date: '%H %z' }}"}, {}, frozenset(), now, Workspace())]
    )

    assert result == Rendered({"a": "03 +0530"})


async def test_a_failure_names_the_field_and_the_variable(renderer: Renderer) -> None:
    assert await reason(renderer, job("Hi {{ nobody }}")) == "body: 'nobody' is undefined (line 1, column 7)"


async def test_many_templates_are_forgotten_and_sent_again(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "MAX_KNOWN_TEMPLATE_CHARS", 1000)
    jobs = [job(f"{i:0100d}{{{{ x -}}}}", x=i) for i in range(50)]

    for _ in range(3):
        assert await renderer.render(jobs) == [Rendered({"body": f"{i:0100d}{i}"}) for i in range(50)]


@pytest.mark.parametrize(
    ("poison", "part"),
    [
        (job("{{ x }}", x={1, 2}.__iter__()), "data: "),
        (job("{{ x }}", x="\ud800"), "data: "),
        (job("\ud800{{ x }}", x=1), "body: "),
        (job("{{ x }}", x="x" * 4_000_001), "data: 4000009 bytes of JSON; the most is 4000000"),
        (job("{{ x }}" + " " * MAX_SOURCE_CHARS, x=1), "body: the template has 200007 characters"),
    ],
    ids=["not JSON", "surrogate in data", "surrogate in template", "too much data", "too long a template"],
)
async def test_what_cannot_be_sent_fails_alone(renderer: Renderer, poison: RenderJob, part: str) -> None:
    assert part in await reason(renderer, poison)


# Limits


async def test_a_job_that_uses_too_much_cpu_fails_alone_and_the_child_lives(renderer: Renderer) -> None:
    await renderer.render([job("{{ 1 }}")])
    pid = renderer.child_pid
    loops = "{% for i in (1..9999) %}{% for j in k %}{% endfor %}{% endfor %}" * 500

    assert await reason(renderer, job(loops)) == "exceeds the limit of 0.3 s of CPU time"
    assert renderer.child_pid == pid


async def test_the_cpu_time_of_many_jobs_is_not_added_up(renderer: Renderer) -> None:
    await renderer.render([job("{{ 1 }}")])
    pid = renderer.child_pid
    some_work = "{% for i in (1..2000) %}{% for j in k %}{% endfor %}{% endfor %}"

    results = await renderer.render([job(some_work)] * 120)

    assert all(isinstance(result, Rendered) for result in results)
    assert renderer.child_pid == pid


async def test_a_job_that_needs_too_much_memory_fails_alone_and_the_child_lives() -> None:
    async with Renderer(memory_bytes=48 * MIB) as renderer:
        await renderer.render([job("{{ 1 }}")])
        pid = renderer.child_pid

        limit = await reason(renderer, job("{{ x | split: '' }}", x="\u0416" * 900_000))

        assert limit == f"exceeds the limit of {48 * MIB} bytes of memory"
        assert renderer.child_pid == pid


async def test_the_templates_of_section_six_fail_alone(renderer: Renderer) -> None:
    bombs = [f"{{% assign s='{'a' * n}' %}}{{{{ s | replace:'a',s | replace:'a',s | size }}}}" for n in (600, 2000)]

    results = await renderer.render([*greetings(3), *map(job, bombs), *greetings(2)])

    assert results[:3] + results[5:] == greeted([0, 1, 2, 0, 1])
    assert all(isinstance(result, RenderFailed) and "limit" in result.reason for result in results[3:5])


@pytest.mark.usefixtures("hostile_child")
@pytest.mark.parametrize(
    ("poison", "limit"),
    [
        ("KILL", f"exceeds the limit of the rendering process ({512 * MIB} bytes of memory): it ended with -9"),
        ("STALL", "exceeds the limit of 1 s"),
        ("SPIN", "exceeds the limit of 0.1 s of CPU time"),
    ],
)
async def test_poison_in_the_middle_of_a_batch_fails_alone(poison: str, limit: str) -> None:
    batch = greetings(100)
    batch[57] = job("{{ x -}}", **{poison: True})

    async with Renderer(cpu_seconds=0.1, wall_seconds=1 if poison == "STALL" else 30) as renderer:
        results = await renderer.render(batch)

    assert results[:57] + results[58:] == greeted([*range(57), *range(58, 100)])
    assert results[57] == RenderFailed(limit)


@pytest.mark.usefixtures("hostile_child")
async def test_two_poisons_side_by_side_fail_and_the_rest_renders() -> None:
    batch = greetings(20)
    batch[0] = batch[1] = batch[19] = job("{{ x -}}", KILL=True)

    async with Renderer() as renderer:
        results = await renderer.render(batch)

    assert results[2:19] == greeted(range(2, 19))
    assert all(isinstance(results[i], RenderFailed) for i in (0, 1, 19))


async def test_after_three_strikes_a_batch_gets_a_tenth_of_the_time() -> None:
    loops = "{% for i in (1..9999) %}{% for j in k %}{% endfor %}{% endfor %}" * 500

    async with Renderer(cpu_seconds=0.5) as renderer:
        results = await renderer.render([*[job(loops)] * 5, job("{{ 1 }}")])

    full, tenth = (RenderFailed(f"exceeds the limit of {seconds} s of CPU time") for seconds in (0.5, 0.05))
    assert results == [full, full, full, tenth, tenth, Rendered({"body": "1"})]


# Processes


async def test_a_child_that_was_killed_is_replaced_and_nobody_fails(renderer: Renderer) -> None:
    await renderer.render(greetings(1))
    pid = renderer.child_pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)

    assert await renderer.render(greetings(3)) == greeted(range(3))
    assert renderer.child_pid != pid


async def test_signals_are_the_parents_to_handle(renderer: Renderer) -> None:
    await renderer.render(greetings(1))
    pid = renderer.child_pid
    assert pid is not None

    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)

    assert await renderer.render(greetings(3)) == greeted(range(3))
    assert renderer.child_pid == pid


async def test_a_cancelled_batch_does_not_answer_the_next_one(renderer: Renderer) -> None:
    await renderer.render(greetings(1))
    task = asyncio.create_task(renderer.render(greetings(5000)))
    while not renderer.is_busy:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await renderer.render([job("{{ x -}}", x="mine")]) == [Rendered({"body": "mine"})]


async def test_closing_ends_the_child(renderer: Renderer) -> None:
    async with Renderer() as opened:
        await opened.render(greetings(1))
        pid = opened.child_pid

    assert pid is not None
    assert is_gone(pid)


async def test_the_child_knows_no_secrets(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://canary")
    monkeypatch.setenv("SMTP_PASSWORD", "canary")

    await renderer.render(greetings(1))

    environment = Path(f"/proc/{renderer.child_pid}/environ").read_bytes()
    assert b"canary" not in environment
    assert {entry.partition(b"=")[0].decode() for entry in environment.split(b"\0") if entry} <= {
        "PYTHONPATH",
        *rendering.INHERITED,
    }


async def test_a_child_that_cannot_start_is_an_error(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "CHILD_MODULE", "no_such_module")

    with pytest.raises(RendererUnavailable, match="ended with 1"):
        await renderer.render(greetings(1))


@pytest.mark.chaos
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_parent_that_is_killed_leaves_no_child(state: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid)

        parent.kill()

    wait_until_gone(pid)


# Properties

WORDS = "{{ }} {% %} | : , [ ] ' if endif for in endfor assign a b.c (1..9) default date join replace not raw"


def test_no_garbage_takes_down_the_parent() -> None:
    garbage = st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=3), max_size=20).map(" ".join)

    with asyncio.Runner() as runner:
        renderer = Renderer()

        @settings(deadline=None, max_examples=100)
        @given(st.lists(garbage, max_size=10))
        def each_batch_is_answered(sources: list[str]) -> None:
            results = runner.run(renderer.render([job(source, a=1, b={"c": [1]}) for source in sources]))

            assert len(results) == len(sources)

        each_batch_is_answered()
        runner.run(renderer.__aexit__(None, None, None))
