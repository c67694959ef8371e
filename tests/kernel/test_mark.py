"""Mark: nothing is called that a committed statement has not just marked (002, C1)."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    claim,
    crash_in_call,
    deploy,
    email,
    frozen_in_call,
    plan_runs,
    row,
    start,
    with_lossy_database,
    work,
    work_leases,
    work_once,
)
from tests.stored import TESTER
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.outcome import RetryLater
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.retry import GRAPH
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.load import load_execution_items
from tidings.storage.outbox import mark_items, settle_unmarked_items

SOURCE = Path(tidings.__file__).parent

HANDLERS = """
from tidings.domain.flow.item import Marked, Planned, Reserved
from tidings.domain.flow.provider import Provider

async def right(provider: Provider, item: Marked) -> None:
    await provider.send(item, lambda: True)

async def without_a_mark(provider: Provider, item: Reserved) -> None:
    await provider.send(item, lambda: True)

async def without_a_row(provider: Provider, item: Planned) -> None:
    await provider.send(item, lambda: True)

async def with_a_mark_of_its_own(provider: Provider, item: Reserved) -> None:
    await provider.send(Marked(item), lambda: True)
    await provider.send(Marked(id=item.id), lambda: True)
"""


def test_c1_a_handler_that_calls_a_provider_without_a_marked_row_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    root = SOURCE.parent.parent  # with its settings, or what the package itself is let off would count
    settings = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(root / ".mypy_cache")]

    command = [sys.executable, "-m", "mypy", "--strict", *settings, "handlers.py"]
    environment = {"MYPYPATH": str(SOURCE.parent), "PATH": ""}
    checked = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    wrong = [line for line in checked.stdout.splitlines() if "error:" in line]
    assert [line.split(":")[1] for line in wrong] == ["9", "12", "15", "16"], checked.stdout + checked.stderr
    assert all('expected "Marked"' in line for line in wrong[:2])
    assert all('"Marked"' in line for line in wrong[2:])


def test_c1_only_mark_makes_marked_items_and_only_deliver_sends_them() -> None:
    makers = {path for path, call in _calls() if isinstance(call.func, ast.Name) and call.func.id == "make_marked"}
    senders = {path for path, call in _calls() if ast.unparse(call.func).endswith("provider.send")}

    assert makers == {"kernel/flow/mark.py", "testing/marked.py"}  # the second for tests of providers
    assert senders == {"kernel/calls/call.py", "testing/conformance.py"}  # the second for tests of providers


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield path.relative_to(SOURCE).as_posix(), node


async def test_rule_4_a_mark_is_committed_before_the_call_and_names_its_attempt(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine)

    async with frozen_in_call(engine, provider):
        marked = await row(sql, "select status, marked_attempt, marked_fence, marked_at, in_doubt from outbox")

    assert marked == ("queued", 1, 1, clock.time, False)


async def test_rule_4_a_refusal_clears_the_mark_and_the_next_attempt_makes_its_own(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script["ada@example.com"] = [RetryLater("busy")]
    await start(engine)

    await work(engine)
    refused = await row(sql, "select marked_at, marked_attempt, attempts, in_doubt from outbox")
    clock.advance(minutes=1)
    await work(engine)

    assert refused == (None, 1, 1, False)
    assert await row(sql, "select status, marked_attempt, attempts from outbox") == ("sent", 2, 2)
    assert [call.attempt for call in provider.calls] == [1, 2]


async def test_rule_4_found_after_a_crash_without_a_mark_it_is_sent(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await deploy(engine, 2)
    await plan_runs(engine)
    await claim(engine)
    clock.advance(minutes=6)

    await work(engine)

    assert len(provider.calls) == 2
    assert await sql.fetchval("select count(*) from outbox where status = 'sent'") == 2


async def test_rule_4_found_after_a_crash_with_a_mark_it_is_in_doubt_and_not_called_again(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine)
    await crash_in_call(engine, provider)
    clock.advance(minutes=6)

    await work(engine)

    assert len(provider.calls) == 1
    assert await row(sql, "select status, in_doubt from outbox") == ("queued", True)
    assert await row(sql, "select attempt, outcome from attempts") == (1, "crashed")
    await assert_kept(engine)


async def test_rule_4_cancel_skips_only_what_is_not_marked(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine, email(to=["a@example.com", "b@example.com"]))
    provider.script["b@example.com"] = [RetryLater("busy")]
    await work(engine)
    await sql.execute("update outbox set status = 'queued', finalized_at = null where recipient = 'a@example.com'")

    await engine.executions.cancel(TESTER, id)  # for all the database knows, the call for a is in the air
    await work(other)

    found = await sql.fetch("select recipient, status, skipped, in_doubt from outbox order by recipient")
    assert [tuple(each) for each in found] == [
        ("a@example.com", "queued", False, True),
        ("b@example.com", "skipped", True, False),
    ]
    await assert_kept(engine)


async def test_rule_4_a_stop_between_claim_and_mark_keeps_the_call_from_starting(
    engine: Engine, provider: FakeProvider, sql: Sql
) -> None:
    id = await start(engine)
    leases = await claim(engine)

    await engine.executions.pause(TESTER, id)
    await work_leases(engine, leases)

    assert provider.calls == []
    assert await row(sql, "select status, marked_at from outbox") == ("queued", None)


async def test_rule_2_a_worker_that_lost_its_lease_marks_nothing(
    engine: Engine, other: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    await start(engine)
    engine.kernel.draining.set()
    await work_once(engine)  # reserved, not marked
    engine.kernel.draining.clear()
    leases = await claim(engine)
    clock.advance(minutes=6)
    await claim(other)

    await work_leases(engine, leases)

    assert provider.calls == []
    assert await row(sql, "select marked_attempt from outbox") == (0,)


async def test_rule_6_a_mark_freezes_the_payload_and_gives_the_frozen_one_back(
    engine: Engine, clock: ManualClock, provider: FakeProvider, db: Database
) -> None:
    provider.script["ada@example.com"] = [RetryLater("busy")]
    id = await start(engine)
    await work(engine)
    clock.advance(minutes=1)
    [lease] = await claim(engine)
    shard = engine.kernel.shard_of(id)

    async with db.autocommit() as tx:
        [loaded] = await load_execution_items(tx, shard=shard, ids=[id], nodes=["hello"])
        assert loaded.open is not None
        outgoing = Outgoing(loaded.open, lease.fence, {"body": "something else"}, GRAPH)
        marked = await mark_items(tx, shard=shard, outgoing=[outgoing], now=clock.time)

    assert list(marked.values()) == [provider.calls[0].payload]


async def test_rule_4_what_was_marked_meanwhile_cannot_be_skipped(
    engine: Engine, clock: ManualClock, provider: FakeProvider, db: Database, sql: Sql
) -> None:
    await start(engine)

    async with frozen_in_call(engine, provider), db.autocommit() as tx:
        item = provider.calls[0].id
        settled = await settle_unmarked_items(
            tx,
            shard=engine.kernel.shard_of(item),
            ids=[item],
            statuses=[ItemStatus.SKIPPED],
            errors=["cancelled"],
            now=clock.time,
        )

    assert settled == set()
    assert await row(sql, "select status from outbox") == ("queued",)


@pytest.mark.parametrize("when", ["after", "before"])
async def test_a_mark_whose_commit_is_unknown_leads_to_one_call(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, when: str
) -> None:
    await start(engine)
    engine.kernel.draining.set()
    await work_once(engine)  # reserved, not marked
    engine.kernel.draining.clear()
    leases = await claim(engine)
    lossy = with_lossy_database(engine, lose=lambda count: count in {2, 3, 4}, when=when)

    await work_leases(lossy, leases)

    assert len(provider.calls) == 1
    assert await row(sql, "select status, marked_attempt, attempts from outbox") == ("sent", 1, 1)
