"""Keys: shown once, kept as a hash, known for seconds, ended for good."""

from datetime import datetime, timedelta
from typing import Any, TypeAlias

import asyncpg
import pytest

from tests.conftest import ManualClock
from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, InputInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.resources import access
from tidings.resources.identity import Identity

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
GIVEN = "uR2vX0s9Qe7LbN4yTgKd6wZa1PjHc8Mf"
ANN = Caller(Workspace("acme", "main"), "ann")


async def test_a_key_is_recognised_and_kept_only_as_its_hash(engine: Engine, sql: Sql) -> None:
    made = await engine.access.create_key(ANN, "signup form", Role.TRIGGER_OPERATOR)

    identity = await engine.access.authenticate(made.secret)

    assert made.secret.startswith("tid_")
    assert len(made.secret) == 4 + 43
    assert identity == Identity(ANN.workspace, frozenset([Role.TRIGGER_OPERATOR]), made.id, "key:signup form")
    row = await sql.fetchrow("select * from api_keys")
    assert row is not None
    assert row["hash"] == access._digest(made.secret)
    assert made.secret not in str(dict(row))
    assert made.secret.startswith(row["prefix"])
    assert len(row["prefix"]) == 12


async def test_a_key_for_another_workspace_is_bound_to_it(engine: Engine) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE, workspace="second")

    identity = await engine.access.authenticate(made.secret)

    assert identity is not None
    assert identity.workspace == Workspace("acme", "second")


@pytest.mark.parametrize("secret", ["", "tid_", "nobody", "\ud800", "x" * 10_000])
async def test_a_key_that_nobody_made_opens_nothing(engine: Engine, secret: str) -> None:
    assert await engine.access.authenticate(secret) is None


async def test_a_revoked_key_opens_nothing_here_at_once_and_elsewhere_after_seconds(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE)
    elsewhere = access.Access(engine.kernel)
    seconds = 0.0
    monkeypatch.setattr("tidings.resources.access.time.monotonic", lambda: seconds)
    assert await engine.access.authenticate(made.secret)
    assert await elsewhere.authenticate(made.secret)

    await engine.access.revoke_key(ANN, made.id)

    assert await engine.access.authenticate(made.secret) is None
    assert await elsewhere.authenticate(made.secret)
    seconds = access.KNOWN_SECONDS
    assert await elsewhere.authenticate(made.secret) is None


async def test_a_key_is_looked_up_once_in_five_seconds(engine: Engine, sql: Sql) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE)
    await engine.access.authenticate(made.secret)
    await sql.execute("delete from api_keys")

    assert await engine.access.authenticate(made.secret)


async def test_a_key_opens_nothing_once_it_has_expired(engine: Engine, clock: ManualClock) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE, expires_at=clock.time + timedelta(hours=1))
    fresh = access.Access(engine.kernel)
    clock.advance(minutes=59)
    assert await fresh.authenticate(made.secret)

    clock.advance(minutes=1)

    assert await access.Access(engine.kernel).authenticate(made.secret) is None


async def test_the_use_of_a_key_is_noted_to_the_minute(engine: Engine, sql: Sql, clock: ManualClock) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE)
    noted = []
    for seconds in (0, 30, 31):
        clock.advance(seconds=seconds)
        await access.Access(engine.kernel).authenticate(made.secret)
        noted.append(await sql.fetchval("select last_used_at from api_keys"))

    assert noted == [clock.time - timedelta(seconds=61), clock.time - timedelta(seconds=61), clock.time]


async def test_another_tenant_s_key_cannot_be_revoked(engine: Engine) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE)

    with pytest.raises(NotFound):
        await engine.access.revoke_key(Caller(Workspace("rival", "main"), "bob"), made.id)

    assert await engine.access.authenticate(made.secret)


async def test_making_and_revoking_are_in_the_audit_log_once(engine: Engine) -> None:
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE)
    await engine.access.revoke_key(ANN, made.id)
    await engine.access.revoke_key(Caller(ANN.workspace, "bob"), made.id)

    lines = (await engine.access.audit(ANN, subject=made.id)).items

    assert sorted((line.event, line.actor, line.subject_kind) for line in lines) == [
        ("created", "ann", "api_key"),
        ("revoked", "ann", "api_key"),
    ]
    assert made.secret not in str(lines)


