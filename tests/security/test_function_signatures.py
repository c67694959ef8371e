"""A function can tell who calls: the examples of the documentation, against calls that really came."""

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.pages import DOCS, fences
from tests.providers.function_server import FunctionServer, Received, answer, function_server
from tests.providers.items import yes
from tests.providers.test_functions import function_item
from tidings import Config, open_engine
from tidings.domain.caller import Caller
from tidings.domain.errors import FieldsInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.workflows.signing import signature_headers
from tidings.engine import Engine

PAGE = DOCS / "how-to" / "call-functions.md"
[EXAMPLE] = [block for block in fences(PAGE, "python") if "def verify" in block]
[IN_JAVASCRIPT] = fences(PAGE, "js")
HERE = Workspace("acme / söhne", "eu.west")
ANN = Caller(HERE, "ann")
OPERATORS_SECRET = "whsec_" + b64encode(bytes(range(40))).decode()


def verify(request: Received, secret: str, **changed: str) -> tuple[str, str]:
    names: dict[str, Any] = {}
    exec(EXAMPLE, names)
    checked: Callable[..., tuple[str, str]] = names["verify"]
    headers = request.headers | {name.replace("_", "-"): value for name, value in changed.items()}
    return checked(headers, request.body, secret)


def is_refused(request: Received, secret: str, **changed: str) -> bool:
    try:
        verify(request, secret, **changed)
    except PermissionError:
        return True
    return False


@pytest.fixture
def config(dsn: str) -> Config:
    key = b64encode(bytes(32)).decode()
    return Config(database_url=dsn, allow_unsafe_storage=True, secret_key=key, allow_private_addresses=True)


async def call(engine: Engine, server: FunctionServer, workspace: Workspace = HERE) -> Received:
    """The request of one more call, by an engine that remembers nothing of the addresses it has looked up."""
    engine.kernel.providers["functions"]._directory.__self__._kept.clear()  # type: ignore[attr-defined]
    await engine.kernel.providers["functions"].send(function_item(workspace=workspace), yes)
    return server.requests[-1]


async def prepare(engine: Engine, server: FunctionServer) -> None:
    await engine.workspaces.set(ANN, HERE, private_addresses=["127.0.0.1"])
    await engine.functions.set(ANN, "send-email", server.url("/f"), "bearer-of-acme")


async def test_a_call_proves_its_tenant_and_workspace_to_the_example_of_the_page(config: Config) -> None:
    async with function_server() as server:
        engine = await open_engine(config)
        await prepare(engine, server)
        unsigned = await call(engine, server)
        secret = (await engine.functions.rotate_signing_secret(ANN)).secret
        request = await call(engine, server)
        await engine.close()

    assert "webhook-signature" not in unsigned.headers
    assert request.headers["webhook-id"] == request.headers["idempotency-key"] == "00" * 32
    assert request.body.startswith(b'{"action":"welcome","payload":')
    assert verify(request, secret) == ("acme%20%2F%20s%C3%B6hne", "eu.west")
    assert is_refused(request, secret, tidings_tenant="rival")
    assert is_refused(request, secret, tidings_workspace="main")
    assert is_refused(request, secret, webhook_id="11" * 32)
    assert is_refused(request, secret, webhook_timestamp=str(int(request.headers["webhook-timestamp"]) - 1))
    assert is_refused(request, secret, webhook_timestamp="1700000000")
    assert is_refused(replace(request, body=request.body + b" "), secret)
    assert is_refused(request, OPERATORS_SECRET)


async def test_while_a_secret_replaces_another_calls_carry_a_signature_of_each(config: Config) -> None:
    async with function_server() as server:
        engine = await open_engine(config)
        await prepare(engine, server)
        first = (await engine.functions.rotate_signing_secret(ANN)).secret
        made = await engine.functions.rotate_signing_secret(ANN, timedelta(hours=1))
        both = await call(engine, server)
        last = (await engine.functions.rotate_signing_secret(ANN, timedelta())).secret
        one = await call(engine, server)
        with pytest.raises(FieldsInvalid):
            await engine.functions.rotate_signing_secret(ANN, timedelta(days=31))
        shown = await engine.functions.signing_secret(HERE)
        await engine.close()

    assert made.previous_until == made.created_at + timedelta(hours=1)
    assert len({first, made.secret, last}) == 3
    assert verify(both, first) == verify(both, made.secret)
    assert len(both.headers["webhook-signature"].split()) == 2
    assert is_refused(one, made.secret)
    assert verify(one, last)
    assert len(b64decode(last.removeprefix("whsec_"))) == 32
    assert shown.previous_until is None


async def test_the_operators_base_is_called_with_the_signature_of_the_settings(config: Config) -> None:
    async with function_server(answer({"data": 1})) as server:
        engine = await open_engine(
            replace(
                config,
                functions_url=server.url(""),
                functions_for=("*/*",),
                functions_signing_secret=OPERATORS_SECRET,
            )
        )
        requests = [await call(engine, server, one) for one in (Workspace(), HERE)]
        await engine.close()

    assert [verify(one, OPERATORS_SECRET) for one in requests] == [
        ("default", "default"),
        ("acme%20%2F%20s%C3%B6hne", "eu.west"),
    ]
    assert is_refused(requests[0], OPERATORS_SECRET, tidings_tenant="acme")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")
def test_the_example_in_javascript_agrees(tmp_path: Path) -> None:
    body, key = b'{"action":"welcome","payload":{"n":1.50}}', "ab" * 32
    (tmp_path / "verify.mjs").write_text(IN_JAVASCRIPT)
    (tmp_path / "main.mjs").write_text(
        'import { verify } from "./verify.mjs";\n'
        "const [headers, body, secret] = JSON.parse(process.argv[2]);\n"
        "Date.now = () => 1_700_000_000_000;\n"
        "const told = verify(headers, body, secret);\n"
        "let refused = false;\n"
        'try { verify({ ...headers, "tidings-tenant": "rival" }, body, secret); } catch { refused = true; }\n'
        "console.log(JSON.stringify({ ...told, refused }));\n"
    )
    signed = dict(signature_headers([OPERATORS_SECRET], Workspace("acme", "eu"), key, 1_700_000_000, body))
    headers = signed | {"tidings-tenant": "acme", "tidings-workspace": "eu"}

    ran = subprocess.run(
        ["node", tmp_path / "main.mjs", json.dumps([headers, body.decode(), OPERATORS_SECRET])],
        capture_output=True,
        check=True,
        timeout=30,
    )

    assert json.loads(ran.stdout) == {"tenant": "acme", "workspace": "eu", "refused": True}
