"""/v1/contacts, as its users see it."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tests.http.conftest import Person, listening
from tests.http.test_requests import assert_problem
from tidings.client import Client, NotFound
from tidings.config import Config
from tidings.engine import Engine
from tidings.http import edge
from tidings.views.exports import ContactExport

ADA = {"externalId": "ada", "name": "Ada", "email": "ada@EXAMPLE.com", "timeZone": "europe/london", "tags": ["vip"]}


async def import_csv(admin: Person, content: Any, query: str = "", kind: str = "text/csv") -> Any:
    return await admin.ask("POST", f"/v1/contacts/import{query}", content=content, headers={"Content-Type": kind})


async def test_a_contact_is_made_shown_changed_and_deleted(admin: Person) -> None:
    made = await admin.post("/v1/contacts", ADA)
    path = made.headers["location"]
    changed = await admin.ask("PATCH", path, json={"phone": "+44 20 7183 8750", "tags": [], "attributes": {"n": 1}})
    shown = await admin.get(path)
    deleted = await admin.ask("DELETE", path)
    gone = await admin.get(path)

    assert made.status_code == 201
    assert made.json()["email"] == "ada@example.com"
    assert made.json()["timeZone"] == "Europe/London"
    assert (changed.json()["phone"], changed.json()["tags"], changed.json()["name"]) == ("+442071838750", [], "Ada")
    assert shown.json() == changed.json()
    assert deleted.status_code == 204
    assert_problem(gone, 404, "not_found")


async def test_the_same_external_id_again_is_a_200(admin: Person) -> None:
    first = await admin.post("/v1/contacts", ADA)
    again = await admin.post("/v1/contacts", {"external_id": "ada", "company": "Engines"})

    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert (again.json()["name"], again.json()["company"]) == ("Ada", "Engines")


async def test_what_was_read_can_be_written_back(admin: Person) -> None:
    made = await admin.post("/v1/contacts", ADA)

    again = await admin.ask("PATCH", made.headers["location"], json=made.json())

    assert again.json() == made.json()


async def test_every_problem_is_told_with_its_place(admin: Person) -> None:
    one = assert_problem(
        await admin.post("/v1/contacts", {"email": "ada", "phone": "020", "nick": 1, "timeZone": "Mars"}),
        422,
        "contacts_invalid",
    )
    many = assert_problem(
        await admin.post("/v1/contacts/bulk", {"contacts": [{}, {"tags": [""]}, 3]}), 422, "contacts_invalid"
    )

    assert [each["place"] for each in one["errors"]] == ["email", "phone", "nick", "timeZone"]
    assert [each["place"] for each in many["errors"]] == ["contacts[1].tags[0]", "contacts[2]"]
    assert (await admin.get("/v1/contacts")).json()["data"] == []


@pytest.mark.parametrize("body", [{}, {"contacts": []}, {"contacts": {}}, {"contacts": [{}], "more": 1}])
async def test_a_bulk_without_contacts_is_refused(body: Any, admin: Person) -> None:
    assert_problem(await admin.post("/v1/contacts/bulk", body), 422, "input_invalid")


async def test_a_dry_run_of_an_import_says_what_would_happen_and_stores_nothing(admin: Person) -> None:
    await admin.post("/v1/contacts", ADA)
    await admin.post("/v1/contacts", {"externalId": "same", "name": "Same"})
    before = (await admin.get("/v1/contacts")).json()["data"]
    file = (
        b"externalId,name,email\nada,Ada Lovelace,\nsame,Same,\nnew,New,new@example.com\nnew,Newer,\nbad,Bad,broken\n"
    )

    planned = (await import_csv(admin, file, "?dryRun=true")).json()
    after = (await admin.get("/v1/contacts")).json()["data"]
    stored = (await import_csv(admin, file)).json()

    assert (planned["created"], planned["updated"], planned["unchanged"], planned["repeated"]) == (1, 1, 1, 1)
    assert [one["line"] for one in planned["rejectedLines"]] == [6]
    assert after == before
    assert (planned.pop("dryRun"), stored.pop("dryRun")) == (True, False)
    assert planned == stored
    events = [one["event"] for one in (await admin.get("/v1/audit-log")).json()["data"]]
    assert events.count("imported") == 1


async def test_a_dry_run_lifts_no_suppression(admin: Person) -> None:
    await admin.post("/v1/contacts", {**ADA, "suppressions": {"email": "unsubscribed"}})
    await admin.ask("DELETE", "/v1/contacts/ada")
    line = b'{"externalId": "eve", "email": "ada@example.com", "suppressions": {"email": null}}\n'

    await import_csv(admin, line, "?dryRun=true", kind="application/x-ndjson")
    again = await admin.post("/v1/contacts", {"externalId": "ada", "email": "ada@example.com"})

    assert "email" in again.json()["suppressions"]


async def test_a_bulk_tells_what_became_of_each(admin: Person) -> None:
    await admin.post("/v1/contacts", ADA)

    answer = await admin.post("/v1/contacts/bulk", {"contacts": [ADA, {"externalId": "eve"}]})

    assert [(one["externalId"], one["change"]) for one in answer.json()["data"]] == [
        ("ada", "unchanged"),
        ("eve", "created"),
    ]


async def test_lists_are_filtered_and_paged(admin: Person) -> None:
    people = [{"externalId": str(n), "tags": ["odd"] if n % 2 else [], "company": f"c{n % 3}"} for n in range(9)]
    await admin.post("/v1/contacts/bulk", {"contacts": people})

    first = (await admin.get("/v1/contacts?tag=odd&limit=3")).json()
    second = (await admin.get(f"/v1/contacts?tag=odd&limit=3&cursor={first['nextCursor']}")).json()
    company = (await admin.get("/v1/contacts?company=c0")).json()["data"]
    known = (await admin.get("/v1/contacts?externalId=4")).json()["data"]

    assert sorted(one["externalId"] for one in first["data"] + second["data"]) == ["1", "3", "5", "7"]
    assert second["nextCursor"] is None
    assert sorted(one["externalId"] for one in company) == ["0", "3", "6"]
    assert [one["externalId"] for one in known] == ["4"]


async def test_a_file_is_imported_with_a_mapping_and_a_report(admin: Person) -> None:
    content = b"Nr;Mail;Tarif\n1;ada@example.com;pro\n2;broken;pro\n"

    answer = await import_csv(admin, content, "?map=Nr=externalId&map=Tarif=attributes.plan")

    assert answer.status_code == 200
    assert answer.json() == {
        "lines": 2,
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "repeated": 0,
        "rejected": 1,
        "rejectedByField": {"email": 1},
        "rejectedLines": [
            {
                "line": 3,
                "problems": [
                    {"place": "email", "message": "'broken' is not an e-mail address: write it like ada@example.com"}
                ],
            }
        ],
        "dryRun": False,
    }
    [stored] = (await admin.get("/v1/contacts")).json()["data"]
    assert (stored["externalId"], stored["attributes"]) == ("1", {"plan": "pro"})


async def test_json_lines_are_imported(admin: Person) -> None:
    answer = await import_csv(admin, b'{"externalId": "1"}\nnot json\n', kind="application/x-ndjson")

    assert (answer.json()["created"], answer.json()["rejected"]) == (1, 1)


@pytest.mark.parametrize(
    ("content", "query", "kind"),
    [
        (b"", "", "text/csv"),
        (b"externalId\n1\n", "?map=gone=email", "text/csv"),
        (b"externalId\n1\n", "?map=nonsense", "text/csv"),
        ("externalId\n1\n".encode("utf-16"), "", "text/csv"),
        (b"[]", "", "application/json"),
    ],
)
async def test_what_is_no_file_of_contacts_is_refused(content: bytes, query: str, kind: str, admin: Person) -> None:
    assert_problem(await import_csv(admin, content, query, kind), 422, "input_invalid")


async def test_a_large_file_takes_its_time_and_no_memory(
    admin: Person, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    """Bad lines and good ones, 20 MB of them, over a deadline that each piece begins anew."""
    monkeypatch.setattr(edge, "DEADLINE_SECONDS", 5.0)
    piece = (b"x," + b"y" * 990 + b"\n") * 200

    async def pieces() -> AsyncIterator[bytes]:
        yield b"externalId,email\n"
        for number in range(100):
            await asyncio.sleep(0.055)  # together more than the deadline
            yield piece
            yield b"%d,p%d@example.com\n" % (number, number)

    tracemalloc.start()
    answer = await import_csv(admin, pieces())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert answer.status_code == 200, answer.text
    assert (answer.json()["created"], answer.json()["rejected"]) == (100, 20_000)
    assert peak < 10_000_000


async def test_the_client_keeps_contacts(engine: Engine, config: Config, admin: Person) -> None:
    async with listening(engine, config) as url, Client(url, admin.secret) as client:
        made = await client.contacts.create(external_id="ada", email="ada@example.com", tags=["vip"])
        changed = await client.contacts.update(made.id, name="Ada", email=None)
        many = await client.contacts.upsert([{"externalId": "eve"}, {"externalId": "ada", "name": "A"}])
        listed = [one.external_id async for one in client.contacts.list(tag="vip")]
        found = await client.contacts.find("eve")
        report = await client.contacts.import_file(b"Nr,Mail\n7,x@example.com\n8,y\n", columns={"Nr": "externalId"})
        await client.contacts.delete(made.id)

        assert (made.email, changed.name, changed.email) == ("ada@example.com", "Ada", None)
        assert [one.change for one in many] == ["created", "updated"]
        assert listed == ["ada"]
        assert found is not None
        assert found.id == many[0].id
        assert (report.created, report.rejected, report.rejected_lines[0].line) == (1, 1, 3)
        assert await client.contacts.find("ada") is None


async def test_everything_about_a_person_is_one_document(admin: Person) -> None:
    made = (await admin.post("/v1/contacts", {"externalId": "a/b", "email": "ada@example.com"})).json()

    answer = await admin.get("/v1/contacts/a%2Fb/export")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["content-disposition"] == 'attachment; filename="contact.json"'
    found = answer.json()
    assert (found["contact"]["id"], [one["event"] for one in found["auditLog"]]) == (made["id"], ["created"])
    assert_problem(await admin.get("/v1/contacts/nobody/export"), 404, "not_found")


async def test_an_address_is_erased_call_by_call_and_a_contact_s_is_refused(admin: Person) -> None:
    made = (await admin.post("/v1/contacts", ADA)).json()

    counted = await admin.post("/v1/contacts/erase", {"address": "eve@example.com", "dryRun": True})
    erased = await admin.post("/v1/contacts/erase", {"address": "eve@example.com"})
    refused = await admin.post("/v1/contacts/erase", {"address": "ADA@example.com"})
    odd = await admin.post("/v1/contacts/erase", {"address": "nobody"})

    assert (counted.status_code, counted.json()["dryRun"], counted.json()["nextCursor"]) == (200, True, None)
    assert (erased.status_code, erased.json()["progress"]) == (200, 1.0)
    assert made["id"] in assert_problem(refused, 409, "conflict")["detail"]
    assert_problem(odd, 422, "input_invalid")


async def test_the_client_exports_and_erases_over_the_wire(admin: Person, engine: Engine, config: Config) -> None:
    async with listening(engine, config) as url, Client(url, admin.secret) as client:
        ada = await client.contacts.create(external_id="ada", email="ada@example.com")
        document = b"".join([piece async for piece in client.contacts.export("ada")])
        calls = [one async for one in client.contacts.erase_address("eve@example.com", dry_run=True)]
        with pytest.raises(NotFound):
            _ = [piece async for piece in client.contacts.export("nobody")]

    assert msgspec.json.decode(document, type=ContactExport).contact.id == ada.id
    assert [one.next_cursor for one in calls] == [None]


async def test_a_list_takes_a_filter_as_json_or_as_an_expression(admin: Person) -> None:
    await admin.post("/v1/contacts", {**ADA, "attributes": {"seats": "12"}})
    await admin.post("/v1/contacts", {"externalId": "bob", "attributes": {"seats": 3}})

    async def listed(where: str) -> list[str]:
        answer = await admin.get("/v1/contacts", params={"where": where})
        return [one["externalId"] for one in answer.json()["data"]]

    assert await listed("seats > 9 and tag = VIP") == ["ada"]
    assert await listed('{"path": "attributes.seats", "op": "less", "value": 9}') == ["bob"]
    assert_problem(await admin.get("/v1/contacts", params={"where": "seats >"}), 422, "input_invalid")
    wrong = await admin.get("/v1/contacts", params={"where": '{"any": [{"op": "near"}]}'})
    assert_problem(wrong, 422, "contacts_invalid")
    assert [one["place"] for one in wrong.json()["errors"]] == ["where.any[0].path", "where.any[0].op"]


@pytest.mark.parametrize(
    "where",
    [
        '{"attributes":' + '{"a":' * 500 + "1" + "}" * 501,
        '{"attributes":{"a":1e999}}',
        '{"path":"attributes.a","op":"greater","value":1e999}',
        '{"path":"attributes.a","op":"in","value":["x",-1e999]}',
    ],
)
async def test_a_filter_that_nothing_can_be_compared_with_is_refused(admin: Person, where: str) -> None:
    refused = await admin.get(f"/v1/contacts?where={quote(where)}")

    assert refused.status_code == 422


async def test_a_filter_with_a_number_of_thousands_of_digits_finds_who_has_more(admin: Person) -> None:
    found = await admin.get(
        "/v1/contacts?where=" + quote(f'{{"path":"attributes.a","op":"less","value":{"9" * 4000}}}')
    )

    assert (found.status_code, found.json()["data"]) == (200, [])