async def test_the_audit_log_is_narrowed_by_who_did_it_and_to_what(engine: Engine) -> None:
    bob = Caller(ANN.workspace, "user:Bob@example.com")
    made = await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE)
    await engine.access.create_key(bob, "y", Role.WORKER_SERVICE)
    await engine.access.revoke_key(bob, made.id)

    async def found(**wanted: Any) -> list[tuple[str, object]]:
        return [(line.event, line.detail["name"]) for line in (await engine.access.audit(ANN, **wanted)).items]

    assert await found(actor="bob@") == [("revoked", "x"), ("created", "y")]
    assert await found(actor="bob@", subject=made.id) == [("revoked", "x")]
    assert await found(actor="bob@", subject_kind="workflow") == []
    assert len(await found(subject_kind="api_key")) == 3
    assert await found(subject=made.id, subject_kind="workflow") == []


async def test_keys_and_history_come_in_pages(engine: Engine, clock: ManualClock) -> None:
    for number in range(5):
        clock.advance(seconds=1)
        await engine.access.create_key(ANN, f"k{number}", Role.WORKER_SERVICE)

    names: list[str] = []
    details: list[object] = []
    cursor: str | None = None
    while cursor or not names:
        page = await engine.access.list_keys(ANN, limit=2, cursor=cursor)
        names += [key.name for key in page.items]
        cursor = page.next_cursor
    while cursor or not details:
        lines = await engine.access.audit(ANN, limit=2, cursor=cursor)
        details += [line.detail["name"] for line in lines.items]
        cursor = lines.next_cursor

    assert names == details == ["k4", "k3", "k2", "k1", "k0"]


@pytest.mark.parametrize(
    "given", [{"name": ""}, {"name": "x" * 201}, {"name": "\x00"}, {"workspace": "\x00"}, {"workspace": "é" * 101}]
)
async def test_a_name_that_cannot_be_kept_is_refused(engine: Engine, given: dict[str, str]) -> None:
    with pytest.raises(InputInvalid):
        await engine.access.create_key(
            ANN, given.get("name", "x"), Role.WORKER_SERVICE, workspace=given.get("workspace")
        )


async def test_an_expiry_in_the_past_is_refused(engine: Engine, clock: ManualClock) -> None:
    with pytest.raises(InputInvalid, match="past"):
        await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE, expires_at=clock.time)


async def test_an_expiry_that_no_calendar_has_is_refused(engine: Engine) -> None:
    late = datetime.fromisoformat("9999-12-31T23:59:59-14:00")

    with pytest.raises(InputInvalid, match="9999"):
        await engine.access.create_key(ANN, "x", Role.WORKER_SERVICE, expires_at=late)


# The first operator


async def test_the_first_operator_s_key_is_made_once(engine: Engine) -> None:
    made = await engine.access.ensure_admin_key(None)
    again = await engine.access.ensure_admin_key(None)

    assert made is not None
    identity = await engine.access.authenticate(made)
    assert identity is not None
    assert (identity.roles, identity.workspace) == (frozenset([Role.OPERATOR]), Workspace())
    assert again is None


async def test_where_every_operator_s_key_has_ended_another_is_made(engine: Engine, clock: ManualClock) -> None:
    home = Caller(Workspace(), "ann")
    await engine.access.create_key(home, "x", Role.SYSTEM_ADMIN)
    soon = await engine.access.create_key(home, "x", Role.OPERATOR, expires_at=clock.time + timedelta(hours=1))
    before = await engine.access.ensure_admin_key(None)

    clock.advance(hours=1)
    made = await engine.access.ensure_admin_key(None)

    assert before is None
    assert made not in (None, soon.secret)
    assert await engine.access.ensure_admin_key(None) is None


async def test_a_given_administrator_s_key_works_and_is_never_shown(engine: Engine) -> None:
    shown = [await engine.access.ensure_admin_key(GIVEN) for _ in range(2)]

    assert shown == [None, None]
    identity = await engine.access.authenticate(GIVEN)
    assert identity is not None
    assert identity.roles == {Role.OPERATOR}


async def test_a_given_key_that_was_revoked_stays_revoked(engine: Engine) -> None:
    await engine.access.ensure_admin_key(GIVEN)
    [key] = (await engine.access.list_keys(Caller(Workspace(), "ann"))).items
    await engine.access.revoke_key(Caller(Workspace(), "ann"), key.id)

    with pytest.raises(ConfigInvalid, match="revoked"):
        await engine.access.ensure_admin_key(GIVEN)


@pytest.mark.parametrize("guessed", ["password", "password" * 4])
async def test_a_given_key_that_can_be_guessed_is_refused_without_being_told(engine: Engine, guessed: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"can be guessed.*openssl rand -base64 32") as refused:
        await engine.access.ensure_admin_key(guessed)

    assert guessed not in str(refused.value)
    assert await engine.access.authenticate(guessed) is None
