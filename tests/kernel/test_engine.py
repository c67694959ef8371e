"""The whole flow, from a trigger or a deploy to the last item."""

import random

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import (
    Sql,
    assert_kept,
    delay,
    deploy,
    email,
    graph,
    row,
    start,
    until,
    with_lossy_database,
    work,
)
from tests.stored import stored_execution, stored_run
from tidings.domain.campaigns.run import RunStatus
from tidings.domain.errors import RendererUnavailable
from tidings.domain.flow.execution import ExecutionStatus
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider


async def test_an_email_a_delay_and_a_text_message(engine: Engine, clock: ManualClock, provider: FakeProvider) -> None:
    nudge = {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"}
    hello = email(subject="Hi {{ name }}", body="Welcome")
    id = await start(engine, hello, delay("wait", "PT1H"), nudge, phone="+49", name="Ada")

    await work(engine)
    before_the_delay = [call.recipient for call in provider.calls]
    clock.advance(minutes=61)
    await work(engine)

    assert before_the_delay == ["ada@example.com"]
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
    assert [call.payload for call in provider.calls] == [
        {"subject": "Hi Ada", "body": "Welcome"},
        {"body": "Still there, Ada?"},
    ]
    await assert_kept(engine)


async def test_work_everything_moves_a_campaign_to_its_end(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    id = await deploy(engine, 7)

    await engine.work_everything()
    clock.advance(seconds=1)
    await engine.work_everything()

    assert (await stored_run(engine, id)).run.status is RunStatus.COMPLETED
    assert len({call.recipient for call in provider.calls}) == len(provider.calls) == 7
    await assert_kept(engine)


@pytest.mark.parametrize("when", ["after", "before"])
async def test_when_two_in_five_answers_of_the_database_are_lost_everybody_is_still_written_to_once(
    engine: Engine, clock: ManualClock, provider: FakeProvider, when: str
) -> None:
    dice = random.Random(5)  # a fixed rhythm could hit the same claim for ever
    lossy = with_lossy_database(engine, lose=lambda _: dice.random() < 0.4, when=when)
    await lossy.define("flow", graph(email("a"), delay("wait", "PT1H"), email("b")))
    started = await lossy.trigger("flow", {}, "k1")
    run = await deploy(lossy, 6)

    async def all_done() -> bool:
        await work(lossy)
        clock.advance(minutes=20)
        statuses = (await stored_execution(engine, started.id)).status, (await stored_run(engine, run)).run.status
        return statuses == (ExecutionStatus.COMPLETED, RunStatus.COMPLETED)

    await until(all_done)

    assert not started.duplicate
    assert len(provider.calls) == 8
    assert len({call.key for call in provider.calls}) == 8
    await assert_kept(engine)


async def test_a_worker_that_cannot_render_gives_its_work_back_and_nobody_dies_of_it(
    engine: Engine, clock: ManualClock, provider: FakeProvider, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = await start(engine, email("hello", to="{{ address | downcase }}"), address="ada@example.com")
    with monkeypatch.context() as broken:
        broken.setattr("tidings.kernel.render.process.sys.executable", "/nowhere/python")
        for _ in range(engine.kernel.limits.crashes + 1):
            with pytest.raises(RendererUnavailable):
                await engine.work_everything()
            clock.advance(seconds=30)
    state = await row(sql, "select leased, crashes from queue")

    await engine.work_everything()

    assert state == (False, 0)
    assert [call.recipient for call in provider.calls] == ["ada@example.com"]
    assert (await stored_execution(engine, id)).status is ExecutionStatus.COMPLETED
