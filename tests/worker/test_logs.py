"""What operators read: structured lines with what, which attempt, and when next."""

from datetime import timedelta

from structlog.testing import capture_logs
from structlog.typing import EventDict

from tests.conftest import ManualClock, make_engine
from tests.stored import items_in_doubt
from tests.worker.conftest import WELCOME
from tidings.domain.flow.outcome import Rejected, RetryLater, Unknown
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database


def named(logs: list[EventDict], event: str) -> list[EventDict]:
    return [line for line in logs if line["event"] == event]


async def trigger(engine: Engine) -> None:
    await engine.define("welcome", WELCOME)
    await engine.trigger("welcome", {"email": "ann@example.com"}, "k1")


async def test_each_retry_is_logged_with_its_attempt_and_the_next_time_until_none_is_left(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.answer = RetryLater("mailbox busy")
    await trigger(engine)

    with capture_logs() as logs:
        for _ in range(3):
            await engine.work_everything()
            clock.advance(minutes=1)

    first, second = named(logs, "retry_scheduled")
    begun = clock.time - timedelta(minutes=3)
    assert [(line["attempt"], line["provider"], line["channel"]) for line in (first, second)] == [
        (1, "fake", "email"),
        (2, "fake", "email"),
    ]
    assert timedelta(seconds=9) <= first["retry_at"] - begun <= timedelta(seconds=10)
    assert timedelta(seconds=78) <= second["retry_at"] - begun <= timedelta(seconds=80)
    [last] = named(logs, "retries_exhausted")
    assert (last["attempt"], last["log_level"], last["item"]) == (3, "warning", first["item"])


async def test_a_permanent_failure_is_logged_and_no_line_about_a_call_repeats_what_the_provider_said(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    """Its words name people: `550 <ann@example.com> unknown`. They stand with the item, and go with the contact."""
    provider.script = {"ann@example.com": [RetryLater("451 <ann@example.com> busy")]}
    provider.answer = Rejected("550 <ann@example.com> unknown")
    await trigger(engine)

    with capture_logs() as logs:
        for _ in range(2):
            await engine.work_everything()
            clock.advance(minutes=1)

    [line] = named(logs, "permanent_failure")
    assert (line["attempt"], line["provider"], line["log_level"]) == (2, "fake", "warning")
    assert len(named(logs, "retry_scheduled")) == 1
    assert [one for one in logs if "ann@" in str(one)] == []


async def test_doubt_is_logged_with_its_item_and_reason(engine: Engine, provider: FakeProvider) -> None:
    provider.answer = Unknown("no answer")
    await trigger(engine)

    with capture_logs() as logs:
        await engine.work_everything()

    [line] = named(logs, "in_doubt")
    [item] = await items_in_doubt(engine)
    assert (line["item"], line["provider"], line["reason"], line["log_level"]) == (
        str(item.id),
        "fake",
        "no answer",
        "warning",
    )


async def test_a_lost_lease_is_logged_with_its_owner(
    engine: Engine, db: Database, clock: ManualClock, provider: FakeProvider
) -> None:
    await engine.define("welcome", WELCOME)
    started = await engine.trigger("welcome", {"email": "ann@example.com"}, "k1")
    shard = engine.kernel.shard_of(started.id)
    [lease] = await engine.claim(shard, Lane.TRANSACTIONAL)
    clock.advance(minutes=10)
    other = await make_engine(db, clock, provider)
    await other.work_everything()

    with capture_logs() as logs:
        await engine.move(shard, Lane.TRANSACTIONAL, [lease])
    await other.kernel.notifier.close()
    await other.kernel.renderer.close()

    assert {(line["owner"], line["fence"]) for line in named(logs, "lease_lost")} == {(str(started.id), lease.fence)}
    assert len(provider.calls) == 1
