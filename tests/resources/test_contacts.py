"""Contacts as people keep them: upsert, races, lists, deleting, tenants apart, and files of any size and quality."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import Sql, row, with_lossy_database
from tests.resources.asking import audited
from tidings.domain.caller import Caller
from tidings.domain.errors import ContactsInvalid, InputInvalid, NotFound
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.engine import Engine
from tidings.resources.contacts import ContactFilter, Import
from tidings.views.contacts import ContactOutcome, Imported, RejectedLine

ADA = {"externalId": "ada", "name": "Ada", "email": "ada@example.com", "tags": ["vip", "new"]}


async def make(engine: Engine, caller: Caller, **given: Any) -> UUID:
    return (await engine.contacts.create(caller, {**ADA, **given}))[0].id


async def names(engine: Engine, caller: Caller, **where: Any) -> list[str | None]:
    return [one.name for one in (await engine.contacts.list(caller.workspace, ContactFilter(**where))).items]


async def tags_of(sql: Sql) -> list[str]:
    return [one["tag"] for one in await sql.fetch("select tag from contact_tags order by tag")]


async def pieces(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


async def import_csv(engine: Engine, caller: Caller, lines: Iterable[bytes], watcher: Import | None = None) -> Imported:
    return await engine.contacts.import_file(caller, ContactFile(FileFormat.CSV), pieces(lines), watcher)


# One contact


async def test_a_contact_is_made_shown_and_changed(engine: Engine, caller: Caller, clock: ManualClock) -> None:
    made, change = await engine.contacts.create(caller, {**ADA, "attributes": {"plan": "pro", "seats": 3}})
    clock.advance(hours=1)
    changed = await engine.contacts.update(
        caller, made.id, {"email": None, "phone": "+44 20 7183 8750", "attributes": {"plan": None, "n": 1}}
    )

    assert change is ContactOutcome.CREATED
    assert (made.name, made.email, made.tags, made.status) == ("Ada", "ada@example.com", ["vip", "new"], "active")
    assert (changed.email, changed.phone, changed.name) == (None, "+442071838750", "Ada")
    assert changed.attributes == {"seats": 3, "n": 1}
    assert changed.updated_at > changed.created_at == made.created_at
    assert await engine.contacts.get(caller.workspace, made.id) == changed
    assert await engine.contacts.find(caller.workspace, "ada") == changed


async def test_the_same_external_id_again_changes_the_same_contact(engine: Engine, caller: Caller) -> None:
    first, _ = await engine.contacts.create(caller, ADA)
    same, unchanged = await engine.contacts.create(caller, ADA)
    second, updated = await engine.contacts.create(caller, {"externalId": "ada", "company": "Engines"})

    assert (unchanged, updated) == (ContactOutcome.UNCHANGED, ContactOutcome.UPDATED)
    assert first == same
    assert (second.id, second.name, second.company) == (first.id, "Ada", "Engines")


async def test_without_an_external_id_the_id_is_one_and_finds_the_contact(engine: Engine, caller: Caller) -> None:
    made = [(await engine.contacts.create(caller, {"name": str(n)}))[0] for n in range(20)]
    again = await engine.contacts.upsert_many(
        caller, [{"externalId": one.external_id, "company": "Engines"} for one in made]
    )

    assert [one.external_id for one in made] == [str(one.id) for one in made]
    assert [(one.id, one.change) for one in again] == [(one.id, ContactOutcome.UPDATED) for one in made]
    assert await engine.contacts.find(caller.workspace, str(made[0].id)) != made[0]


async def test_the_external_id_never_changes(engine: Engine, caller: Caller) -> None:
    id = await make(engine, caller)

    with pytest.raises(ContactsInvalid, match="never changes"):
        await engine.contacts.update(caller, id, {"externalId": "eve"})

    assert (await engine.contacts.update(caller, id, {"externalId": "ada", "name": "A"})).name == "A"


async def test_what_is_wrong_is_told_and_nothing_is_stored(engine: Engine, caller: Caller) -> None:
    with pytest.raises(ContactsInvalid) as refused:
        await engine.contacts.upsert_many(caller, [ADA, {"externalId": "eve", "email": "eve"}, {"phone": "1"}, 7])

    assert [one.place for one in refused.value.problems] == ["contacts[1].email", "contacts[2].phone", "contacts[3]"]
    assert await names(engine, caller) == []


async def test_what_was_said_about_a_channel_has_its_time_and_can_be_taken_back(
    engine: Engine, caller: Caller, clock: ManualClock
) -> None:
    id = await make(engine, caller, consent={"email": "granted"}, suppressions={"sms": "bounced"})
    changed = await engine.contacts.update(
        caller, id, {"suppressions": {"sms": None, "email": {"reason": "unsubscribed", "source": "link"}}}
    )

    at = clock.time.isoformat()
    assert changed.consent == {"email": {"status": "granted", "at": at}}
    assert changed.suppressions == {"email": {"reason": "unsubscribed", "source": "link", "at": at}}


async def test_the_audit_log_has_every_change_and_nothing_about_the_person(engine: Engine, caller: Caller) -> None:
    id = await make(engine, caller)
    await make(engine, caller)
    await engine.contacts.update(caller, id, {"phone": "+442071838750"})
    await engine.contacts.update(caller, id, {"phone": "+442071838750"})
    await engine.contacts.delete(caller, id)

    lines = await audited(engine, caller, subject=id)

    assert sorted(one.event for one in lines) == ["created", "deleted", "updated"]
    assert {one.actor for one in lines} == {"ann"}
    assert "example.com" not in str(lines)
    assert "+44" not in str(lines)


# Many, and at once


async def test_many_are_told_apart_in_their_order_and_a_repeat_changes_nothing(engine: Engine, caller: Caller) -> None:
    await make(engine, caller)
    given = [{"externalId": "ada", "name": "A"}, {"externalId": "b"}, {"name": "c"}, {"externalId": "b", "name": "B"}]

    first = await engine.contacts.upsert_many(caller, given)
    again = await engine.contacts.upsert_many(caller, given[:2])

    assert [one.change for one in first] == [ContactOutcome.UPDATED, *[ContactOutcome.CREATED] * 3]
    assert first[1].id == first[3].id
    assert [one.change for one in again] == [ContactOutcome.UNCHANGED, ContactOutcome.UNCHANGED]
    assert (await engine.contacts.find(caller.workspace, "b")).name == "B"


async def test_whoever_comes_at_once_there_is_one_contact_and_no_change_is_lost(
    engine: Engine, caller: Caller, sql: Sql
) -> None:
    everybody = [f"x{n}" for n in range(40)]

    async def one_caller(number: int) -> None:
        shuffled = random.Random(number).sample(everybody, len(everybody))
        await engine.contacts.upsert_many(
            caller,
            [{"externalId": one, "attributes": {f"a{number}": number}, "tags": [f"t{number}"]} for one in shuffled],
        )

    await asyncio.gather(*(one_caller(number) for number in range(8)))

    stored = (await engine.contacts.list(caller.workspace)).items
    assert sorted(str(one.external_id) for one in stored) == sorted(everybody)
    assert {len(one.attributes) for one in stored} == {8}
    indexed = await sql.fetch("select c.tags, t.tag from contact_tags t join contacts c on c.id = t.contact_id")
    assert len(indexed) == len(everybody)
    assert all(one["tags"] == [one["tag"]] for one in indexed)


@pytest.mark.parametrize("lost", range(1, 4))
async def test_an_unknown_commit_is_told_as_what_it_did(engine: Engine, caller: Caller, sql: Sql, lost: int) -> None:
    lossy = with_lossy_database(engine, lose=lambda count: count == lost)

    _, change = await lossy.contacts.create(caller, ADA)

    assert change is ContactOutcome.CREATED
    assert await names(engine, caller) == ["Ada"]
    assert [one.event for one in await audited(engine, caller)] == ["created"]
    assert await tags_of(sql) == ["new", "vip"]


# Tenants


async def test_what_is_anothers_is_not_found_and_not_touched(engine: Engine, caller: Caller, stranger: Caller) -> None:
    id = await make(engine, caller)

    for attempt in (
        engine.contacts.get(stranger.workspace, id),
        engine.contacts.update(stranger, id, {"name": "Eve"}),
        engine.contacts.delete(stranger, id),
        engine.contacts.find(stranger.workspace, "ada"),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert await names(engine, stranger) == await names(engine, stranger, tag="vip") == []
    theirs, change = await engine.contacts.create(stranger, {**ADA, "name": "Theirs"})
    assert (theirs.id != id, change) == (True, ContactOutcome.CREATED)
    assert await names(engine, caller) == ["Ada"]


# Lists


async def test_contacts_are_listed_newest_first_by_whatever_is_asked_for(
    engine: Engine, caller: Caller, clock: ManualClock
) -> None:
    for name, company, status, tags in (
        ("Ann", "Acme", "lead", ["vip"]),
        ("Bob", "Acme", "customer", ["vip", "new"]),
        ("Cid", "Zeta", "lead", ["new"]),
    ):
        clock.advance(seconds=1)
        await make(engine, caller, externalId=name, name=name, company=company, status=status, tags=tags, email=None)

    assert await names(engine, caller) == ["Cid", "Bob", "Ann"]
    assert await names(engine, caller, company="Acme") == ["Bob", "Ann"]
    assert await names(engine, caller, company="Acme", status="lead") == ["Ann"]
    assert await names(engine, caller, status="lead") == ["Cid", "Ann"]
    assert await names(engine, caller, tag="vip") == ["Bob", "Ann"]
    assert await names(engine, caller, tag="vip", company="Acme", status="customer") == ["Bob"]
    assert await names(engine, caller, tag="vip", text="AN") == ["Ann"]
    assert await names(engine, caller, text="acme") == ["Bob", "Ann"]
    assert await names(engine, caller, text="%") == []
    assert await names(engine, caller, external_id="Bob") == await names(engine, caller, external_id="Bob", tag="new")
    assert await names(engine, caller, external_id="Bob", company="Zeta") == []
    assert await names(engine, caller, tag="none") == await names(engine, caller, external_id="none") == []


@pytest.mark.parametrize("where", [{}, {"status": "active"}, {"company": "Acme"}, {"tag": "all"}])
async def test_pages_hold_everybody_once(where: dict[str, Any], engine: Engine, caller: Caller) -> None:
    await engine.contacts.upsert_many(
        caller, [{"externalId": str(n), "company": "Acme", "tags": ["all"]} for n in range(25)]
    )

    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await engine.contacts.list(caller.workspace, ContactFilter(**where), limit=10, cursor=cursor)
        seen += [one.external_id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert sorted(seen, key=int) == [str(n) for n in range(25)]


async def test_a_tag_that_was_taken_away_finds_nobody(engine: Engine, caller: Caller, sql: Sql) -> None:
    id = await make(engine, caller)

    await engine.contacts.update(caller, id, {"tags": ["new", "late"]})

    assert await tags_of(sql) == ["late", "new"]
    assert await names(engine, caller, tag="vip") == []
    assert await names(engine, caller, tag="late") == ["Ada"]


# Deleting


async def test_deleting_erases_the_person_and_keeps_the_row(engine: Engine, caller: Caller, sql: Sql) -> None:
    id = await make(
        engine, caller, phone="+442071838750", company="Acme", attributes={"a": 1}, consent={"email": "granted"}
    )

    await engine.contacts.delete(caller, id)

    left = await sql.fetchrow("select * from contacts")
    assert left is not None
    assert {name for name, value in left.items() if value not in (None, [], "{}")} == {
        *("shard", "id", "tenant_id", "workspace_id", "status", "created_at", "updated_at", "deleted_at")
    }
    assert left["status"] == "deleted"
    assert await tags_of(sql) == []
    assert await names(engine, caller) == await names(engine, caller, status="deleted") == []
    with pytest.raises(NotFound):
        await engine.contacts.delete(caller, id)


async def test_a_deleted_external_id_can_be_used_for_somebody_new(engine: Engine, caller: Caller, sql: Sql) -> None:
    first = await make(engine, caller)
    await engine.contacts.delete(caller, first)

    second, change = await engine.contacts.create(caller, ADA)

    assert (change, second.id != first) == (ContactOutcome.CREATED, True)
    assert await sql.fetchval("select count(*) from contacts") == 2


async def test_a_lost_answer_to_a_delete_is_still_a_delete(engine: Engine, caller: Caller) -> None:
    id = await make(engine, caller)

    await with_lossy_database(engine, lose=lambda count: count == 1).contacts.delete(caller, id)

    with pytest.raises(NotFound):
        await engine.contacts.get(caller.workspace, id)


async def test_an_unknown_contact_is_not_found(engine: Engine, caller: Caller) -> None:
    with pytest.raises(NotFound):
        await engine.contacts.get(caller.workspace, uuid4())


# What the database itself refuses


async def test_a_contact_cannot_hide_in_a_bucket_that_is_not_its_external_id_s(
    engine: Engine, caller: Caller, sql: Sql
) -> None:
    id = await make(engine, caller)

    assert await row(sql, "select bucket_of_id(id), contact_bucket('default', 'default', 'ada') from contacts") == (
        *(bucket_of_id(id), bucket_of_id(id)),
    )
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute("update contacts set external_id = 'eve'")


async def test_sql_and_python_agree_on_every_bucket(engine: Engine, caller: Caller) -> None:
    """The CHECK compares them for each row."""
    odd = ["ü", "a b", "0", "-", str(uuid4()), str(uuid4()).upper(), "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f", "x" * 200]

    stored = await engine.contacts.upsert_many(caller, [{"externalId": one} for one in odd])

    assert [one.change for one in stored] == [ContactOutcome.CREATED] * len(odd)


# Files


async def test_a_file_is_stored_and_again_it_changes_nothing(engine: Engine, caller: Caller, sql: Sql) -> None:
    lines = [b"externalId,email,tags,Plan\n", *(b"%d,p%d@example.com,vip,pro\n" % (n, n) for n in range(2_500))]

    first = await import_csv(engine, caller, lines)
    again = await import_csv(engine, caller, lines)

    assert first.counts() == {
        "lines": 2_500, "created": 2_500, "updated": 0, "unchanged": 0, "repeated": 0, "rejected": 0
    }  # fmt: skip
    assert (again.created, again.updated, again.unchanged) == (0, 0, 2_500)
    assert await sql.fetchval('select count(*) from contacts where attributes = \'{"plan": "pro"}\'') == 2_500
    assert await sql.fetchval("select count(*) from contact_tags") == 2_500
    assert len(await audited(engine, caller, "imported")) == 2


async def test_a_line_without_an_external_id_is_known_by_its_address(engine: Engine, caller: Caller) -> None:
    lines = [b"email,phone,name\n", b"ADA@example.com,,Ada\n", b",+44 20 7183 8750,Bob\n", b",,Nobody\n"]

    report = await import_csv(engine, caller, lines)
    again = await import_csv(engine, caller, lines)

    assert (report.created, again.unchanged, again.created) == (2, 2, 0)
    assert [one.line for one in report.rejected_lines] == [4]
    assert (await engine.contacts.find(caller.workspace, "ada@example.com")).name == "Ada"
    assert (await engine.contacts.find(caller.workspace, "+442071838750")).name == "Bob"


async def test_the_good_lines_are_kept_and_every_other_is_told_with_its_reason(engine: Engine, caller: Caller) -> None:
    lines = [
        *(b"externalId,email,phone\n", b"1,one@example.com,\n", b"2,two,\n", b"3,,12\n", b"4,\xff@example.com,\n"),
        *(b"5,five@example.com,+442071838750\n", b"1,uno@example.com,\n"),
    ]

    report = await import_csv(engine, caller, lines)

    assert report.counts() == {
        "lines": 6, "created": 2, "updated": 0, "unchanged": 0, "repeated": 1, "rejected": 3
    }  # fmt: skip
    assert [(one.line, one.problems[0].place) for one in report.rejected_lines] == [
        (3, "email"),
        (4, "phone"),
        (5, "line"),
    ]
    assert report.rejected_by_field == {"email": 1, "phone": 1, "line": 1}
    assert (await engine.contacts.find(caller.workspace, "1")).email == "uno@example.com"


async def test_any_number_of_bad_lines_is_counted_and_the_report_stays_small(engine: Engine, caller: Caller) -> None:
    bad = b"x,not an address\n" * 2_000
    heard: list[RejectedLine] = []
    told = 0

    def hear(rejected: RejectedLine) -> None:
        nonlocal told
        told += 1
        if rejected.line % 20_000 == 0:
            heard.append(rejected)

    report = await import_csv(
        engine,
        caller,
        [b"externalId,email\n", b"1,one@example.com\n", *([bad] * 30), b"2,two@example.com\n"],
        Import(on_rejected=hear),
    )

    assert (report.created, report.rejected, told) == (2, 60_000, 60_000)
    assert len(report.rejected_lines) == 1_000
    assert report.rejected_by_field == {"email": 60_000}
    assert len(heard) == 3


async def test_json_lines_bring_whatever_a_contact_has(engine: Engine, caller: Caller) -> None:
    file = ContactFile(FileFormat.NDJSON)
    content = [
        b'{"externalId": "1", "attributes": {"a": {"b": [1]}}, "suppressions": {"email": "bounced"}}\n',
        b'{"externalId": "2", "nickname": "x"}\n',
    ]

    report = await engine.contacts.import_file(caller, file, pieces(content))

    found = await engine.contacts.find(caller.workspace, "1")
    assert (found.attributes, found.suppressions) == ({"a": {"b": [1]}}, {"email": {"reason": "bounced"}})
    assert [one.problems[0].place for one in report.rejected_lines] == ["nickname"]
    assert report.rejected_by_field == {"line": 1}


async def test_an_import_does_not_undo_what_it_does_not_mention(engine: Engine, caller: Caller) -> None:
    id = await make(engine, caller, suppressions={"email": "unsubscribed"}, attributes={"plan": "pro"})

    await import_csv(engine, caller, [b"externalId,name,email,phone\n", b"ada,Ada L,,\n"])

    after = await engine.contacts.get(caller.workspace, id)
    assert (after.name, after.email, after.attributes) == ("Ada L", "ada@example.com", {"plan": "pro"})
    assert after.suppressions.keys() == {"email"}


async def test_a_file_that_breaks_off_keeps_what_was_stored_and_can_be_sent_again(
    engine: Engine, caller: Caller
) -> None:
    lines = [b"externalId\n", *(b"%d\n" % n for n in range(5_000))]

    async def broken() -> AsyncIterator[bytes]:
        for line in lines[:4_500]:
            yield line
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await engine.contacts.import_file(caller, ContactFile(FileFormat.CSV), broken())
    report = await import_csv(engine, caller, lines)

    assert report.created < 5_000
    assert report.created + report.unchanged == 5_000


async def test_a_file_that_is_no_file_of_contacts_is_refused(engine: Engine, caller: Caller) -> None:
    with pytest.raises(InputInvalid, match="empty"):
        await import_csv(engine, caller, [])


async def test_two_imports_of_the_same_file_at_once_make_everybody_once(
    engine: Engine, caller: Caller, sql: Sql
) -> None:
    lines = [b"externalId,tags\n", *(b"%d,a;b\n" % n for n in range(3_000))]

    reports = await asyncio.gather(*(import_csv(engine, caller, lines) for _ in range(3)))

    assert sum(one.created for one in reports) == 3_000
    assert await sql.fetchval("select count(*) from contacts") == 3_000


async def test_a_workspace_may_be_of_any_name(engine: Engine) -> None:
    odd = Caller(Workspace("ü'; --", "a b"), "ann")

    assert (await engine.contacts.create(odd, ADA))[1] is ContactOutcome.CREATED
