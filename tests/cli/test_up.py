"""`tidings up` on the embedded PostgreSQL: who may start it, who keeps it running, and what is left in the end."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.conftest import Command
from tests.warm import Program, Warm
from tidings import embedded
from tidings.embedded.placement import find_site
from tidings.embedded.processes import children_of, is_held
from tidings.worker import main

DEADLINE_SECONDS = 60
SOON_SECONDS = 10
"""Far below the thirty seconds after which a request is given up; a busy machine may need some of it."""
KEY = "uR2vX0s9Qe7LbN4yTgKd6wZa1PjHc8Mf"
APP = '''
"""A provider that writes down whom it writes to, and waits while it is told to."""

import asyncio
from pathlib import Path

from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Accepted
from tidings.providers.fake import FakeProvider
from tidings.wiring import App

PLACE = Path(__file__).parent


class Noting(FakeProvider):
    async def send(self, item, may_start):
        if not may_start():
            return await super().send(item, may_start)
        with (PLACE / "sent").open("a") as file:
            file.write(item.recipient + "\\n")
        while (PLACE / "wait").exists():
            await asyncio.sleep(0.02)
        return Accepted(message_id=item.recipient)


def app() -> App:
    return App([Noting("noting")], {channel: "noting" for channel in (Channel.EMAIL,)})
'''
WELCOME = {
    "name": "welcome",
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}


class Up:
    """`tidings up` at work: what it printed and logged, and a client for its API."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.printed: list[str] = []
        self.lines: list[dict[str, Any]] = []
        self.http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=DEADLINE_SECONDS)
        self._reading = asyncio.gather(self._read_out(), self._read_log())

    async def _read_out(self) -> None:
        async for line in self.program.stdout:
            self.printed.append(line.decode())
            if "answers at" in line.decode():
                self.http.base_url = httpx2.URL(line.decode().split(" at ")[1].split()[0])

    async def _read_log(self) -> None:
        async for line in self.program.stderr:
            self.lines.append(json.loads(line))

    def named(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    async def is_answering(self) -> bool:
        if not any("answers at" in line for line in self.printed):
            return False
        return (await self.http.get("/v1/health")).status_code == 200

    async def ended(self) -> int:
        async with asyncio.timeout(DEADLINE_SECONDS):
            status = await self.program.wait()
            await self._reading  # ends when no process of it is left that could write
        await self.http.aclose()
        return status

    async def drain(self) -> int:
        self.program.send_signal(signal.SIGTERM)
        return await self.ended()

    async def trigger(self, name: str) -> httpx2.Response:
        given = {"workflow": "welcome", "data": {"email": f"{name}@example.com"}, "idempotencyKey": name}
        return await self.http.post("/v1/triggers", json=given)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory that the server's account can enter, with a database made once for all tests."""
    path = Path(tempfile.mkdtemp(prefix="tidings-test-"))
    path.chmod(0o755)
    yield path
    asyncio.run(embedded.remove(path / "data"))
    shutil.rmtree(path)


@pytest.fixture
def data_dir(place: Path) -> Path:
    return place / "data"


@pytest.fixture
async def tidings(tmp_path: Path, forked: Warm, data_dir: Path) -> AsyncIterator[Command]:
    """The command where only flags tell it of the data directory."""
    (tmp_path / "app.py").write_text(APP)
    settings = {"TIDINGS_LOG_FORMAT": "json", "TIDINGS_ADMIN_KEY": KEY, "TIDINGS_POLL_SECONDS": "0.5"}
    yield Command(tmp_path, forked, settings)
    await embedded.stop(data_dir)


@asynccontextmanager
async def up(tidings: Command, data_dir: Path, *arguments: str) -> AsyncIterator[Up]:
    call = tidings.call("up", "--port", "0", "--app", "app", "--data-dir", str(data_dir), *arguments)
    assert tidings.warm is not None
    async with tidings.warm.running(call) as program:
        running = Up(program)
        await until(running.is_answering)
        yield running


async def until(condition: Callable[[], Awaitable[bool] | bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


def sent(tidings: Command) -> list[str]:
    file = tidings.directory / "sent"
    return file.read_text().split() if file.exists() else []


async def kill_postgres(data_dir: Path, *, with_children: bool) -> int:
    pid = (await embedded.status(data_dir)).pid
    assert pid is not None
    for one in [pid, *(children_of(pid) if with_children else [])]:
        os.kill(one, signal.SIGKILL)
    return pid


async def is_running(data_dir: Path) -> bool:
    return (await embedded.status(data_dir)).running


async def is_left_alone(data_dir: Path) -> bool:
    """Whether neither a server, nor a keeper, nor any process that uses it is left."""
    site = find_site(data_dir)
    return not await is_running(data_dir) and not is_held(site.life) and not is_held(site.keeper)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "arguments",
    [
        ["workflows", "list"],
        ["contacts", "list"],
        ["runs", "list"],
        ["trigger", "welcome", "--data", "{}"],
        ["verify"],
        ["db", "status"],
        ["db", "url"],
        ["db", "reset", "--yes"],
    ],
)
def test_a_command_that_finds_no_server_starts_none_and_says_where_it_looked(
    anywhere: Command, arguments: list[str]
) -> None:
    data_dir = anywhere.directory / "data"

    complaint = anywhere(*arguments).complaint

    assert f"no PostgreSQL of Tidings runs in {data_dir}: start it with 'tidings up'" in complaint
    assert "--data-dir, TIDINGS_DATA_DIR or DATABASE_URL" in complaint
    assert not data_dir.exists()


def test_a_home_that_does_not_exist_is_told_in_one_line(anywhere: Command) -> None:
    del anywhere.settings["TIDINGS_DATA_DIR"]
    home = anywhere.directory / "gone"

    for arguments in (["workflows", "list"], ["up"], ["db", "migrate"]):
        complaint = anywhere(*arguments, HOME=str(home), XDG_DATA_HOME="").complaint
        assert f"the home directory '{home}' does not exist: name a data directory with --data-dir" in complaint
    assert not home.exists()


async def test_up_says_what_to_export_and_commands_that_do_so_find_its_server(tidings: Command, data_dir: Path) -> None:
    async with up(tidings, data_dir) as running:
        await until(lambda: len(running.printed) >= 2)
        [line] = [line for line in running.printed if "export" in line]
        name, _, value = line.split("export ")[1].strip().partition("=")
        without = await asyncio.to_thread(tidings, "workflows", "list")
        with_it = await asyncio.to_thread(tidings, "workflows", "list", **{name: value})
        assert await running.drain() == 0

    assert (name, value) == ("TIDINGS_DATA_DIR", str(data_dir))
    assert f"no PostgreSQL of Tidings runs in {tidings.directory}/.local/share/tidings" in without.complaint
    assert not (tidings.directory / ".local").exists()
    assert (with_it.status, with_it.err) == (0, "")


async def test_a_directory_that_every_command_finds_by_itself_need_not_be_exported(
    tidings: Command, data_dir: Path
) -> None:
    (tidings.directory / "tidings.toml").write_text(f'data_dir = "{data_dir}"\n')

    async with up(tidings, data_dir) as running:
        assert await running.drain() == 0

    assert "export" not in "".join(running.printed)


@pytest.mark.parametrize("with_children", [False, True])
async def test_a_killed_postgres_is_back_by_itself_and_each_message_goes_out_once(
    tidings: Command, data_dir: Path, with_children: bool
) -> None:
    async with up(tidings, data_dir, "--processes", "2") as running:
        await running.http.post("/v1/workflows", json=WELCOME)
        before = [await running.trigger(f"before{number}-{with_children}") for number in range(20)]
        killed = await kill_postgres(data_dir, with_children=with_children)
        during = [await running.trigger(f"during{number}-{with_children}") for number in range(5)]
        await until(running.is_answering)
        again = [await running.trigger(f"during{number}-{with_children}") for number in range(5)]
        after = [await running.trigger(f"after{number}-{with_children}") for number in range(20)]
        await until(lambda: len(set(sent(tidings))) == 45)
        assert (await embedded.status(data_dir)).pid != killed
        assert await running.drain() == 0

    assert {answer.status_code for answer in [*before, *after]} == {201}
    assert {answer.status_code for answer in again} <= {200, 201}
    assert len(sent(tidings)) == 45
    for answer in during:
        assert answer.elapsed.total_seconds() < SOON_SECONDS
        if answer.status_code != 201:  # it may be back before we ask
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
            assert answer.headers["retry-after"] == "2"
            assert answer.headers["content-type"] == "application/problem+json"


async def test_a_postgres_that_cannot_start_is_tried_after_growing_pauses_and_back_when_it_can(
    tidings: Command, data_dir: Path
) -> None:
    async with up(tidings, data_dir) as running:
        with unstartable(data_dir):
            await kill_postgres(data_dir, with_children=True)
            await until(lambda: len(running.named("postgres_keeps_failing")) == 2)
            refused = await running.trigger("refused")
            health = await running.http.get("/v1/health")
        await until(running.is_answering)
        assert await running.drain() == 0

    failures = running.named("postgres_keeps_failing")
    assert [line["next_try_seconds"] for line in failures[:2]] == [1, 2]
    assert f"PostgreSQL in {data_dir}/postgres stops while starting" in failures[0]["reason"]
    assert (refused.status_code, health.status_code) == (503, 503)
    assert refused.elapsed.total_seconds() < SOON_SECONDS


async def test_up_leaves_when_it_is_asked_to_although_what_is_in_the_air_cannot_be_written(
    tidings: Command, data_dir: Path
) -> None:
    async with up(tidings, data_dir) as running:
        await running.http.post("/v1/workflows", json=WELCOME)
        (tidings.directory / "wait").touch()
        await running.trigger("unwritten")
        await until(lambda: sent(tidings) == ["unwritten@example.com"])
        with unstartable(data_dir):
            await kill_postgres(data_dir, with_children=True)
            await until(lambda: bool(running.named("postgres_keeps_failing")))
            (tidings.directory / "wait").unlink()
            status = await running.drain()

    assert status == main.EXIT_WITHOUT_DATABASE
    assert running.named("leaving_without_database")
    assert main.DRAIN_SECONDS + main.LONGEST_WRITE_SECONDS < 10
    await until(lambda: is_left_alone(data_dir))


async def test_up_that_is_killed_leaves_neither_workers_nor_a_server(tidings: Command, data_dir: Path) -> None:
    async with up(tidings, data_dir, "--processes", "2") as running:
        await until(lambda: len(running.named("worker_started")) == 2)
        workers = [line["pid"] for line in running.named("worker_process_started")]

        running.program.kill()
        await running.ended()

    await until(lambda: not any(is_alive(pid) for pid in workers))
    await until(lambda: is_left_alone(data_dir))
    assert len(running.named("worker_drained")) == 2


async def test_a_server_that_up_started_stays_as_long_as_others_use_it(tidings: Command, data_dir: Path) -> None:
    async with up(tidings, data_dir) as running:
        call = tidings.call("worker", "--data-dir", str(data_dir))
        assert tidings.warm is not None
        async with tidings.warm.running(call) as worker:
            await until_line(worker, "worker_started")
            assert await running.drain() == 0
            assert await is_running(data_dir)
            [stays] = running.named("postgres_stays")

            worker.send_signal(signal.SIGTERM)
            assert await worker.wait() == 0

    await until(lambda: is_left_alone(data_dir))
    assert stays["stop_with"] == f"tidings db stop --data-dir {data_dir}"


async def test_a_server_that_ran_before_up_stays_and_up_says_so(tidings: Command, data_dir: Path) -> None:
    made = await asyncio.to_thread(tidings, "db", "migrate", "--data-dir", str(data_dir))
    pid = (await embedded.status(data_dir)).pid
    async with up(tidings, data_dir) as running:
        assert running.named("postgres_stays")
        assert await running.drain() == 0

    assert made.status == 0
    assert (await embedded.status(data_dir)).pid == pid
    assert (await asyncio.to_thread(tidings, "db", "stop", "--data-dir", str(data_dir))).out == "stopped\n"


async def test_a_second_up_and_a_stop_are_refused_while_one_runs(tidings: Command, data_dir: Path) -> None:
    async with up(tidings, data_dir) as running:
        second = await asyncio.to_thread(tidings, "up", "--port", "0", "--data-dir", str(data_dir))
        stop = await asyncio.to_thread(tidings, "db", "stop", "--data-dir", str(data_dir))
        assert await running.drain() == 0

    refused = json.loads(second.err)["problem"]
    assert f"'tidings up' (pid {running.program.pid}) runs on {data_dir} already: stop it" in refused
    assert f"'tidings up' (pid {running.program.pid}) keeps PostgreSQL in {data_dir} running" in stop.complaint
    await until(lambda: is_left_alone(data_dir))


async def until_line(program: Program, text: str) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while text not in (await program.stderr.readline()).decode():
            assert program.returncode is None


class unstartable:  # noqa: N801 – reads as what it does
    """Takes away what PostgreSQL needs to start, for as long as the block."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / "postgres" / "postgresql.conf"
        self._away = data_dir / "away"

    def __enter__(self) -> None:
        self._file.rename(self._away)

    def __exit__(self, *_: object) -> None:
        self._away.rename(self._file)
