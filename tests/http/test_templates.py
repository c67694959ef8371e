"""/v1/templates and /v1/senders as a program uses them; the rules are tested below them."""

from tests.http.conftest import HOME, OTHER_WORKSPACE, Person, caller
from tidings.engine import Engine

FOOTER = {"name": "footer", "text": "by {{ company }}"}
SUPPORT = {"name": "support", "displayName": "Acme", "email": "support@example.com", "defaultFor": ["email"]}


async def test_a_template_from_its_creation_to_its_end(admin: Person) -> None:
    made = await admin.post("/v1/templates", FOOTER)
    id = made.json()["id"]
    again = await admin.post("/v1/templates", FOOTER)
    changed = await admin.ask("PUT", "/v1/templates/footer", json={"text": "of {{ company }}"})
    repeated = await admin.ask("PUT", f"/v1/templates/{id}", json=changed.json())
    shown = await admin.get(f"/v1/templates/{id}")
    by_name = await admin.get("/v1/templates/footer")
    versions = await admin.get("/v1/templates/footer/versions")
    preview = await admin.post("/v1/templates/footer/preview", {"data": {"company": "A&B"}, "version": 1})
    listed = await admin.get("/v1/templates", params={"kind": "partial"})
    gone = await admin.ask("DELETE", "/v1/templates/footer")
    absent = await admin.get("/v1/templates/footer")

    assert (made.status_code, made.headers["location"]) == (201, f"/v1/templates/{id}")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert (changed.json()["version"], repeated.json()["version"]) == (2, 2)
    assert shown.json() == by_name.json()
    assert (shown.json()["kind"], shown.json()["format"], shown.json()["users"]) == ("partial", "html", [])
    assert [one["number"] for one in versions.json()["data"]] == [2, 1]
    assert preview.json() == {"version": 1, "text": "by A&amp;B", "error": None}
    assert [one["name"] for one in listed.json()["data"]] == ["footer"]
    assert (gone.status_code, absent.status_code) == (204, 404)


async def test_a_workflow_says_which_versions_it_keeps_and_takes_it_back(admin: Person) -> None:
    await admin.post("/v1/templates", FOOTER)
    node = {"id": "a", "type": "email", "to": "a@example.com", "subject": "Hi", "html": "{% render 'footer' %}"}
    made = await admin.post("/v1/workflows", {"name": "hi", "entryNodeId": "a", "nodes": [node], "edges": []})
    await admin.ask("PUT", "/v1/templates/footer", json={"text": "x"})

    changed = await admin.ask("PUT", f"/v1/workflows/{made.json()['id']}", json=made.json())
    users = (await admin.get("/v1/templates/footer")).json()["users"]

    assert (made.json()["templates"], changed.json()["templates"]) == ({"footer": 1}, {"footer": 2})
    assert [(one["kind"], one["name"], one["version"]) for one in users] == [("workflow", "hi", 2)]


async def test_every_problem_of_a_template_is_told_with_its_place(admin: Person) -> None:
    refused = await admin.post("/v1/templates", {"name": "A B", "kind": "page", "text": ""})

    assert refused.status_code == 422
    assert [one["place"] for one in refused.json()["errors"]] == ["name", "kind", "text"]


async def test_a_sender_from_its_creation_to_its_end(admin: Person) -> None:
    made = await admin.post("/v1/senders", SUPPORT)
    id = made.json()["id"]
    changed = await admin.ask("PUT", "/v1/senders/support", json={"replyTo": "help@example.com"})
    shown = await admin.get(f"/v1/senders/{id}")
    listed = await admin.get("/v1/senders")
    refused = await admin.post("/v1/senders", {"name": "x", "email": "y", "sms": "+"})
    gone = await admin.ask("DELETE", "/v1/senders/support")

    assert (made.status_code, made.headers["location"]) == (201, f"/v1/senders/{id}")
    assert (changed.json()["replyTo"], changed.json()["defaultFor"]) == ("help@example.com", ["email"])
    assert shown.json() == changed.json()
    assert [one["name"] for one in listed.json()["data"]] == ["support"]
    assert [one["place"] for one in refused.json()["errors"]] == ["email", "sms"]
    assert gone.status_code == 204


async def test_odd_names_are_not_found(admin: Person, engine: Engine) -> None:
    await engine.templates.create(caller(OTHER_WORKSPACE), FOOTER)
    for path in ("footer", "a%00b", "%ED%A0%80", "nothing", "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f"):
        for kind in ("templates", "senders"):
            found = await admin.get(f"/v1/{kind}/{path}")
            assert found.status_code == 404, (kind, path, found.text)
    assert (await engine.templates.list(HOME)).items == []
