"""A workspace sends through connections of its own, and every worker has them within seconds."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from tests.conftest import ManualClock
from tests.kernel.connection_scenes import KEY, Outside, connect, engine_with
from tests.kernel.scenes import Sql, deploy, email, graph, listening, row, start, until, work
from tests.stored import TESTER
from tidings.domain.caller import Caller
from tidings.domain.errors import ChannelNotReady, Conflict, FieldsInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.engine import Engine
from tidings.kernel.connecting import RemovedConnection, read_connections, serve_connections
from tidings.kernel.presence import services_of
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.vault import Vault

CANARY = "canary-7f3a91"


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
async def engine(db: Database, clock: ManualClock, outside: Outside) -> AsyncIterator[Engine]:
    async with engine_with(db, clock, outside) as engine:
        yield engine


async def test_a_workflow_leaves_through_the_connection_of_its_workspace(
    engine: Engine, outside: Outside, sql: Sql
) -> None:
    with pytest.raises(ChannelNotReady):
        await start(engine)
    made = await connect(engine, "first")

    await start(engine)
    await work(engine)

    assert outside.recipients("first") == ["ada@example.com"]
    assert await sql.fetchval("select provider from outbox") == f"outside/{made.id}"


async def test_a_campaign_leaves_through_the_connection_of_its_workspace(engine: Engine, outside: Outside) -> None:
    await connect(engine, "first")

    await deploy(engine, 5)
    await work(engine)

    assert sorted(outside.recipients("first")) == [f"p{number}@example.com" for number in range(1, 6)]


async def test_the_operators_provider_serves_workspaces_without_a_connection(
    db: Database, clock: ManualClock, outside: Outside
) -> None:
    operators = FakeProvider("smtp")
    async with engine_with(db, clock, outside, operators=operators) as engine:
        other = Workspace("acme", "main")
        await connect(engine, "own", Caller(other, "test"))
        await engine.define("flow", graph(email()), other)

        await start(engine)
        await engine.trigger("flow", {}, "k1", other)
        await work(engine)

        assert len(operators.calls) == 1
        assert outside.recipients("own") == ["ada@example.com"]
        assert [one.name for one in await engine.connections.list(Workspace())] == ["smtp"]
        assert [one.name for one in await engine.connections.list(other)] == ["own"]


async def test_another_worker_has_a_connection_and_its_changes_within_seconds(
    db: Database, clock: ManualClock, engine: Engine, outside: Outside
) -> None:
    async with engine_with(db, clock, outside) as worker:
        await work(worker)  # it has looked before the connection was there
        made = await connect(engine, "first")
        await start(engine)
        clock.advance(seconds=1)
        await work(worker)
        assert outside.recipients("first") == ["ada@example.com"]

        await engine.connections.update(TESTER, made.id, {"credentials": {"token": "second"}})
        await engine.trigger("flow", {}, "k2")
        clock.advance(seconds=1)
        await work(worker)

        assert outside.recipients("second") == ["ada@example.com"]
        assert len(outside.recipients("first")) == 1


async def test_a_worker_that_listens_hears_of_a_changed_connection_at_once(
    db: Database, clock: ManualClock, engine: Engine, outside: Outside
) -> None:
    async with engine_with(db, clock, outside) as worker, listening(worker):
        await work(worker)
        await connect(engine, "first")
        await until(lambda: worker.kernel.connections.is_stale(clock.time))  # although no time has passed
        await start(engine)
        await work(worker)

    assert outside.recipients("first") == ["ada@example.com"]


async def test_what_stood_for_a_removed_connection_is_let_go_of_and_made_again_when_needed(
    engine: Engine, clock: ManualClock
) -> None:
    kernel = engine.kernel
    made = await connect(engine, "first", limits={"concurrency": 2})
    await start(engine)
    await work(engine)
    object.__setattr__(kernel, "limits", replace(kernel.limits, lease=timedelta(), lease_margin=timedelta(seconds=0.1)))
    await engine.connections.delete(TESTER, made.id)
    await read_connections(kernel, clock.time)
    [name] = [one for one in kernel.providers if one.startswith("outside/")]
    assert isinstance(kernel.providers[name], RemovedConnection)

    await until(lambda: name not in kernel.providers)

    assert name not in kernel.slots
    await serve_connections(kernel, [name], clock.time)
    assert isinstance(kernel.providers[name], RemovedConnection)


async def test_a_disabled_connection_sends_nothing_until_it_is_enabled(
    engine: Engine, clock: ManualClock, outside: Outside
) -> None:
    made = await connect(engine, "first")
    await start(engine)
    await engine.connections.update(TESTER, made.id, {"enabled": False})
    clock.advance(seconds=1)
    await work(engine)
    assert outside.recipients("first") == []

    await engine.connections.update(TESTER, made.id, {"enabled": True})
    clock.advance(seconds=31)
    await work(engine)

    assert outside.recipients("first") == ["ada@example.com"]


async def test_a_worker_without_the_key_says_so_and_serves_no_connection(
    db: Database, clock: ManualClock, engine: Engine, outside: Outside
) -> None:
    await connect(engine, "first")
    await start(engine)
    outside.built.clear()

    async with engine_with(db, clock, outside, vault=Vault()) as worker:
        assert services_of(worker.kernel) == {}
        with capture_logs() as logs:
            await work(worker)

    told = [line for line in logs if line["event"] == "connection_not_served"]
    assert len(told) == 1
    assert "TIDINGS_SECRET_KEY" in told[0]["reason"]
    assert outside.built == []


async def test_workers_say_which_kinds_they_serve(engine: Engine) -> None:
    made = await connect(engine, "first")

    assert [*services_of(engine.kernel)] == ["outside/*"]
    assert made.state == "unserved"


async def test_credentials_are_stored_sealed_and_never_shown(engine: Engine, outside: Outside, sql: Sql) -> None:
    with capture_logs() as logs:
        made = await connect(engine, "first", credentials={"token": CANARY})
        await start(engine)
        await work(engine)

    tables = await sql.fetch("select tablename from pg_tables where schemaname = 'tidings'")
    stored = [await sql.fetch(f"select t::text from tidings.{table['tablename']} t") for table in tables]
    assert outside.recipients(CANARY) == ["ada@example.com"]
    assert made.credentials == ["token"]
    for place in (made, stored, logs, await engine.connections.list(Workspace()), engine.kernel.connections):
        assert CANARY not in repr(place)


async def test_sealed_credentials_open_nowhere_else(engine: Engine, sql: Sql) -> None:
    first = await connect(engine, "first")
    other = await connect(engine, "other", Caller(Workspace("acme", "main"), "test"))
    await sql.execute(
        "update connections set credentials = (select credentials from connections where id = $1) where id = $2",
        first.id,
        other.id,
    )

    unopened = await engine.functions.unopened()

    assert [str(one) for one in unopened] == ["connection 'other' in workspace 'main' of tenant 'acme'"]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"name": "Not A Slug"}, "name"),
        ({"provider": "outsid"}, "provider"),
        ({"channel": "voice"}, "channel"),
        ({"credentials": {}}, "credentials.token"),
        ({"credentials": {"token": 7}}, "credentials.token"),
        ({"credentials": {"token": "x", "region": "eu"}}, "credentials.region"),
        ({"settings": {"token": "x"}}, "settings.token"),
        ({"settings": {"region": "mars"}}, "settings.region"),
        ({"settings": {"baseUrl": "ftp://x"}}, "settings.baseUrl"),
        ({"limits": {"perHour": 3}}, "limits"),
        ({"limits": {"perMinute": 0}}, "limits.perMinute"),
        ({"limits": {"perDomain": {"not a domain": {}}}}, "limits.perDomain"),
        ({"limits": {"warmUp": [10, 0]}}, "limits.warmUp[1]"),
        ({"position": 0}, "position"),
        ({"weight": True}, "weight"),
        ({"sticky": "yes"}, "sticky"),
        ({"colour": "red"}, "colour"),
        ({"credentials": {"token": "refused"}}, ""),
        ({"credentials": {"token": "unreadable"}}, "credentials"),
    ],
)
async def test_what_cannot_be_used_is_refused_with_its_place(
    engine: Engine, sql: Sql, given: dict[str, object], place: str
) -> None:
    with pytest.raises(FieldsInvalid) as refused:
        await connect(engine, **({"name": "first"} | given))  # type: ignore[arg-type]

    assert [problem.place for problem in refused.value.problems] == [place]
    assert await sql.fetchval("select count(*) from connections") == 0
    assert "unreadable" not in str(refused.value)


async def test_a_name_is_taken_once_in_a_workspace_and_free_again_after_removal(engine: Engine) -> None:
    made = await connect(engine, "first")
    with pytest.raises(Conflict):
        await connect(engine, "first")
    await connect(engine, "first", Caller(Workspace("acme", "main"), "test"))
    await engine.connections.delete(TESTER, made.id)

    again = await connect(engine, "first")

    assert again.id != made.id


async def test_stored_credentials_go_to_no_other_address(engine: Engine) -> None:
    made = await connect(engine, "first")

    with pytest.raises(FieldsInvalid, match="give token anew"):
        await engine.connections.update(TESTER, made.id, {"settings": {"baseUrl": "https://elsewhere.test"}})
    changed = await engine.connections.update(
        TESTER, made.id, {"settings": {"baseUrl": "https://elsewhere.test"}, "credentials": {"token": "second"}}
    )

    assert changed.settings == {"baseUrl": "https://elsewhere.test"}


async def test_a_connection_of_another_workspace_is_not_found(engine: Engine) -> None:
    made = await connect(engine, "first")
    stranger = Caller(Workspace("acme", "main"), "test")

    assert await engine.connections.list(stranger.workspace) == []
    for attempt in (
        lambda: engine.connections.get(stranger.workspace, made.id),
        lambda: engine.connections.find(stranger.workspace, "first"),
        lambda: engine.connections.update(stranger, made.id, {"enabled": False}),
        lambda: engine.connections.delete(stranger, made.id),
        lambda: engine.connections.reset(stranger, made.id),
    ):
        with pytest.raises(NotFound):
            await attempt()
    assert (await engine.connections.get(Workspace(), made.id)).enabled


async def test_every_change_is_audited_without_values(engine: Engine, sql: Sql) -> None:
    made = await connect(engine, "first", credentials={"token": CANARY})
    await engine.connections.update(TESTER, made.id, {"credentials": {"token": f"{CANARY}-2"}})
    await engine.connections.reset(TESTER, made.id)
    await engine.connections.delete(TESTER, made.id)

    lines = await sql.fetch(
        "select event, detail::text from audit_log where subject_kind = 'connection' order by event"
    )
    assert [line["event"] for line in lines] == ["created", "deleted", "reset", "updated"]
    assert CANARY not in str([*map(tuple, lines)])
    assert await sql.fetchval("select credentials from connections") is None


async def test_a_key_that_replaces_another_seals_credentials_anew(
    db: Database, clock: ManualClock, engine: Engine, outside: Outside
) -> None:
    await connect(engine, "first")

    async with engine_with(db, clock, outside, vault=Vault([b"n" * 32, KEY])) as rotating:
        assert (await rotating.secrets.rotate()).resealed == 1
    async with engine_with(db, clock, outside, vault=Vault([b"n" * 32])) as after:
        await start(after)
        await work(after)

    assert outside.recipients("first") == ["ada@example.com"]


async def test_one_connection_shows_what_it_has_done_lately(engine: Engine, outside: Outside) -> None:
    made = await connect(engine, "first", limits={"perMinute": 100})
    other = await connect(engine, "other", Caller(Workspace("acme", "main"), "test"))
    outside["first"].script = {
        "p1@example.com": [Rejected("550 no such user")],
        "p2@example.com": [Unknown("reset")],
    }
    await deploy(engine, 5)
    await work(engine)

    shown = await engine.connections.find(Workspace(), "first")
    listed = await engine.connections.list(Workspace())
    foreign = await engine.connections.get(Workspace("acme", "main"), other.id)

    assert shown.id == made.id
    done = shown.activity
    assert done
    assert (done.sent, done.failed, done.in_doubt, done.used) == (3, 1, 1, {"perMinute": 5})
    assert sorted(one.error for one in done.last_errors) == ["550 no such user", "reset"]
    assert [one.activity for one in listed] == [None]
    assert foreign.activity
    assert (foreign.activity.sent, foreign.activity.last_errors) == (0, [])


async def test_an_item_names_its_connection_also_after_it_was_removed(engine: Engine, outside: Outside) -> None:
    made = await connect(engine, "first")
    await start(engine)
    await work(engine)
    await engine.connections.delete(TESTER, made.id)

    [item] = (await engine.outbox.list(Workspace())).items

    assert outside.recipients("first") == ["ada@example.com"]
    assert (item.provider, item.connection) == (f"outside/{made.id}", "first")


async def test_a_removed_connection_is_forgotten_but_for_its_name(engine: Engine, sql: Sql) -> None:
    made = await connect(engine, "first", settings={"region": "eu"}, limits={"perDay": 5})

    await engine.connections.delete(TESTER, made.id)

    left = await row(sql, "select name, settings::text, limits::text, credentials, credential_names from connections")
    assert left == ("first", "{}", "{}", None, [])
