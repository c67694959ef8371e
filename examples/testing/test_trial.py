"""Tests of an application's own workflow: the real engine, a clock to advance, and nobody is written to.

Run it with `pytest examples/testing`. One server is started for all tests, and each test has a database of its own.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from tidings import App, Channel
from tidings.testing import Rejected, RetryLater, Scratch, scratch_engine, scratch_server

TRIAL = {
    "entryNodeId": "hello",
    "nodes": [
        {
            "id": "hello",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Your trial has begun, {{ name }}",
            "body": "You have fourteen days.",
            "onFailure": "continue",
        },
        {"id": "wait", "type": "delay", "duration": "P10D"},
        {
            "id": "plan",
            "type": "function",
            "function": "billing",
            "action": "plan",
            "payload": {"email": "{{ email }}"},
        },
        {"id": "has_paid", "type": "branch"},
        {"id": "thanks", "type": "email", "to": "{{ email }}", "subject": "Thank you", "body": "Good to have you."},
        {"id": "hurry", "type": "sms", "to": "{{ phone }}", "body": "{{ name }}, your trial ends in four days."},
    ],
    "edges": [
        {"from": "hello", "to": "wait"},
        {"from": "wait", "to": "plan"},
        {"from": "plan", "to": "has_paid"},
        {"from": "has_paid", "to": "thanks", "condition": {"path": "vars.plan.paid", "op": "equals", "value": True}},
        {"from": "has_paid", "to": "hurry"},
    ],
}
ADA = {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750"}
PAYING = {"ben@example.com"}


async def billing(action: str, payload: Mapping[str, Any]) -> dict[str, bool]:
    """The application's own function: whether somebody pays."""
    assert action == "plan"
    return {"paid": payload["email"] in PAYING}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """One PostgreSQL for all tests."""
    with scratch_server() as address:
        yield address


@pytest.fixture
async def scratch(server: str) -> AsyncIterator[Scratch]:
    """An engine on a database of its own, with the workflow in it."""
    async with scratch_engine(server=server, app=App(functions={"billing": billing})) as scratch:
        await scratch.engine.define("trial", TRIAL)
        yield scratch


async def test_who_has_not_paid_after_ten_days_is_reminded(scratch: Scratch) -> None:
    """The wait of ten days takes as long as the work before and after it."""
    began = scratch.clock.time
    await scratch.engine.trigger("trial", ADA, "signup-1")

    await scratch.run_for(days=9)
    assert [one.channel for one in scratch.messages] == [Channel.EMAIL]

    await scratch.run_for(days=2)
    [_, hurry] = scratch.messages
    assert (hurry.at, hurry.recipient) == (began + timedelta(days=10), "+442071838750")
    assert hurry.payload["body"] == "Ada, your trial ends in four days."


async def test_who_has_paid_is_thanked(scratch: Scratch) -> None:
    """The function of the application decides."""
    await scratch.engine.trigger("trial", ADA | {"email": "ben@example.com"}, "signup-2")

    await scratch.run_for(days=11)

    assert [one.payload["subject"] for one in scratch.messages] == ["Your trial has begun, Ada", "Thank you"]


async def test_a_busy_mail_server_is_asked_again(scratch: Scratch) -> None:
    """A provider answers what it is told to, and every call is kept."""
    scratch.providers[Channel.EMAIL].script = {ADA["email"]: [RetryLater("greylisted"), RetryLater("greylisted")]}
    await scratch.engine.trigger("trial", ADA, "signup-3")

    await scratch.run_for(hours=1)

    assert [one.was_accepted for one in scratch.calls] == [False, False, True]


async def test_a_dead_address_does_not_keep_the_reminder_from_going_out(scratch: Scratch) -> None:
    """What fails for good is known to be failed, and the walk goes on as the workflow says."""
    scratch.providers[Channel.EMAIL].answer = Rejected("no such mailbox")
    await scratch.engine.trigger("trial", ADA, "signup-4")

    await scratch.run_for(days=11)

    assert [one.channel for one in scratch.messages] == [Channel.SMS]
    assert [check.name for check in await scratch.engine.verify() if check.offences] == []
