"""What people send is checked under a budget and off the loop: whoever sends much keeps nobody else waiting."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import httpx2
import msgspec
import pytest

from tests.http.conftest import HOME, WELCOME, Person, admin, app, caller, config, http  # noqa: F401
from tidings.domain.content import template
from tidings.engine import Engine
from tidings.kernel.render.renderer import Renderer
from tidings.kernel.templates import CHEAP_MARKUP_CHARS, MOST_MARKUP_CHARS

EXPENSIVE = "{% liquid\n" + "echo contact.name\n" * 1_000 + "%}"
NESTED = "{% if a %}" * 29 + "{{ b }}" + "{% endif %}" * 29
STEP = {"dayOffset": 0, "channel": "email", "subject": "Hi", "content": EXPENSIVE}


def workflow_of(*bodies: str) -> dict[str, Any]:
    nodes = [{**WELCOME["nodes"][0], "id": f"n{number}", "body": body} for number, body in enumerate(bodies)]
    edges = [{"from": f"n{number}", "to": f"n{number + 1}"} for number in range(len(bodies) - 1)]
    return {"entryNodeId": "n0", "nodes": nodes, "edges": edges}


ATTACKS: Mapping[str, tuple[str, Any]] = {
    "/v1/workflows/validate": ("POST", workflow_of(EXPENSIVE)),
    "/v1/workflows": ("POST", {"name": "hostile", **workflow_of(EXPENSIVE)}),
    "/v1/workflows/{workflow}": ("PUT", workflow_of(EXPENSIVE)),
    "/v1/workflows/{workflow}/simulate": (
        "POST",
        {"definition": workflow_of(EXPENSIVE), "data": [{"email": "ada@example.com", "contact": {"name": "Ada"}}]},
    ),
    "/v1/sequences": ("POST", {"name": "hostile", "steps": [STEP]}),
    "/v1/sequences/{sequence}/steps": ("POST", STEP),
    "/v1/sequences/{sequence}": ("PATCH", {"status": "active"}),
    "/v1/campaigns": (
        "POST",
        {
            "name": "hostile",
            "channel": "email",
            "content": {"subject": "Hi", "body": EXPENSIVE},
            "audience": {"all": True},
        },
    ),
    "/v1/campaigns/{campaign}": ("PATCH", {"name": "more hostile"}),
    "/v1/campaigns/{campaign}/audience": ("GET", None),
    "/v1/rules": (
        "POST",
        {
            "trigger": "quote_sent",
            "channel": "email",
            "audience": "lead",
            "steps": [{"template": {"subject": "Hi", "body": EXPENSIVE}}],
        },
    ),
    "/v1/events/explain": (
        "POST",
        {"trigger": "hostile_rule", "lead": {"email": "ada@example.com"}, "variables": {"contact": {"name": "Ada"}}},
    ),
    "/v1/workflows/{hostile}/triggers": (
        "POST",
        {"data": {"email": "ada@example.com", "name": "Ada", "contact": {"name": "Ada"}}},
    ),
}


async def made(admin: Person) -> Mapping[str, str]:  # noqa: F811
    """Make one of each to attack; some of them hold an expensive template already."""
    rule = {**ATTACKS["/v1/rules"][1], "trigger": "hostile_rule"}
    bodies: Mapping[str, tuple[str, Any]] = {
        "workflow": ("/v1/workflows", {"name": "mine", **WELCOME}),
        "hostile": ("/v1/workflows", {"name": "hostile stored", **workflow_of(EXPENSIVE)}),
        "sequence": ("/v1/sequences", {"name": "mine", "steps": [STEP]}),
        "campaign": ("/v1/campaigns", {**ATTACKS["/v1/campaigns"][1], "name": "mine"}),
        "rule": ("/v1/rules", rule),
    }
    answers = {name: await admin.post(path, json=body) for name, (path, body) in bodies.items()}
    assert {name: one.text for name, one in answers.items() if one.status_code != 201} == {}
    return {name: one.json()["id"] for name, one in answers.items()}


async def test_no_expensive_template_is_parsed_by_the_process_that_answers(
    engine: Engine,
    admin: Person,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = await made(admin)
    engine.kernel.template_facts.clear()
    honest = template._parsed

    def refuse(source: str, html: bool) -> Any:
        if source == EXPENSIVE:
            fail(source)
        return honest(source, html)

    def fail(source: str) -> NoReturn:
        raise AssertionError(f"a template of {len(source)} characters is parsed here")

    monkeypatch.setattr(template, "_parsed", refuse)
    failed = {}
    for path, (method, body) in ATTACKS.items():
        answer = await admin.ask(method, path.format(**ids), json=body)
        engine.kernel.template_facts.clear()
        if answer.status_code not in {200, 201}:
            failed[path] = (answer.status_code, answer.text[:300])

    assert [*failed.items()] == []


async def test_health_is_answered_while_an_expensive_definition_is_checked(
    engine: Engine,
    admin: Person,  # noqa: F811
    http: httpx2.AsyncClient,  # noqa: F811
) -> None:
    heavy = "{% liquid\n" + "echo contact.name\n" * 10_000 + "%}"
    attacks = [asyncio.create_task(admin.post("/v1/workflows/validate", json=workflow_of(heavy))) for _ in range(6)]
    await until(lambda: engine.kernel.renderer.child_pid is not None or attacks[0].done())
    child = engine.kernel.renderer.child_pid
    assert child is not None, "it was checked in this process"

    os.kill(child, signal.SIGSTOP)  # as slow as can be
    for _ in range(3):
        assert (await http.get("/v1/health")).status_code == 200

    assert not any(one.done() for one in attacks)
    os.kill(child, signal.SIGCONT)
    assert {(await one).status_code for one in attacks} == {200}


async def test_a_template_that_takes_too_much_to_check_is_refused_and_forgotten(engine: Engine, admin: Person) -> None:  # noqa: F811
    impatient = Renderer(cpu_seconds=0.005)
    object.__setattr__(engine.kernel, "renderer", impatient)

    answer = await admin.post("/v1/workflows/validate", json=workflow_of(EXPENSIVE))

    [problem] = answer.json()["errors"]
    assert problem["place"] == "nodes[0].body"
    assert "cannot be checked: it exceeds the limit of 0.005 s of CPU time; make it simpler" in problem["message"]
    assert EXPENSIVE not in engine.kernel.template_facts
    assert (await admin.post("/v1/workflows/validate", json=WELCOME)).json()["valid"]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.001)


async def test_a_megabyte_of_nested_templates_is_refused_at_a_glance(engine: Engine, admin: Person) -> None:  # noqa: F811
    bodies = [f"{number}{NESTED * 80}" for number in range(15)]

    answer = await admin.post("/v1/workflows/validate", json=workflow_of(*bodies))
    created = await admin.post("/v1/workflows", json={"name": "hostile", **workflow_of(*bodies)})

    assert answer.json()["valid"] is False
    assert f"{MOST_MARKUP_CHARS:,} characters inside of their tags" in answer.json()["errors"][0]["message"]
    assert created.status_code == 422
    assert engine.kernel.renderer.child_pid is None


async def test_an_ordinary_definition_needs_no_other_process(engine: Engine, admin: Person) -> None:  # noqa: F811
    page = "<p>Hello {{ contact.name }}, {% if plan %}you have {{ plan }}{% endif %}</p>" * 30
    assert len(page) < CHEAP_MARKUP_CHARS

    answer = await admin.post("/v1/workflows/validate", json=workflow_of(page, page))

    assert (answer.json()["valid"], answer.json()["errors"]) == (True, [])
    assert engine.kernel.renderer.child_pid is None


HOSTILE_BODIES: Mapping[str, tuple[str, bytes]] = {
    "brackets": ("/v1/workflows/validate", b'{"nodes":[' + b",".join([b"[" * 60 + b"]" * 60] * 8_000) + b"]}"),
    "too many nodes": (
        "/v1/workflows/validate",
        msgspec.json.encode({"nodes": [{"id": f"n{number}", "type": "branch"} for number in range(20_000)]}),
    ),
    "too many edges": (
        "/v1/workflows/validate",
        msgspec.json.encode(
            {**WELCOME, "edges": [{"from": f"n{number}", "to": f"n{number + 1}"} for number in range(20_000)]}
        ),
    ),
    "unknown fields": (
        "/v1/workflows/validate",
        msgspec.json.encode({f"delayMs{number}": 1 for number in range(50_000)}),
    ),
    "wrong fields": ("/v1/rules", msgspec.json.encode({f"steps{number}": 1 for number in range(50_000)})),
}


@pytest.mark.parametrize("attack", HOSTILE_BODIES)
async def test_a_body_that_would_take_long_is_refused_soon(
    admin: Person,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    attack: str,
) -> None:
    compared = 0

    def count(*_: object, **__: object) -> list[str]:
        nonlocal compared
        compared += 1
        return []

    monkeypatch.setattr("tidings.domain.messages.get_close_matches", count)
    path, body = HOSTILE_BODIES[attack]
    answer = await admin.post(path, content=body)

    assert answer.status_code in {400, 422} or answer.json()["valid"] is False, answer.text[:500]
    assert len(answer.content) < 500_000
    assert compared <= 1_000, "what nobody is told is not worth comparing"


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        (
            "/v1/triggers/bulk",
            msgspec.json.encode(
                {"triggers": [{"workflow": "mine", "data": {"list": [[1], [2], ["x" * 400]]}} for _ in range(10_000)]}
            ),
            "application/json",
        ),
        (
            "/v1/contacts/bulk",
            msgspec.json.encode(
                {"contacts": [{"externalId": f"c{number}", "attributes": {"a": "x" * 80}} for number in range(10_000)]}
            ),
            "application/json",
        ),
        ("/v1/contacts/import", b'externalId,email\n"' + b"a\n" * 100_000, "text/csv"),
        ("/v1/contacts/import", b"externalId,email\n" + b"a,b\n" * 100_000, "text/csv"),
    ],
    ids=["triggers", "contacts", "a quote that is never closed", "many wrong lines"],
)
async def test_much_in_one_body_is_read_with_breaks(
    admin: Person,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: bytes,
    kind: str,
) -> None:
    await admin.post("/v1/workflows", json={"name": "mine", **WELCOME})
    breaks = 0

    async def rest(seconds: float) -> None:
        nonlocal breaks
        breaks += not seconds
        await honest(seconds)

    honest = asyncio.sleep
    monkeypatch.setattr("tidings.kernel.process.breaks.MOMENT_SECONDS", 0.0)
    monkeypatch.setattr("tidings.kernel.process.breaks.asyncio.sleep", rest)
    answer = await admin.post(path, content=body, headers={"content-type": kind})

    assert answer.status_code in {200, 422}, answer.text[:500]
    assert breaks > 1_000
