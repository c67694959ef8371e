"""Erasing by address: whole addresses in any spelling, what is the person's own goes, what is others' stays theirs."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.kernel.people import ANN, make, start_for, to_contact
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    crash_in_call,
    delay,
    deploy,
    email,
    frozen_in_call,
    graph,
    plan_runs,
    row,
    work,
)
from tests.resources.asking import audited
from tests.stored import stored_execution, stored_run
from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, FieldsInvalid
from tidings.domain.flow.execution import ExecutionStatus
from tidings.domain.flow.outcome import Accepted, Rejected
from tidings.domain.flow.provider import Keyed
from tidings.domain.people.sought import seek_address
from tidings.engine import Engine, Recipient
from tidings.kernel.people import erase_address as kernel_erasure
from tidings.providers.fake import FakeProvider
from tidings.resources import address_erasure
from tidings.resources.runs import RetryFilter
from tidings.storage import erase_address as storage
from tidings.views.contacts import ErasedAddress

EVE = "eve@example.com"


async def erase(engine: Engine, address: str = EVE, caller: Caller = ANN, **more: bool) -> ErasedAddress:
    """Erase in as many calls as it takes; gives the last answer."""
    cursor: str | None = None
    while True:
        done = await engine.contacts.erase_address(caller, address, cursor=cursor, **more)
        if done.next_cursor is None:
            return done
        cursor = done.next_cursor


FOUND = [
    ("ann@example.com", "Ann@Example.COM"),
    ("ann@example.com", "write to <ann@example.com>, please"),
    ("ann@example.com", "https://example.org/?to=ann%40example.com&x=1"),
    ("ann@example.com", "first line\nann@example.com"),
    ("ann@example.com", "'ann@example.com'."),
    ("mailto:Ann.Lee+news@example.com", "ann.lee+news@example.com"),
    ("ada@münchen.example", "ada@xn--mnchen-3ya.example"),
    ("ada@xn--mnchen-3ya.example", "Ada@MÜNCHEN.example"),
    ("+44 20 7183 8750", "call +442071838750 now"),
    ("+442071838750", "0044 (20) 7183-8750"),
    ("+442071838750", "+44 (0)20 7183 8750"),
    ("+442071838750", "5 442071838750"),
    ("token:abc_DEF-123456", "token:abc_DEF-123456"),
]
NOT_FOUND = [
    ("ann@example.com", "joann@example.com"),
    ("ann@example.com", "ann@example.com.au"),
    ("ann@example.com", "ann@example.community"),
    ("ann@example.com", "x.ann@example.com"),
    ("ann@example.com", "o'ann@example.com"),
    ("ann.lee@example.com", "annxlee@example.com"),
    ("+442071838750", "+4420718387501"),
    ("+442071838750", "1442071838750"),
    ("token:abc_DEF-123456", "token:abc_DEF-1234567"),
]


async def test_a_whole_address_is_found_in_any_spelling_and_in_data_as_in_words(sql: Sql) -> None:
    cases = [(*one, True) for one in FOUND] + [(*one, False) for one in NOT_FOUND]

    assert [case for case in cases if not await is_judged_well(sql, *case)] == []


async def is_judged_well(sql: Sql, address: str, text: str, is_found: bool) -> bool:
    """Whether an address is found as it should be, and nowhere after it was replaced."""
    sought = seek_address(address)
    how = (sought.needle, sought.filling, sought.pattern)
    given = {"text": text, "jsonb": json.dumps({"a": [{"b": text}]})}
    for kind, value in given.items():
        ask = f"select mentions($1::{kind}, $2, $3, $4), without_mentions($1::{kind}, $4)::text"
        found, without = await row(sql, ask, value, *how)
        [again] = await row(sql, f"select mentions($1::{kind}, $2, $3, $4)", without, *how)
        if (found, "(erased)" in without, again) != (is_found, is_found, False):
            return False
    return True


@pytest.mark.parametrize("address", ["", "ann", "ann@", "a b c d e f g h", "0207 18", "short", "x\x00yzabcdefghij"])
async def test_what_is_no_address_is_refused_before_anything_is_looked_at(engine: Engine, address: str) -> None:
    with pytest.raises(FieldsInvalid, match="address"):
        await erase(engine, address)
    with pytest.raises(FieldsInvalid, match="cursor"):
        await engine.contacts.erase_address(ANN, EVE, cursor="items.99.")


async def test_the_address_of_a_contact_is_refused_with_the_contact_and_nothing_is_erased(engine: Engine) -> None:
    ada = await make(engine)
    await engine.define("flow", graph(email("hello", to="{{ to }}")))
    id = (await engine.executions.trigger(ANN, "flow", {"to": "ada@example.com"}, "k1")).id

    for address in ("ADA@example.com", "+442071838750", "ada@example.com"):
        with pytest.raises(Conflict, match=str(ada)):
            await erase(engine, address)

    assert (await stored_execution(engine, id)).input == {"to": "ada@example.com"}


async def test_work_for_nobody_but_the_address_is_stopped_and_nothing_more_leaves(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await engine.define("flow", graph(email("a", to="{{ to }}"), delay("w", "P1D"), email("b", to="{{ to }}")))
    id = (await engine.executions.trigger(ANN, "flow", {"to": EVE, "name": "Eve Adams"}, "k1")).id
    await work(engine)

    done = await erase(engine)
    await work(engine)
    clock.advance(days=2)
    await work(engine)

    stored = await stored_execution(engine, id)
    assert (stored.status, stored.input, stored.vars) == (ExecutionStatus.CANCELLED, {}, {})
    assert await row(sql, "select recipient, payload, provider_message_id from outbox") == ("", "{}", None)
    assert (done.executions, done.open, len(provider.calls)) == (1, 0, 1)
    again = await erase(engine)
    assert (again.executions, again.items, again.mentions) == (0, 0, 0)
    assert len(await audited(engine, ANN, "address_erased")) == 2
    await assert_kept(engine)


async def test_what_a_worker_holds_is_erased_again_when_it_lets_go(
    engine: Engine, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes what the call returned over what was emptied."""
    call = {"id": "look", "type": "function", "function": "crm", "action": "look", "payload": {"at": "{{ to }}"}}
    await engine.define("flow", graph(call, email("hello", to="{{ to }}")))
    provider.answer = Accepted("1", {"about": EVE})
    id = (await engine.executions.trigger(ANN, "flow", {"to": EVE}, "k1")).id
    looks = 0

    async def look(tx: object, **given: object) -> Any:
        nonlocal looks
        looks += 1
        if looks == 2:
            answered.set()
        return await find_leased(tx, **given)

    find_leased: Any = storage.find_leased
    monkeypatch.setattr(storage, "find_leased", look)
    async with frozen_in_call(engine, provider) as answered:
        done = await erase(engine)
    await work(engine)

    assert (done.executions, done.open) == (1, 0)
    assert (await stored_execution(engine, id)).vars == {}
    left = await sql.fetchval("select count(*) from execution_log where mentions(saw, 'eve', '', 'eve@example')")
    assert (left, len(provider.calls)) == (0, 1)


