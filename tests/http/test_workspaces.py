"""/v1/workspaces and /v1/tenants: what the operator sets for others."""

import httpx2
import pytest

from tests.http.conftest import HOME, OTHER_TENANT, OTHER_WORKSPACE, caller, person
from tidings.domain.roles import Role
from tidings.engine import Engine

PATH = f"/v1/workspaces/{OTHER_TENANT.tenant}/{OTHER_TENANT.name}"


async def test_an_operator_sets_what_another_tenant_sees_and_its_history_says_so(
    engine: Engine, http: httpx2.AsyncClient
) -> None:
    operator = await person(engine, http, Role.OPERATOR)

    changed = await operator.ask("PATCH", PATH, json={"weight": 7, "privateAddresses": ["10.1.2.3/16", "Fn.Internal"]})
    region = await operator.ask("PATCH", PATH, json={"phoneRegion": "de"})
    refused = await operator.ask("PATCH", PATH, json={"phoneRegion": "D1"})
    await operator.ask("PATCH", f"/v1/tenants/{OTHER_TENANT.tenant}", json={"weight": 9})
    kept = await operator.ask("PATCH", PATH, json={"weight": 8})
    history = await engine.access.audit(caller(OTHER_TENANT))

    assert (region.json()["phoneRegion"], refused.status_code) == ("DE", 422)
    assert changed.json()["privateAddresses"] == ["10.1.0.0/16", "fn.internal"]
    assert {key: kept.json()[key] for key in ("weight", "tenantWeight", "privateAddresses")} == {
        "weight": 8,
        "tenantWeight": 9,
        "privateAddresses": ["10.1.0.0/16", "fn.internal"],
    }
    lines = [(line.subject_kind, line.event, dict(line.detail)) for line in history.items]
    assert sorted(lines, key=str) == [
        ("tenant", "set", {"weight": 9}),
        ("workspace", "set", {"phoneRegion": "DE"}),
        ("workspace", "set", {"weight": 7, "privateAddresses": ["10.1.0.0/16", "fn.internal"]}),
        ("workspace", "set", {"weight": 8}),
    ]


async def test_an_administrator_sees_the_workspaces_of_the_tenant_and_an_operator_all(
    engine: Engine, http: httpx2.AsyncClient
) -> None:
    for home in (OTHER_WORKSPACE, OTHER_TENANT):
        await engine.workspaces.set(caller(home), home, weight=3)
    admin, operator = await person(engine, http, Role.SYSTEM_ADMIN), await person(engine, http, Role.OPERATOR)

    async def seen(by: object, query: str = "") -> set[tuple[str, str]]:
        listed = (await by.get(f"/v1/workspaces{query}")).json()["data"]  # type: ignore[attr-defined]
        return {(one["tenant"], one["workspace"]) for one in listed}

    every = {(one.tenant, one.name) for one in (HOME, OTHER_WORKSPACE, OTHER_TENANT)}
    own = {one for one in every if one[0] == HOME.tenant}
    assert await seen(admin) == own
    assert await seen(admin, f"?tenant={OTHER_TENANT.tenant}") == set()
    assert await seen(operator) == every
    assert await seen(operator, f"?tenant={OTHER_TENANT.tenant}") == every - own


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"weight": 0}, "weight"),
        ({"weight": 1001}, "weight"),
        ({"weight": 1.5}, "weight"),
        ({"privateAddresses": ["10.0.0.0/33"]}, "privateAddresses[0]"),
        ({"privateAddresses": ["10.0.0"]}, "privateAddresses[0]"),
        ({"privateAddresses": ["fn.internal", "http://x"]}, "privateAddresses[1]"),
        ({"privateAddresses": ["10.0.0.1"] * 101}, "privateAddresses"),
    ],
)
async def test_what_cannot_be_set_is_told_with_its_place(
    engine: Engine, http: httpx2.AsyncClient, body: dict[str, object], place: str
) -> None:
    operator = await person(engine, http, Role.OPERATOR)

    refused = await operator.ask("PATCH", PATH, json=body)

    assert refused.status_code == 422
    assert [one["place"] for one in refused.json()["errors"]] == [place]
