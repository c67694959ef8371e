"""What an item in doubt shows: what is known of its calls, and what is done next about it."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.people import ANN, make, start_for, to_contact
from tests.kernel.scenes import crash_in_call, start, work_once
from tidings.domain.flow.item import ItemStatus
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater, Unknown
from tidings.domain.flow.provider import Blind, Keyed, ProviderClass, Resolvable
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.outbox import Evidence, NextStep

A_DAY = Keyed(retention=timedelta(hours=24), settle=timedelta(seconds=30))
A_LOG = Resolvable(authoritative=True, settle=timedelta(minutes=10))


async def an_item(engine: Engine) -> UUID:
    [item] = (await engine.outbox.list(ANN.workspace)).items
    return item.id


async def evidence(engine: Engine) -> Evidence | None:
    return (await engine.outbox.get(ANN.workspace, await an_item(engine))).evidence


@pytest.mark.parametrize(
    ("given", "answer", "named", "next_step", "is_timed"),
    [
        (Blind(), Unknown("cut off"), "blind", NextStep.PERSON, False),
        (A_DAY, Unknown("cut off"), "keyed", NextStep.REPEAT, True),
        (A_LOG, Unknown("cut off"), "resolvable", NextStep.LOOK_UP, True),
        (Blind(), RetryLater("busy"), "blind", NextStep.REPEAT, True),
        (Blind(), Accepted("m-1"), "blind", None, False),
    ],
)
async def test_it_says_what_is_done_next_and_when(
    engine: Engine,
    clock: ManualClock,
    provider: FakeProvider,
    given: ProviderClass,
    answer: Outcome,
    named: str,
    next_step: NextStep | None,
    is_timed: bool,
) -> None:
    provider.provider_class, provider.answer = given, answer
    await start(engine)
    await work_once(engine)

    found = await evidence(engine)

    assert found is not None
    assert (found.provider_class, found.doubt_policy, found.calls) == (named, "hold", 1)
    assert (found.next, found.next_at is not None) == (next_step, is_timed)
    assert (found.last_called_at, found.under_way) == (clock.time, False)


async def test_a_call_without_an_answer_is_under_way_until_its_worker_is_missed(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    await start(engine)
    await crash_in_call(engine, provider)

    called_at, before = clock.time, await evidence(engine)
    clock.advance(minutes=10)
    await work_once(engine)
    after = await evidence(engine)

    assert before is not None
    assert after is not None
    assert (before.under_way, before.next, before.last_called_at) == (True, None, called_at)
    assert (after.under_way, after.next, after.last_called_at) == (False, NextStep.PERSON, called_at)


async def test_what_was_never_called_for_has_no_evidence(engine: Engine) -> None:
    ada = await make(engine, suppressions={"email": "unsubscribed"})
    await start_for(engine, ada, to_contact())
    await work_once(engine)

    shown = await engine.outbox.get(ANN.workspace, await an_item(engine))

    assert (shown.status, shown.evidence) == (ItemStatus.SKIPPED, None)
