"""What an engine is given for functions, from its settings and its host application."""

import json
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest

from tests.providers.function_server import answer, function_server
from tests.providers.items import yes
from tests.providers.test_functions import function_item
from tests.stored import TESTER, items_in_doubt, stored_execution
from tidings import App, Config, open_engine
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Accepted, Rejected
from tidings.domain.flow.provider import Blind, Keyed
from tidings.engine import Engine
from tidings.resources.outbox import OutboxFilter
from tidings.storage.directory import place_of
from tidings.storage.functions import upsert_function
from tidings.storage.vault import KEY_FILE
from tidings.wiring import _own_vault

KEY = b64encode(bytes(range(32))).decode()


@pytest.fixture
def config(dsn: str) -> Config:
    return Config(database_url=dsn, allow_unsafe_storage=True, secret_key=KEY, allow_private_addresses=True)


async def put(engine: Engine, name: str, url: str, secret: str, workspace: Workspace) -> None:
    sealed = engine.kernel.vault.seal(secret, place_of(workspace, name))
    now = await engine.kernel.clock.now()
    async with engine.kernel.db.autocommit() as tx:
        await upsert_function(tx, workspace=workspace, name=name, url=url, sealed=sealed, now=now)


async def test_there_are_functions_that_may_be_called_again_and_functions_that_may_not(config: Config) -> None:
    engine = await open_engine(config)
    kernel = engine.kernel
    await engine.close()

    assert kernel.route(Workspace(), Channel.FUNCTION).first("") == "functions"
    assert isinstance(kernel.providers["functions"].provider_class, Keyed)
    assert isinstance(kernel.providers["functions_once"].provider_class, Blind)


async def test_a_function_of_the_host_application_is_called(config: Config) -> None:
    engine = await open_engine(config, App(functions={"send-email": lambda action, _payload: action}))
    outcomes = [
        await engine.kernel.providers[name].send(function_item(), yes) for name in ("functions", "functions_once")
    ]
    await engine.close()

    assert outcomes == [Accepted(result="welcome")] * 2


async def test_the_base_and_the_key_of_the_settings_are_used(config: Config) -> None:
    async with function_server() as server:
        settings = replace(config, functions_url=server.url(""), functions_key="of-the-settings")
        engine = await open_engine(settings)
        outcome = await engine.kernel.providers["functions"].send(function_item(), yes)
        await engine.close()

    assert isinstance(outcome, Accepted)
    assert server.requests[0].line == "POST /functions/v1/send-email HTTP/1.1"
    assert server.requests[0].headers["authorization"] == "Bearer of-the-settings"


async def test_a_workspace_s_own_function_is_called_with_its_own_secret(config: Config) -> None:
    workspace = Workspace("acme", "eu")
    async with function_server() as server:
        engine = await open_engine(config)
        await put(engine, "send-email", server.url("/mine"), "of-the-workspace", workspace)
        await engine.workspaces.set(TESTER, workspace, private_addresses=["127.0.0.1"])
        provider = engine.kernel.providers["functions"]
        own = await provider.send(function_item(workspace=workspace), yes)
        foreign = await provider.send(function_item(), yes)
        await engine.close()

    assert isinstance(own, Accepted)
    assert isinstance(foreign, Rejected)
    [request] = server.requests
    assert request.line == "POST /mine HTTP/1.1"
    assert request.headers["authorization"] == "Bearer of-the-workspace"


async def test_private_addresses_are_closed_unless_the_settings_open_them(config: Config) -> None:
    async with function_server() as server:
        engine = await open_engine(replace(config, functions_url=server.url(""), allow_private_addresses=False))
        outcome = await engine.kernel.providers["functions"].send(function_item(), yes)
        await engine.close()

    assert isinstance(outcome, Rejected)
    assert server.connections == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"functions_url": "ftp://example.com"},
        {"functions_url": "https://user:pass-word@example.com"},
        {"functions_url": "https://example.com", "functions_key": "pass-word\n"},
        {"secret_key": "pass-word"},
    ],
)
async def test_a_bad_setting_is_told_without_its_secret(config: Config, settings: dict[str, str]) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        await open_engine(replace(config, **settings))  # type: ignore[arg-type]

    assert "TIDINGS_" in str(refused.value)
    assert "pass-word" not in str(refused.value)


