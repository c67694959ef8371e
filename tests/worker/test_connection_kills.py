"""Connections under kills: real workers, real servers. Nobody is written to twice, and no limit is passed."""

import asyncio
import os
import signal
import socket
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import pytest
from aiosmtpd.controller import Controller

from tests.stored import TESTER
from tests.warm import Call, Warm
from tests.worker.conftest import until
from tidings.config import Config
from tidings.domain.channels import Channel
from tidings.engine import Deployment, Engine, Recipient
from tidings.wiring import open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
KEY = b64encode(b"k" * 32).decode()
SETTINGS = {
    "TIDINGS_SECRET_KEY": KEY,
    "TIDINGS_ALLOW_PRIVATE_ADDRESSES": "true",
    "TIDINGS_ALLOW_UNSAFE_STORAGE": "true",
    "TIDINGS_CALL_SECONDS": "2",
    "TIDINGS_LEASE_SECONDS": "4",
    "TIDINGS_LOG_FORMAT": "json",
}
PATIENCE = 90.0
LIMIT, PEOPLE = 20, 40
COUNTS = "select count(*) filter (where status = 'sent') as sent, count(*) filter (where in_doubt) as doubt from outbox"


class Mail:
    """A mail server that notes whom it accepts, and refuses some before it takes anything."""

    def __init__(self, refuses: Callable[[], str | None]) -> None:
        self._refuses = refuses
        self.accepted: list[str] = []

    async def handle_MAIL(  # noqa: N802 – its name for aiosmtpd
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if refusal := self._refuses():
            return refusal
        envelope.mail_from = address
        return "250 ok"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        await asyncio.sleep(0.01)
        self.accepted += envelope.rcpt_tos
        await asyncio.sleep(0.01)  # a worker killed here leaves doubt
        return "250 taken"


@contextmanager
def mail_server(refuses: Callable[[], str | None] = lambda: None, **more: Any) -> Iterator[tuple[Mail, int]]:
    mail = Mail(refuses)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    controller = Controller(mail, hostname="127.0.0.1", port=port, **more)
    controller.start()
    try:
        yield mail, port
    finally:
        controller.stop()


@asynccontextmanager
async def workers(
    forked: Warm, dsn: str, directory: Path, count: int
) -> AsyncIterator[tuple[list[int], Callable[[], Any]]]:
    """So many workers; returns their process ids, and what starts one more."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "DATABASE_"))}
    async with AsyncExitStack() as stack:
        pids: list[int] = []

        async def one_more() -> None:
            call = Call(["worker", "--database-url", dsn], directory, ours | SETTINGS)
            pids.append((await stack.enter_async_context(forked.running(call))).pid)

        for _ in range(count):
            await one_more()
        yield pids, one_more


@pytest.fixture
async def engine(dsn: str) -> AsyncIterator[Engine]:
    config = Config(database_url=dsn, allow_unsafe_storage=True, secret_key=KEY, allow_private_addresses=True)
    engine = await open_engine(config)
    yield engine
    await engine.close()


async def add_smtp(engine: Engine, name: str, port: int, **more: object) -> None:
    settings = {"host": "127.0.0.1", "port": port, "security": "none", "from": "me@example.com"}
    await engine.connections.create(TESTER, {"name": name, "provider": "smtp", "settings": settings} | more)


async def send_to(engine: Engine, people: int) -> None:
    wish = [Recipient(f"p{number}@example.com") for number in range(people)]
    await engine.deploy(Deployment(UUID(int=7), "k1", Channel.EMAIL, {"subject": "Hi", "body": "News"}, wish))


def has_accepted(count: int, *servers: Mail) -> bool:
    return sum(len(one.accepted) for one in servers) > count


async def is_over(sql: Sql, people: int) -> bool:
    counts = await sql.fetchrow(COUNTS)
    assert counts
    return bool(counts["sent"] + counts["doubt"] == people)


async def test_failover_under_kills_writes_to_nobody_twice(
    engine: Engine, dsn: str, sql: Sql, forked: Warm, tmp_path: Path
) -> None:
    dice, people = Random(3), 300
    flaps = iter(lambda: dice.choice([None, None, "451 later", "421 not now", None]), "never")
    with mail_server(lambda: next(flaps)) as (first, one), mail_server() as (second, two):
        await add_smtp(engine, "first", one)
        await add_smtp(engine, "second", two)
        async with workers(forked, dsn, tmp_path, 3) as (pids, one_more):
            await send_to(engine, people)
            for kill in range(4):
                enough = len(first.accepted) + len(second.accepted) + 20
                await until(partial(has_accepted, enough, first, second), PATIENCE)
                os.kill(pids[kill], signal.SIGKILL)
                await one_more()

            await until(partial(is_over, sql, people), PATIENCE)
        accepted = Counter([*first.accepted, *second.accepted])
        counts = await sql.fetchrow(COUNTS)

    assert counts
    assert max(accepted.values()) == 1
    assert first.accepted
    assert second.accepted
    assert counts["sent"] <= len(accepted) <= people
    assert [check.name for check in await engine.verify() if check.offences] == []


async def test_a_limit_holds_over_three_workers_of_which_one_is_killed(
    engine: Engine, dsn: str, sql: Sql, forked: Warm, tmp_path: Path
) -> None:
    with mail_server() as (mail, port):
        await add_smtp(engine, "first", port, limits={"perMinute": LIMIT})
        async with workers(forked, dsn, tmp_path, 3) as (pids, _):
            await send_to(engine, PEOPLE)
            await until(lambda: len(mail.accepted) >= 3, PATIENCE)
            os.kill(pids[0], signal.SIGKILL)

            async def is_waiting() -> bool:
                """Whether the dead worker's leases are over and everything waits for a place, or is in doubt."""
                due = await sql.fetchval("select count(*) from queue where lane < 3 and (leased or due_at <= now())")
                return bool(due == 0)

            ends_at = monotonic() + 6  # longer than a lease
            await until(lambda: monotonic() > ends_at, PATIENCE)
            await until(is_waiting, PATIENCE)
            while_limited = len(mail.accepted)
            [connection] = await engine.connections.list(TESTER.workspace)
            await engine.connections.update(TESTER, connection.id, {"limits": {}})
            await sql.execute("update queue set due_at = now() where not leased")

            await until(partial(is_over, sql, PEOPLE), PATIENCE)

    assert 3 <= while_limited <= LIMIT  # the places that the killed worker had taken are lost
    assert max(Counter(mail.accepted).values()) == 1
