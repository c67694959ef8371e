"""Sequences and contacts for tests: an active sequence, people to enroll in it, and a worker that looks every hour."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.conftest import ManualClock
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.sequences import SequenceStatus

HOME = Workspace("acme", "main")
ELSEWHERE = Workspace("rival", "main")
CALLER = Caller(HOME, "test")
RIVAL = Caller(ELSEWHERE, "test")
NEIGHBOUR = Caller(Workspace("acme", "second"), "test")


def step(day: int, hour: int | None = None, channel: str = "email", **more: object) -> dict[str, object]:
    """One message; its text says which day it is of."""
    given = {"dayOffset": day, "sendHour": hour, "channel": channel, "content": f"Day {day}", **more}
    return {name: value for name, value in given.items() if value is not None}


async def make_sequence(
    engine: Engine,
    *steps: Mapping[str, object],
    name: str = "Onboarding",
    caller: Caller = CALLER,
    publish: bool = True,
    **settings: object,
) -> UUID:
    """A sequence of these steps (day 0 and day 3 unless given), active unless told otherwise."""
    made = await engine.sequences.create(caller, name, settings, list(steps or (step(0), step(3))))
    if publish:
        await set_status(engine, made.id, "active", caller)
    return made.id


async def set_status(engine: Engine, id: UUID, status: str, caller: Caller = CALLER) -> None:
    await engine.sequences.update(caller, id, status=SequenceStatus(status))


async def step_ids(engine: Engine, sequence: UUID) -> list[str]:
    return [str(one.id) for one in (await engine.sequences.get(HOME, sequence)).steps]


async def make_contacts(engine: Engine, count: int, caller: Caller = CALLER, **fields: Any) -> list[UUID]:
    """So many people called p0, p1, …"""
    given = [
        {
            "externalId": f"p{number}",
            "name": f"P{number}",
            "email": f"p{number}@example.com",
            "phone": f"+4420718387{number:02d}" if number < 100 else None,
            "pushTokens": [f"token-{number}"],
            **fields,
        }
        for number in range(count)
    ]
    made = []
    for first in range(0, count, 5_000):
        made += await engine.contacts.upsert_many(caller, given[first : first + 5_000])
    return [one.id for one in made]


async def make_contact(engine: Engine, external_id: str = "ada", **fields: Any) -> UUID:
    given = {"externalId": external_id, "name": "Ada", "email": f"{external_id}@example.com", **fields}
    return (await engine.contacts.create(CALLER, given))[0].id


async def work_until(engine: Engine, clock: ManualClock, moment: datetime) -> None:
    """Let a worker look every half hour until then."""
    await engine.work_everything()
    while clock.time < moment:
        clock.time = min(clock.time + timedelta(minutes=30), moment)
        await engine.work_everything()


def texts(provider: FakeProvider) -> list[tuple[str, str]]:
    """Who was sent what, in order."""
    return [(call.recipient, text_of(call.payload)) for call in provider.calls]


def text_of(payload: Mapping[str, str]) -> str:
    return payload.get("body") or payload.get("script") or ""


def ids(values: Sequence[UUID]) -> list[str]:
    return [str(value) for value in values]