async def test_what_is_held_longer_is_counted_as_open(
    engine: Engine, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_erasure, "LEASES_END_WITHIN_SECONDS", 0.2)
    await engine.define("flow", graph(email("hello", to="{{ to }}")))
    await engine.executions.trigger(ANN, "flow", {"to": EVE}, "k1")
    await crash_in_call(engine, provider)

    done = await engine.contacts.erase_address(ANN, EVE)

    assert (done.executions, done.open) == (1, 1)


async def test_what_is_somebody_else_s_stays_without_the_address_and_open_work_is_left_alone(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    ada = await make(engine, attributes={"manager": f"Eve <{EVE}>", "plan": "pro"})
    provider.script = {"ada@example.com": [Rejected(f"550 {EVE} has not been told")]}
    ended = await start_for(engine, ada, to_contact(body="{{ boss }}"), key="k1", boss=f"ask {EVE}", plan="pro")
    await work(engine)
    live = await start_for(engine, ada, delay("wait", "P1D"), to_contact(), key="k2", boss=EVE)
    await work(engine)
    await engine.executions.retry(ANN, ended)
    await work(engine)

    done = await erase(engine)

    assert (done.executions, done.items, done.open > 0, done.mentions > 0) == (0, 0, True, True)
    assert (await engine.contacts.get(ANN.workspace, ada)).attributes == {"manager": "Eve <(erased)>", "plan": "pro"}
    stored = await stored_execution(engine, ended)
    assert stored.input == {"boss": "ask (erased)", "plan": "pro"}
    assert (await stored_execution(engine, live)).input == {"boss": EVE}
    [error] = [one["error"] for one in await sql.fetch("select error from attempts")]
    assert error == "550 (erased) has not been told"
    payload = await sql.fetchval("select payload::text from outbox where execution_id = $1", ended)
    assert json.loads(payload)["body"] == "ask (erased)"
    assert EVE not in await sql.fetchval("select string_agg(detail::text, '') from audit_log")
    await assert_kept(engine)


async def test_people_on_a_list_that_is_not_planned_yet_are_skipped(engine: Engine, provider: FakeProvider) -> None:
    people = [Recipient("EVE@example.com", {"name": "Eve"}), Recipient("bob@example.com", {"boss": EVE})]
    run = await deploy(engine, recipients=people)

    await erase(engine)
    await work(engine)

    assert [call.recipient for call in provider.calls] == ["bob@example.com"]
    counts = (await stored_run(engine, run)).counts
    assert (counts.sent, counts.skipped) == (1, 1)
    await assert_kept(engine)


async def test_a_retry_sends_nothing_to_whom_was_erased(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.answer = Rejected("no")
    run = await deploy(engine, recipients=[Recipient(EVE), Recipient("bob@example.com")])
    for _ in range(3):
        await work(engine)
        clock.advance(minutes=1)
    await erase(engine)
    provider.answer = None

    again = await engine.runs.retry(ANN, run, RetryFilter())
    await plan_runs(engine)
    planned = await row(sql, "select status, error from outbox where run_id <> $1 and recipient = ''", run)
    for _ in range(3):
        await work(engine)
        clock.advance(minutes=1)

    assert planned == ("skipped", "the person was erased")
    assert [call.recipient for call in provider.calls[2:]] == ["bob@example.com"]
    assert again.run is not None
    counts = (await stored_run(engine, again.run.id)).counts
    assert (counts.sent, counts.skipped) == (1, 1)
    await assert_kept(engine)


async def test_what_was_erased_in_doubt_is_not_called_for_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    """Its provider would take the same key again, but there is nothing left to send."""
    provider.provider_class = Keyed(timedelta(hours=24))
    await deploy(engine, recipients=[Recipient(EVE)])
    await plan_runs(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=10)

    await erase(engine)
    for _ in range(3):
        await work(engine)
        clock.advance(hours=1)

    assert len(provider.calls) == 1
    assert await row(sql, "select status, in_doubt, recipient from outbox") == ("queued", True, "")


async def test_a_replay_sends_nothing_to_whom_was_erased(engine: Engine, provider: FakeProvider) -> None:
    provider.answer = Rejected("no")
    await engine.define("flow", graph(email("hello", to="{{ to }}")))
    id = (await engine.executions.trigger(ANN, "flow", {"to": EVE}, "k1")).id
    await work(engine)
    await erase(engine)
    provider.answer = None

    await engine.executions.retry(ANN, id)
    await work(engine)

    assert len(provider.calls) == 1
    await assert_kept(engine)


async def test_another_workspace_keeps_the_same_address(engine: Engine, stranger: Caller) -> None:
    await engine.define("flow", graph(delay("w", "P1D"), email("hello", to="{{ to }}")), stranger.workspace)
    id = (await engine.executions.trigger(stranger, "flow", {"to": EVE}, "k1")).id

    await erase(engine)

    assert (await stored_execution(engine, id)).input == {"to": EVE}
    assert [one.workspace for one in await audited(engine, stranger, "address_erased")] == ["default"]


async def test_many_pages_are_many_calls_and_a_call_that_is_lost_may_be_made_again(
    engine: Engine, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_erasure, "PAGE", 3)
    monkeypatch.setattr(address_erasure, "PAGES", 2)
    await engine.define("flow", graph(email("hello", to="{{ to }}")))
    for number in range(40):
        to = EVE if number % 4 == 0 else f"p{number}@example.com"
        await engine.executions.trigger(ANN, "flow", {"to": to}, f"k{number}")
    await work(engine)
    found, progress, cursor = 0, [0.0], None
    while True:
        done = await engine.contacts.erase_address(ANN, EVE, cursor=cursor)
        found += done.executions
        await engine.contacts.erase_address(ANN, EVE, cursor=cursor or "contacts.0.")
        progress.append(done.progress)
        if done.next_cursor is None:
            break
        cursor = done.next_cursor

    assert found == 10
    assert len(await audited(engine, ANN, "address_erased")) == 2 * (len(progress) - 1), (
        "no call goes without its entry"
    )
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    assert await sql.fetchval("select count(*) from outbox where recipient = ''") == 10
    assert await sql.fetchval("select count(*) from outbox where recipient <> ''") == 30
