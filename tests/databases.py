"""Databases for tests, copied from a template; one in which a test left nothing but rows is emptied and taken again.

To copy and drop a database costs a test more than most tests do themselves. Whoever changes tables or settings of the
database is found out by an event trigger or a checksum, and the next test gets a new one.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tidings.embedded import OWNER

OWNER_URL, APP_URL = "TIDINGS_TEST_OWNER_URL", "TIDINGS_TEST_APP_URL"
"""Where the addresses of the run's server are, for the roles that own its tables and that work with them."""
IS_FORCED = os.environ.get("TIDINGS_ROW_SECURITY") == "force"
"""Whether the run is that of `make test-row-security`."""
TEMPLATE = "tidings_template"
WATCHED = "tidings_watched"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
MOST_USES = 50
"""A database that was emptied often has large indexes of nothing."""

BEFORE_THE_FIRST_RELEASE = """
create schema tidings;
create function tidings.shard_count() returns integer language sql immutable strict parallel safe return 4;
create table tidings.migrations (
    number integer primary key, name text not null, checksum bytea not null, applied_at timestamptz not null
);
insert into tidings.migrations values (1, '0001_kernel', '\\x00', '2026-01-01');
create table tidings.workflows (name text);
insert into tidings.workflows values ('kept');
"""
"""As much of such a database as tells what it is, and something that must stay."""

WATCH = """
create table public.changes (what text);
create function public.note_change() returns event_trigger language plpgsql security definer as
$$ begin insert into public.changes values (tg_tag); end $$;

create function public.checksum(of regclass) returns text language plpgsql as
$$ declare found text;
begin
    execute format('select md5(string_agg(t::text, chr(10) order by t::text)) from %s t', of) into found;
    return found;
end $$;

create table public.constant as
select c.oid::regclass as name, public.checksum(c.oid) as checksum from pg_class c
where relnamespace = 'tidings'::regnamespace and relkind = 'r';

create function public.others() returns setof integer language sql as
$$ select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() $$;

create function public.empty() returns boolean language plpgsql set session_replication_role = replica as
$$ declare name regclass;
begin
    perform pg_terminate_backend(pid) from public.others() pid;
    -- Told to wait, pg_terminate_backend looks again only after 100 ms.
    for attempt in 1 .. 5000 loop
        perform pg_stat_clear_snapshot();
        exit when not exists (select 1 from public.others());
        perform pg_sleep(0.001);
    end loop;
    if exists (select 1 from public.changes) or exists (select 1 from pg_db_role_setting s
               join pg_database d on d.oid = s.setdatabase where d.datname = current_database()) then
        return false;
    end if;
    for name in select c.name from public.constant c where checksum is null and pg_relation_size(c.name) > 0 loop
        execute format('delete from %s', name);
    end loop;
    return not exists (select 1 from public.constant c
                       where checksum is not null and checksum is distinct from public.checksum(c.name));
end $$;

create event trigger note_change on ddl_command_end execute function public.note_change();
create event trigger note_drop on sql_drop execute function public.note_change();
"""


def with_database(dsn: str, name: str) -> str:
    """The address of another database on the same server."""
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[Connection]:
    """A connection that sees every row, with row security forced, too."""
    connection = await asyncpg.connect(dsn, server_settings={"tidings.acts_for": "everyone"})
    try:
        yield connection
    finally:
        await connection.close()


async def execute(dsn: str, statement: str) -> None:
    async with connected(dsn) as connection:
        await connection.execute(statement)


async def create(server: str, template: str = TEMPLATE) -> str:
    name = f"t_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(server)
    try:
        # Since 15 a copy goes through the log unless told otherwise, and takes four times as long as one of files.
        way = " strategy file_copy" if connection.get_server_version().major >= 15 else ""
        await connection.execute(f"create database {name} owner {OWNER} template {template}{way}")
    finally:
        await connection.close()
    return name


async def drop(server: str, name: str) -> None:
    await execute(server, f"drop database {name} with (force)")


async def watch(server: str) -> None:
    """Make the template whose copies tell when more than rows was changed."""
    await execute(server, f"create database {WATCHED} owner {OWNER} template {TEMPLATE}")
    await execute(with_database(server, WATCHED), WATCH)


class Databases:
    """The databases of one test process.

    Each keeps a connection over which it is emptied, on a loop in a thread of its own, for every test has another loop:
    to connect takes longer than to empty.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self.spare: list[str] = []
        self.uses: dict[str, int] = {}
        self._kept: dict[str, Connection] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    async def take(self) -> str:
        name = self.spare.pop() if self.spare else await create(self.server, WATCHED)
        self.uses[name] = self.uses.get(name, 0) + 1
        return name

    async def give_back(self, name: str) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._give_back(name), self._loop))

    def close(self) -> None:
        for name in self.spare:
            asyncio.run_coroutine_threadsafe(self._drop(name), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _give_back(self, name: str) -> None:
        if self.uses[name] < MOST_USES and await self._empty(name):
            self.spare.append(name)
        else:
            await self._drop(name)

    async def _drop(self, name: str) -> None:
        if kept := self._kept.pop(name, None):
            await kept.close()
        await drop(self.server, name)

    async def _empty(self, name: str) -> bool:
        """Remove every row that a test has left; False if it has changed more than rows."""
        try:
            if name not in self._kept:
                self._kept[name] = await asyncpg.connect(with_database(self.server, name))
            return bool(await self._kept[name].fetchval("select public.empty()"))
        except (asyncpg.PostgresError, asyncpg.InterfaceError):
            return False  # it is not there any more, lets nobody in, or what it needs for that is gone
