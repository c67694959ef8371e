"""The fake answers as told, remembers what it was asked, and knows no more than a real provider would."""

import asyncio
from datetime import UTC, datetime, timedelta

from tests.providers.items import marked, no, yes
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unknown
from tidings.domain.flow.provider import Absent, Blind, CannotTell, Doubtful, Found, Keyed, Provider
from tidings.providers.fake import FakeProvider


def doubtful(item: Marked) -> Doubtful:
    return Doubtful(item.recipient, item.key, datetime.now(UTC))


async def test_it_accepts_by_default_and_records_the_calls_in_order() -> None:
    fake: Provider = FakeProvider()
    items = [marked("a@x.org"), marked("b@x.org")]

    outcomes = [await fake.send(item, yes) for item in items]

    assert outcomes == [Accepted(item.key.hex()) for item in items]
    assert isinstance(fake, FakeProvider)
    assert fake.calls == items


async def test_a_script_is_used_up_call_by_call() -> None:
    fake = FakeProvider(script={"a@x.org": [RetryLater("busy"), Rejected("no")]}, answer=Accepted("rest"))

    outcomes = [await fake.send(marked("a@x.org"), yes) for _ in range(3)]

    assert outcomes == [RetryLater("busy"), Rejected("no"), Accepted("rest")]
    assert await fake.send(marked("b@x.org"), yes) == Accepted("rest")


async def test_a_function_can_answer_now_or_later() -> None:
    async def later(item: Marked) -> Outcome:
        return Accepted(item.recipient)

    assert await FakeProvider(answer=later).send(marked("a@x.org"), yes) == Accepted("a@x.org")
    assert await FakeProvider(answer=lambda _: Rejected("no")).send(marked(), yes) == Rejected("no")


async def test_a_call_that_may_not_start_is_no_call() -> None:
    fake = FakeProvider()

    outcome = await fake.send(marked(), no)

    assert isinstance(outcome, RetryLater)
    assert not outcome.uses_attempt
    assert fake.calls == []


async def test_it_hangs_until_the_event_is_set() -> None:
    fake = FakeProvider()
    fake.hang = asyncio.Event()
    call = asyncio.create_task(fake.send(marked(), yes))
    async with asyncio.timeout(5):
        while not fake.calls:
            await asyncio.sleep(0)
    assert isinstance(await fake.look_up(doubtful(marked())), CannotTell)

    fake.hang.set()

    assert isinstance(await asyncio.wait_for(call, 5), Accepted)


async def test_it_looks_up_what_it_was_told_or_what_it_recorded() -> None:
    script: dict[str, list[Outcome]] = {"no@x.org": [Rejected("no")], "who@x.org": [Unknown("lost")]}
    fake = FakeProvider(script=script)
    for recipient in ("yes@x.org", "no@x.org", "who@x.org"):
        await fake.send(marked(recipient), yes)
    fake.evidence[marked("told@x.org").key] = Found("m-1")

    answers = [await fake.look_up(doubtful(marked(f"{name}@x.org"))) for name in ("yes", "no", "never", "told", "who")]

    assert answers[:4] == [Found(marked("yes@x.org").key.hex()), Absent(), Absent(), Found("m-1")]
    assert isinstance(answers[4], CannotTell)


async def test_recording_can_be_switched_off() -> None:
    fake = FakeProvider(record=False)

    await fake.send(marked(), yes)

    assert fake.calls == []
    assert isinstance(await fake.look_up(doubtful(marked())), CannotTell)


def test_its_traits_are_settable() -> None:
    hour = timedelta(hours=1)
    fake = FakeProvider("mine", provider_class=Keyed(hour), concurrency=3, call_deadline=hour)

    assert (fake.name, fake.provider_class, fake.concurrency, fake.call_deadline) == ("mine", Keyed(hour), 3, hour)
    assert FakeProvider().provider_class == Blind()