def test_a_config_does_not_show_its_secrets() -> None:
    shown = repr(Config(functions_key="of-the-settings", secret_key=KEY))

    assert "of-the-settings" not in shown
    assert KEY not in shown


async def test_without_a_key_a_secret_for_a_database_elsewhere_is_refused(config: Config) -> None:
    engine = await open_engine(replace(config, secret_key=None))
    try:
        with pytest.raises(ConfigInvalid, match="set TIDINGS_SECRET_KEY"):
            await put(engine, "f", "https://example.com", "secret", Workspace())
    finally:
        await engine.close()


def test_the_embedded_server_has_a_key_of_its_own(tmp_path: Path) -> None:
    first = _own_vault(Config(data_dir=tmp_path))

    assert first.fingerprints == _own_vault(Config(data_dir=tmp_path)).fingerprints
    assert (tmp_path / KEY_FILE).exists()
    assert not _own_vault(Config(data_dir=tmp_path, database_url="postgresql://elsewhere/x")).has_key


# All the way through

STEPS = {
    "steps": [
        {
            "name": "book",
            "function": "booking",
            "action": "create",
            "payload_template": {"guest": "{{ name }}", "nights": 3},
        },
        {
            "name": "mail",
            "function": "send-email",
            "action": "welcome",
            "payload_template": {"text": "Booked as {{ step_0_result.id }}"},
        },
    ]
}


async def test_steps_call_one_function_after_the_other_with_what_the_first_one_answered(config: Config) -> None:
    async with function_server(answer({"success": True, "data": {"id": "b-7"}}), answer({"sent": True})) as server:
        engine = await open_engine(replace(config, functions_url=server.url("")))
        await engine.define("booked", STEPS)
        started = await engine.trigger("booked", {"name": "Ada"}, "key-1")
        await engine.work_everything()
        execution = await stored_execution(engine, started.id)
        items = (await engine.outbox.list(TESTER.workspace, OutboxFilter(execution_id=started.id))).items
        await engine.close()

    assert execution.status == "completed"
    assert [request.line.split()[1] for request in server.requests] == [
        "/functions/v1/booking",
        "/functions/v1/send-email",
    ]
    assert [json.loads(request.body) for request in server.requests] == [
        {"action": "create", "payload": {"guest": "Ada", "nights": 3}},
        {"action": "welcome", "payload": {"text": "Booked as b-7"}},
    ]
    assert execution.vars["book"] == {"id": "b-7"}
    assert {item.provider for item in items} == {"functions"}


async def test_a_function_that_is_not_idempotent_and_breaks_off_is_left_in_doubt(config: Config) -> None:
    calls: list[str] = []

    def book(action: str, _payload: object) -> None:
        calls.append(action)
        raise ConnectionError("the line went dead")

    step = {"name": "book", "function": "booking", "action": "create", "payload_template": {}, "idempotent": False}
    engine = await open_engine(config, App(functions={"booking": book}))
    await engine.define("booked", {"steps": [step]})
    await engine.trigger("booked", {}, "key-1")
    await engine.work_everything()
    [item] = await items_in_doubt(engine)
    await engine.close()

    assert calls == ["create"]
    assert item.provider == "functions_once"
    assert item.error == "ConnectionError: the line went dead"


async def test_a_function_that_is_overrun_does_not_hold_up_the_others(config: Config) -> None:
    step = {"name": "one", "function": "busy", "action": "go", "payload_template": {}}
    async with function_server(answer({}, 429, headers=["Retry-After: 300"])) as server:
        engine = await open_engine(replace(config, functions_url=server.url("")), App(functions={"idle": lambda *_: 1}))
        await engine.define("busy", {"steps": [step]})
        await engine.define("idle", {"steps": [step | {"function": "idle"}]})
        await engine.trigger("busy", {}, "key-1")
        await engine.work_everything()
        other = await engine.trigger("idle", {}, "key-2")
        await engine.work_everything()
        execution = await stored_execution(engine, other.id)
        await engine.close()

    assert len(server.requests) == 1
    assert execution.status == "completed"
