"""What the API says of itself, and whether it is true."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest
from fastapi import FastAPI

from tests.http.conftest import Person, listening, start
from tests.pages import PAGES
from tidings.config import Config
from tidings.engine import Engine
from tidings.http import docs, pulse
from tidings.storage.database import Database

VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
CHECKED_FOR_SECONDS = 1_200
SOON = ("--phases", "examples,fuzzing", "--max-examples", "3")
LONG = ("--phases", "examples,coverage,fuzzing", "--max-examples", "30")
THOROUGHLY = LONG if "TIDINGS_TEST_API" in os.environ else SOON
"""`make test-api` tries every boundary of every field, which takes some minutes."""
SETTINGS = """
# Whatever stands there may be an external id, `bulk` and `crm-1/export` too: more methods are answered than are listed.
[[operations]]
include-path-regex = "^/v1/contacts/"
checks.unsupported_method.enabled = false
checks.allow_header_conformance.enabled = false

# They answer what is wrong with what they are given instead of refusing it.
[[operations]]
include-path-regex = "/validate$"
checks.negative_data_rejection.enabled = false
"""


def described(app: FastAPI) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_openapi_3_1_and_every_operation_has_a_name_of_its_own(app: FastAPI) -> None:
    names = [operation["operationId"] for _, _, operation in described(app)]

    assert app.openapi()["openapi"].startswith("3.1")
    assert len(names) == len(set(names)) > 20


def test_every_error_is_declared_in_the_one_form(app: FastAPI) -> None:
    for path, _, operation in described(app):
        if path.startswith("/functions"):
            continue
        errors = {status: answer for status, answer in operation["responses"].items() if int(status) >= 400}
        assert {"500", "503"} <= errors.keys()
        for answer in errors.values():
            assert answer["content"]["application/problem+json"]["schema"] == {
                "$ref": "#/components/schemas/ProblemDetails"
            }
        if "requestBody" in operation:
            assert {"400", "413", "422"} <= errors.keys()


def test_every_reference_leads_somewhere_and_nothing_of_the_framework_s_own_errors_is_left(app: FastAPI) -> None:
    text = str(app.openapi())
    names = {piece.split("'")[0] for piece in text.split("#/components/schemas/")[1:]}

    assert names <= app.openapi()["components"]["schemas"].keys()
    assert "HTTPValidationError" not in text


def test_every_body_has_an_example(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]
    for path, _, operation in described(app):
        if "requestBody" in operation:
            for kind in operation["requestBody"]["content"].values():
                schema = kind["schema"]
                schema = schemas[schema["$ref"].rsplit("/")[-1]] if "$ref" in schema else schema
                assert schema["examples"], path


async def test_the_documentation_loads_nothing_from_elsewhere(http: httpx2.AsyncClient) -> None:
    page = await http.get("/docs")

    assert page.status_code == 200
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_the_built_reference_is_answered_where_there_is_one_under_a_policy_without_inline_code(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(docs, "built_page", lambda: tmp_path / "docs.html")
    small = await http.get("/docs")
    (tmp_path / "docs.html").write_text("<title>Reference</title>")
    built = await http.get("/docs")

    assert ("docs.js" in small.text, built.text) == (True, "<title>Reference</title>")
    assert "unsafe" not in built.headers["content-security-policy"]
    assert built.headers["cache-control"] == "no-cache"


async def test_health_needs_no_key_and_tells_when_the_database_does_not_answer(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy = await http.get("/v1/health")

    async def silence(_: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(pulse, "require_writable", silence)
    monkeypatch.setattr(pulse, "LONGEST_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(pulse, "FRESH_SECONDS", 0)
    unhealthy = await http.get("/v1/health")

    said: dict[str, object] = {"status": "healthy", "version": None, "workers": None, "waiting": None, "problems": []}
    assert (healthy.status_code, healthy.json()) == (200, said)
    assert (unhealthy.status_code, unhealthy.json()["status"]) == (503, "unhealthy")
    assert unhealthy.headers["retry-after"] == "2"


async def test_health_tells_when_the_database_takes_no_writes(
    http: httpx2.AsyncClient,
    db: Database,
    sql: "asyncpg.Connection[asyncpg.Record]",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pulse, "FRESH_SECONDS", 0)
    before = await http.get("/v1/health")

    await sql.execute(f"alter database {db.dsn.rsplit('/', 1)[-1]} set default_transaction_read_only = on")
    others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    await sql.execute(f"select pg_terminate_backend(pid, 5000) {others}")
    read_only = await http.get("/v1/health")

    assert (before.status_code, read_only.status_code) == (200, 503)


async def test_health_is_looked_at_once_for_all_who_ask_at_once(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    async def look(_: object) -> None:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0)

    monkeypatch.setattr(pulse, "require_writable", look)
    monkeypatch.setattr(pulse, "FRESH_SECONDS", 3600)
    answers = await asyncio.gather(*(http.get("/v1/health") for _ in range(20)))

    assert {answer.status_code for answer in answers} == {200}
    assert looks == 1


async def test_metrics_count_requests_and_show_what_there_is(engine: Engine, host: Person, workflow: UUID) -> None:
    await start(engine)
    await host.get("/v1/workflows")

    text = (await host.get("/metrics")).text

    assert 'tidings_queue{state="live"} 1.0' in text
    assert 'tidings_executions{status="enqueued"} 1.0' in text
    assert 'tidings_http_requests_total{method="GET",operation="list_workflows",status="200"} 1.0' in text
    assert 'tidings_http_request_seconds_count{operation="list_workflows"} 1.0' in text


async def test_metrics_are_not_counted_anew_at_every_look(engine: Engine, host: Person, workflow: UUID) -> None:
    await host.get("/metrics")
    await start(engine)

    assert "tidings_executions{" not in (await host.get("/metrics")).text


async def test_metrics_do_not_wait_for_a_slow_count(
    engine: Engine, host: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow() -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(engine.health, "totals", slow)
    monkeypatch.setattr("tidings.http.counting.LONGEST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr("tidings.http.counting.LONGEST_COUNT_SECONDS", 0.05)

    answers = [await host.get("/metrics") for _ in range(2)]
    await asyncio.sleep(0.1)

    assert [answer.status_code for answer in answers] == [200, 200]
    assert 'operation="get_metrics"' in (await host.get("/metrics")).text


@pytest.mark.usefixtures("guessing")
async def test_schemathesis_finds_nothing(
    engine: Engine, config: Config, admin: Person, workflow: UUID, tmp_path: Path
) -> None:
    await start(engine)
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    async with listening(engine, config) as url:
        # Made at the first look, which on a busy machine takes longer than schemathesis waits for it.
        async with httpx2.AsyncClient(timeout=CHECKED_FOR_SECONDS) as http:
            assert (await http.get(f"{url}/openapi.json")).status_code == 200
        checking = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).parent / "schemathesis"), "run", f"{url}/openapi.json"),
            *("--header", f"Authorization: Bearer {admin.secret}", *THOROUGHLY, "--seed", "1"),
            *("--exclude-checks", "positive_data_acceptance"),
            *("--suppress-health-check", "all", "--no-color"),
            # It cannot write JSON lines; tests/domain/test_contact_file.py tries any bytes on what reads them.
            *("--exclude-operation-id", "import_contacts"),
            # This server has no scratch database, and says so with a 503; tests/http/test_simulate.py has one.
            *("--exclude-operation-id", "simulate_sequence", "--exclude-operation-id", "simulate_workflow"),
            *("--exclude-operation-id", "simulate_campaign"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(CHECKED_FOR_SECONDS):
            said, _ = await checking.communicate()

    assert checking.returncode == 0, said.decode()[-8_000:]


NAMED = re.compile(r"`(?:(GET|POST|PUT|PATCH|DELETE) )?(/(?:v1|functions)/[\w/{}-]+)")
"""An operation or a path as pages write it."""


def test_every_path_that_a_page_names_is_described(app: FastAPI) -> None:
    operations = {f"{method.upper()} {path}" for path, method, _ in described(app)}
    known = [re.compile(re.sub(r"\{\w+\}", "[^/]+", operation)) for operation in operations]
    named = {(page.name, *found) for page in PAGES for found in NAMED.findall(page.read_text())}

    assert len(named) > 60
    missing = [
        (page, method, path)
        for page, method, path in named
        if not any(one.fullmatch(f"{verb} {path}") for one in known for verb in ([method] if method else VERBS))
    ]
    assert sorted(missing) == []


def test_nothing_is_called_by_the_number_of_one_of_our_documents(app: FastAPI) -> None:
    assert re.findall(r"(?:^|[^0-9,.])00[0-4](?:[^0-9]|$)", str(app.openapi())) == []
