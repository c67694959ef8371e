"""A database of a measurement's own, an engine to start work with, and a connection to look behind it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg

from bench.app import app
from bench.settings import SHARDS
from tidings.config import Config
from tidings.domain.flow.item import Channel
from tidings.engine import Deployment, Engine, Recipient, Trigger
from tidings.wiring import App, open_engine

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Tell: TypeAlias = Callable[[int], None]
"""Hears how many items are done."""

STORE_AT_ONCE = 5_000
LOOK_SECONDS = 0.25
STUCK_SECONDS = 120
"""How long nothing may be delivered before a measurement gives up."""

# Bounded by shard, lane and time, as the index is: with millions of sleepers nothing else is cheap to ask.
ANY_DUE = """
select exists (
    select 1 from queue
     where shard = any($1::smallint[]) and lane = any('{0,1,2,3}'::smallint[]) and due_at < now() + interval '30 days'
)
"""
# For progress alone: an execution's item is updated once, by its fact, a run's also by its mark, so a run's bar is full
# half-way. Statistics cost nothing to ask, and counting rows would.
DELIVERED = "select pg_stat_get_tuples_updated('outbox'::regclass)"
SPAN = """
select count(*) as items, count(finalized_at) as finalized,
       extract(epoch from max(finalized_at) - min(created_at))::float8 as seconds
  from outbox where created_at >= $1
"""


# Workers connect as they do elsewhere: as one who works with rows, and owns nothing.
WORKS_AS_USUAL = """
do $$ begin
    create role bench_app login password 'bench' in role tidings_app;
exception when duplicate_object or unique_violation then null;
end $$
"""


def email(id: str) -> dict[str, str]:
    """A send node."""
    subject, body = "Hello {{ name }}", "Good to see you, {{ name }}."
    return {"id": id, "type": "email", "to": "{{ email }}", "subject": subject, "body": body}


WORKFLOWS: dict[str, dict[str, object]] = {
    "one": {"entryNodeId": "hello", "nodes": [email("hello")], "edges": []},
    "three": {
        "entryNodeId": "first",
        "nodes": [email("first"), email("second"), email("third")],
        "edges": [{"from": "first", "to": "second"}, {"from": "second", "to": "third"}],
    },
    "sleeper": {
        "entryNodeId": "wait",
        "nodes": [{"id": "wait", "type": "delay", "duration": "P365D"}, email("hello")],
        "edges": [{"from": "wait", "to": "hello"}],
    },
}


def person(number: int) -> dict[str, object]:
    """Somebody to write to."""
    return {"email": f"p{number}@example.com", "name": f"P{number}"}


class Fresh:
    """A new database, removed at the end; its e-mail goes to a provider that accepts at once, or to an SMTP server."""

    engine: Engine
    sql: Sql

    def __init__(
        self,
        server: str,
        *,
        smtp_url: str | None = None,
        template: str = "template1",
        allow_unsafe: bool = False,
        app: App = app,
    ) -> None:
        self._server = server
        self._template = template
        self._allow_unsafe = allow_unsafe
        self._app = app
        self.smtp_url = smtp_url
        self.name = f"bench_{uuid4().hex[:8]}"
        parts = urlsplit(server)._replace(path=f"/{self.name}")
        self.dsn = urlunsplit(parts)
        self.app_dsn = urlunsplit(parts._replace(netloc=f"bench_app:bench@{parts.netloc.rpartition('@')[2]}"))

    async def __aenter__(self) -> "Fresh":
        await run_on_server(self._server, f"create database {self.name} template {self._template}")
        config = Config(
            database_url=self.dsn, shards=SHARDS, allow_unsafe_storage=self._allow_unsafe, smtp_url=self.smtp_url
        )
        self.engine = await open_engine(config, None if self.smtp_url else self._app)
        self.sql = await connect(self.dsn)
        await self.sql.execute(WORKS_AS_USUAL)
        for name, definition in WORKFLOWS.items():
            await self.engine.define(name, definition)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.sql.close()
        await self.engine.close()
        await run_on_server(self._server, f"drop database {self.name} with (force)")

    async def trigger(self, workflow: str, prefix: str, numbers: Sequence[int], tell: Tell = lambda _: None) -> None:
        """Start an execution for each number."""
        for first in range(0, len(numbers), STORE_AT_ONCE):
            some = numbers[first : first + STORE_AT_ONCE]
            await self.engine.trigger_many(workflow, [Trigger(f"{prefix}-{n}", person(n)) for n in some])
            tell(first + len(some))

    async def deploy(self, key: str, people: int) -> None:
        """Start a run to so many people."""
        recipients = [Recipient(f"p{number}@example.com", {"name": f"P{number}"}) for number in range(people)]
        content = {"subject": "Hello {{ name }}", "body": "Good to see you, {{ name }}."}
        await self.engine.deploy(Deployment(uuid4(), key, Channel.EMAIL, content, recipients))

    async def settle(self) -> None:
        """Leave nothing to clean or write from before: every measurement begins with statistics and a checkpoint."""
        await self.sql.execute("vacuum analyze")
        await self.sql.execute("checkpoint")

    async def now(self) -> datetime:
        """The database's time."""
        now: datetime = await self.sql.fetchval("select clock_timestamp()")
        return now

    async def until_done(self, tell: Tell = lambda _: None) -> None:
        """Wait until nothing is due, nor being worked on, nor sleeping for less than a month."""
        before = delivered = await self.sql.fetchval(DELIVERED)
        moved_at = time.monotonic()
        while await self.sql.fetchval(ANY_DUE, list(range(SHARDS))):
            await asyncio.sleep(LOOK_SECONDS)
            now = await self.sql.fetchval(DELIVERED)
            if now > delivered:
                delivered, moved_at = now, time.monotonic()
                tell(delivered - before)
            if time.monotonic() - moved_at > STUCK_SECONDS:
                raise TimeoutError(f"nothing was delivered for {STUCK_SECONDS} s; see bench/results/workers.log")

    async def span(self, since: datetime, items: int) -> float:
        """Seconds from the first row to the last fact of what was created since then, which must be so many items."""
        row = await self.sql.fetchrow(SPAN, since)
        if row is None or not row["items"] == row["finalized"] == items:
            raise AssertionError(f"{items} items should have been written and sent, not {row}")
        return float(row["seconds"])


async def connect(dsn: str) -> Sql:
    """A connection that finds our tables."""
    return await asyncpg.connect(dsn, server_settings={"search_path": "tidings, public"}, command_timeout=1800)


async def run_on_server(server: str, statement: str) -> None:
    """Run what no database of its own can: creating and dropping one."""
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
