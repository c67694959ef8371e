"""A hostile tenant and the functions of others: the operator's base, private addresses, and secrets that are echoed."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from tests.databases import connected
from tests.providers.function_server import FunctionServer, answer, function_server
from tests.stored import stored_execution
from tidings import Config, open_engine
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine

KEY = b64encode(bytes(range(32))).decode()
HOME, RIVAL = Workspace(), Workspace("rival", "main")
OPERATORS_KEY, OWN_SECRET = "operators-key-0123456789", "secret-of-the-rival-9876"
CALL = {"steps": [{"name": "one", "function": "send-email", "action": "go", "on_failure": "abort"}], "max_retries": 0}


@pytest.fixture
def config(dsn: str) -> Config:
    return Config(
        database_url=dsn,
        allow_unsafe_storage=True,
        secret_key=KEY,
        allow_private_addresses=True,
        functions_key=OPERATORS_KEY,
    )


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Engine]:
    engine = await open_engine(config)
    try:
        yield engine
    finally:
        await engine.close()


async def ended(engine: Engine, workspace: Workspace) -> tuple[str, str | None]:
    """The status and the error of one call in a workspace, once its execution is over."""
    await engine.define("call", CALL, workspace)
    started = await engine.trigger("call", {}, "k", workspace)
    await engine.work_everything()
    stored = await stored_execution(engine, started.id)
    return stored.status, stored.error


async def test_the_operators_base_serves_only_the_workspaces_that_the_setting_names(config: Config) -> None:
    async with function_server() as server, opened(replace(config, functions_url=server.url(""))) as engine:
        home, rival = await ended(engine, HOME), await ended(engine, RIVAL)

    assert home[0] == "completed"
    assert rival[0] == "failed"
    assert "TIDINGS_FUNCTIONS_FOR" in str(rival[1])
    assert "rival/main" in str(rival[1])
    assert len(server.requests) == 1


async def test_the_installations_switch_opens_no_private_address_to_a_tenants_own_url(config: Config) -> None:
    async with function_server() as server, opened(config) as engine:
        await engine.functions.set(Caller(RIVAL, "mallory"), "send-email", server.url("/inside"))
        refused = await ended(engine, RIVAL)
        calls = len(server.requests)

    assert refused[0] == "failed"
    assert "tidings workspaces set" in str(refused[1])
    assert calls == 0


async def test_a_connection_that_one_workspace_may_have_is_not_used_for_another(config: Config) -> None:
    friend = Workspace("friend", "main")
    async with function_server() as server, opened(config) as engine:
        await engine.workspaces.set(Caller(HOME, "ops"), friend, private_addresses=["127.0.0.1"])
        for home in (friend, RIVAL):
            await engine.functions.set(Caller(home, "ann"), "send-email", server.url("/inside"))
        allowed, refused = await ended(engine, friend), await ended(engine, RIVAL)  # the first is still kept open

    assert allowed[0] == "completed"
    assert refused[0] == "failed"
    assert len(server.requests) == 1


# Secrets that a function repeats


def echoes(secret: str) -> dict[str, object]:
    """A secret in every form in which a function might repeat it."""
    basic = b64encode(f"user:{secret}, and more".encode()).decode()
    return {
        "plain": secret,
        "inside": [{"headers": f"Authorization: Bearer {secret}\r\nAccept: */*"}],
        secret: "key",
        "base64": b64encode(secret.encode()).decode(),
        "base64 of more": basic,
        "base64url of more": "x" + b64encode(f"?{secret}>>".encode(), b"-_").decode(),
        "hex": secret.encode().hex().upper(),
        "percent": quote(f"<{secret}>", safe=""),
        "escaped": {"deep": [1, [json.dumps({"in": secret})]]},
    }


def forms_of(secret: str) -> set[str]:
    """What must be found nowhere: the secret, and the middle of its encodings at each of the three alignments."""
    raw = secret.encode()
    inner = {b64encode(b"\0" * shift + raw).decode()[4:-4].strip("=") for shift in range(3)}
    return {secret, raw.hex(), raw.hex().upper(), *(one[:16] for one in inner)}


def says(secret: str) -> list[bytes]:
    spelled = json.dumps({"error": f"bad token {secret}", **echoes(secret)})
    escaped = "".join(f"\\u{ord(one):04x}" for one in secret)
    return [
        answer({"success": True, "data": {**echoes(secret), "kept": "as it is"}}),
        answer(raw=f'{{"data": {{"hidden": "{escaped}"}}}}'.encode(), headers=["Content-Type: application/json"]),
        answer({"success": False, "error": f"denied: {b64encode(secret.encode()).decode()}"}),
        answer(raw=spelled.encode(), status=400),
        answer(raw=b"<html>", headers=[f"Content-Type: text/{secret}"]),
    ]


async def everything_stored(dsn: str) -> str:
    """Every row of every table and view as one string; what is sealed is bytes that open nowhere."""
    async with connected(dsn) as connection:
        tables = await connection.fetch("select tablename from pg_tables where schemaname = 'tidings'")
        rows = [
            str(row[0])
            for (table,) in tables
            for row in await connection.fetch(f'select one::text from tidings."{table}" as one')
        ]
    return "\n".join(rows)


async def test_a_secret_that_a_function_echoes_is_stored_and_logged_nowhere(config: Config, dsn: str) -> None:
    with capture_logs() as lines:
        async with function_server() as server, opened(replace(config, functions_url=server.url(""))) as engine:
            await engine.workspaces.set(Caller(HOME, "ops"), RIVAL, private_addresses=["127.0.0.1"])
            await engine.functions.set(Caller(RIVAL, "ann"), "send-email", server.url("/own"), OWN_SECRET)
            signing = (await engine.functions.rotate_signing_secret(Caller(RIVAL, "ann"))).secret
            told = await _echo_all(engine, server, signing)
    stored = await everything_stored(dsn)

    assert told == ["as it is"] * 3
    assert "…" in stored
    for secret in (OPERATORS_KEY, OWN_SECRET, signing, signing.removeprefix("whsec_")):
        found = [form for form in forms_of(secret) if form in stored or form in str(lines)]
        assert found == [], secret


async def _echo_all(engine: Engine, server: FunctionServer, signing: str) -> list[object]:
    """Let the function answer with each secret in every form; return what of the answers must stay."""
    kept = []
    for number, (secret, home) in enumerate([(OPERATORS_KEY, HOME), (OWN_SECRET, RIVAL), (signing, RIVAL)]):
        await engine.define("call", CALL, home)
        for turn, say in enumerate(says(secret)):
            server.answers[:] = [say]
            started = await engine.trigger("call", {}, f"k{number}-{turn}", home)
            await engine.work_everything()
            if turn == 0:
                result = (await stored_execution(engine, started.id)).vars["one"]
                kept.append(result["kept"] if isinstance(result, dict) else result)
    return kept
