"""A migration under load: old workers go on, new ones join them, and nobody is left out or written to twice."""

from pathlib import Path

import pytest

from tests.chaos import oddities
from tests.chaos.app import CLASSES
from tests.chaos.arena import Arena
from tests.chaos.proof import prove

pytestmark = pytest.mark.chaos

# Additive, as migrations between two versions that run together must be; the locks in the order of
# docs/decisions/0040-lock-order.md.
MIGRATION = """
alter table outbox add column chaos_note text;
alter table jobs add column chaos_note text not null default '';
alter table queue add column chaos_note text;
create index outbox_chaos_note on outbox (shard, chaos_note) where chaos_note is not null;
"""


async def feed(arena: Arena, people: int) -> None:
    for provider in CLASSES:
        await arena.workload.start_run(provider, people)
        await arena.workload.start_executions(provider, people // 3)


async def test_old_and_new_workers_work_through_a_migration(arena: Arena, tmp_path: Path) -> None:
    file = tmp_path / "9999_chaos.sql"
    file.write_text(MIGRATION)
    old = await arena.start_workers(1)
    await feed(arena, 90)
    await arena.until_calls(60)

    assert await arena.migrate(file) == ["9999_chaos"]
    await arena.until_calls(60)  # by the old ones
    new = await arena.start_workers(1)
    await feed(arena, 60)
    await arena.until_calls(60)  # by both
    for worker in old:
        arena.terminate(worker)
    assert [await worker.wait() for worker in old] == [0]
    outdated = await arena.start_worker(**{oddities.MIGRATION: ""})
    assert await outdated.wait() != 0
    assert "9999_chaos, which this Tidings does not know" in outdated.tail()
    findings = await prove(arena, workers=1)

    assert findings.tallies["keyed"].in_doubt == findings.tallies["resolvable"].in_doubt == 0
    assert findings.tallies["blind"].in_doubt <= arena.unanswered()
    assert not any(worker.events("look_failed") for worker in [*old, *new])
    async with arena.look() as connection:
        assert await connection.fetchval("select count(*) from migrations where name = '9999_chaos'") == 1
