"""What the model has found: as a search that should find nothing, and on the engine.

Each needs a worker that freezes until its lease has run out and then goes on. None let anybody be written to twice.
What the code does not keep yet is expected to fail, and says so.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from tests.conftest import ManualClock, make_engine
from tests.kernel.scenes import Sql, claim, frozen_in_call, row, start, until, work, work_leases
from tests.model.checker import explore
from tests.model.invariants import HELD, Rule
from tests.model.settings import BLIND, FREEZE_AND_UNKNOWN, KEYED
from tests.model.states import Budget, Setting
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.ids import Shard
from tidings.domain.flow.outcome import Accepted, RetryLater, Unknown
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.kernel.flow import doubt, executions
from tidings.kernel.flow.held import Held
from tidings.kernel.kernel import Kernel, Limits
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database

TO = "ada@example.com"

UNHEARD_REFUSAL = pytest.mark.xfail(
    strict=True, reason="a refusal that comes after the mark was admitted as a crash does not end that doubt"
)


def assert_unbroken(setting: Setting, *rules: Rule) -> None:
    violation = explore(setting, frozenset(rules) or HELD).violation
    assert violation is None, str(violation)


# A stale worker gives up a live call


def test_nobody_gives_up_a_call_that_is_being_made() -> None:
    assert_unbroken(Setting(BLIND, DoubtPolicy.GIVE_UP, budget=Budget(freezes=1)))


async def test_a_worker_without_its_lease_does_not_give_up_its_successor_s_call(
    db: Database, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    limits = Limits(doubt_policy=DoubtPolicy.GIVE_UP)
    stale, live = [await make_engine(db, clock, provider, limits) for _ in range(2)]
    await start(stale)
    leases = await claim(stale)
    clock.advance(minutes=10)

    async with frozen_in_call(live, provider) as answered:
        await work_leases(stale, leases)
        answered.set()

    assert [call.attempt for call in provider.calls] == [1]
    assert await row(sql, "select status from outbox") == ("sent",)


# An attempt is forgotten


def test_an_answer_that_used_an_attempt_stays_counted() -> None:
    assert_unbroken(Setting(KEYED, budget=FREEZE_AND_UNKNOWN), Rule.COUNTED)


async def test_an_unknown_answer_between_load_and_admit_stays_counted(
    db: Database, clock: ManualClock, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = FakeProvider(provider_class=KEYED, script={TO: [Unknown("no answer"), RetryLater("busy")]})
    slow, next_one = [await make_engine(db, clock, provider) for _ in range(2)]
    await start(slow)
    face_doubt = doubt.face_doubt

    async def face_doubt_later(
        kernel: Kernel, shard: Shard, lane: Lane, owners: Iterable[Held], now: datetime
    ) -> set[object]:
        answered.set()
        await until(lambda: is_unmarked(sql))
        return set(await face_doubt(kernel, shard, lane, owners, now))

    async with frozen_in_call(slow, provider) as answered:
        clock.advance(minutes=10)
        leases = await claim(next_one)
        monkeypatch.setattr(executions, "face_doubt", face_doubt_later)
        await work_leases(next_one, leases)

    assert await row(sql, "select attempts from outbox") == (len(provider.calls),)


async def is_unmarked(sql: Sql) -> bool:
    return bool(await sql.fetchval("select marked_at is null from outbox"))


# A refusal is not heard


@UNHEARD_REFUSAL
def test_a_late_refusal_ends_the_doubt_about_its_own_call() -> None:
    assert_unbroken(Setting(BLIND, budget=Budget(freezes=1)), Rule.REFUSAL)


@UNHEARD_REFUSAL
async def test_a_worker_that_froze_and_was_told_to_try_again_later_leaves_nothing_to_a_person(
    engine: Engine, db: Database, clock: ManualClock, provider: FakeProvider, sql: Sql
) -> None:
    provider.script[TO] = [RetryLater("busy", delay=timedelta(seconds=5)), Accepted("m-2")]
    other = await make_engine(db, clock, provider)
    await start(engine)

    async with frozen_in_call(engine, provider) as answered:
        clock.advance(minutes=10)
        await work(other)
        answered.set()
    clock.advance(minutes=1)
    await work(other)

    assert await row(sql, "select status, in_doubt from outbox") == ("sent", False)
