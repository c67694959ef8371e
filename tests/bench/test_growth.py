"""A history is one only if its rows are those that the kernel leaves; and the aims and the curve say what was seen."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench import history
from bench.copies import Copies, copy_rows
from bench.database import Fresh
from bench.growth_aims import AFTER_CHECKPOINT, AIMS, MID_CYCLE, all_passed, judge
from bench.growth_plot import draw, ticks
from bench.report import Result
from tests.databases import TEMPLATE

HOUR = 3_600_000
MOVED = {"uuid", "timestamp with time zone"}
SHARED = {"workflow_id", "version_id"}
KEYS = {
    *(("executions", name) for name in ("idempotency_key", "key_hash", "workspace_key_hash")),
    *(("outbox", "idempotency_key"), ("contacts", "external_id")),
}
LONGER = {("contacts", "external_id")}
"""What a copy has an id for, and its model a name."""
COLUMNS = """
select attname::text as name, format_type(atttypid, null) as type from pg_attribute
 where attrelid = $1::text::regclass and attnum > 0 and not attisdropped
"""


@pytest.fixture
async def fresh(server: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fresh]:
    monkeypatch.setattr(history, "MODELS", 40)
    async with Fresh(server, template=TEMPLATE, allow_unsafe=True) as fresh:
        yield fresh


@pytest.mark.parametrize("table", history.TABLES)
async def test_a_copy_has_in_every_column_what_the_kernel_wrote(fresh: Fresh, table: str) -> None:
    await history.send_models(fresh)
    columns = {row["name"]: row["type"] for row in await fresh.sql.fetch(COLUMNS, table)}
    await fresh.sql.execute(f"create table public.model as table {table}")

    await copy_rows(fresh.sql, table, Copies(-1, -1, HOUR), of="public.model")

    pair = f"public.model m join {table} c on c.id = pg_temp.later(m.id, -{HOUR})"
    count = await fresh.sql.fetchval(f"select count(*) from {pair}")
    assert count == await fresh.sql.fetchval("select count(*) from public.model") > 0
    for name, kind in columns.items():
        moved = (kind in MOVED and name not in SHARED) or (table, name) in KEYS
        same = await fresh.sql.fetchval(f"select count(*) from {pair} where m.{name} is not distinct from c.{name}")
        nulls = await fresh.sql.fetchval(f"select count(*) from {pair} where m.{name} is null and c.{name} is null")
        wide = await fresh.sql.fetchval(
            f"select count(*) from {pair} where pg_column_size(m.{name}) is distinct from pg_column_size(c.{name})"
        )
        assert same == (nulls if moved else count), name
        assert wide == 0 or (table, name) in LONGER, name


async def test_a_history_is_of_whole_messages_each_older_than_the_next(fresh: Fresh) -> None:
    told: list[int] = []

    await history.make_history(fresh, 100, told.append)

    counts = await fresh.sql.fetchrow(
        "select (select count(*) from executions where status = 'completed'), (select count(*) from outbox o"
        " join executions e on e.shard = o.shard and e.id = o.execution_id where o.status = 'sent'),"
        " (select count(*) from contacts c where exists (select 1 from outbox o where o.contact_id = c.id)),"
        " (select count(*) from queue)"
    )
    assert counts is not None
    assert tuple(counts) == (120, 120, 12, 0)
    assert told[-1] == 120
    assert await fresh.sql.fetchval("select max(created_at) < now() from executions")


def seen(millions: float, kind: str, when: str, postgres_us: float, wal_bytes: float) -> Result:
    about = {"millions": millions, "kind": kind, "when": when}
    return Result("growth", kind, postgres_us=postgres_us, wal_bytes=wal_bytes, seen=about)


FLAT = [
    seen(millions, kind, when, 100 if when == MID_CYCLE else 200 + millions, 2_000)
    for millions in (0, 3, 10, 30)
    for kind in ("trigger", "item")
    for when in (AFTER_CHECKPOINT, MID_CYCLE)
]


def test_every_aim_is_judged_in_the_middle_of_a_cycle_and_up_to_ten_million() -> None:
    dear = [replace(one, wal_bytes=9_000.0) if one.seen["millions"] == 30 else one for one in FLAT]

    verdicts = list(judge(dear))

    assert [one.seen["times"] for one in verdicts] == [1] * len(AIMS)
    assert all_passed(verdicts)


@pytest.mark.parametrize(("kind", "most"), [("item", 110), ("trigger", 125)])
def test_one_figure_above_its_aim_fails_the_gate(kind: str, most: float) -> None:
    def grown(figure: float) -> list[Result]:
        return [
            replace(one, postgres_us=figure) if (one.seen["kind"], one.seen["millions"]) == (kind, 10) else one
            for one in FLAT
        ]

    assert all_passed(list(judge(grown(most))))
    assert not all_passed(list(judge(grown(most + 1))))


def test_what_was_not_measured_does_not_pass() -> None:
    assert not all_passed([])
    assert not all_passed(list(judge([one for one in FLAT if one.seen["millions"]])))


def test_the_curve_has_a_line_for_each_kind_and_moment_in_each_panel() -> None:
    drawn = draw(FLAT)

    shapes = [re.sub(r"{.*}", "", one.tag) for one in ElementTree.fromstring(drawn).iter()]
    assert shapes.count("polyline") == 8
    assert shapes.count("circle") == 2 * len(FLAT)


@pytest.mark.parametrize("most", [0.4, 1, 3, 7, 10, 30, 118, 507, 7_797])
def test_ticks_are_few_and_reach_the_most(most: float) -> None:
    found = ticks(most)

    assert found[0] == 0
    assert found[-1] >= most
    assert 3 <= len(found) <= 9
