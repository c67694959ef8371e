"""What the tests of campaigns have in common: contacts by the number, a campaign to them, and work until a run ends."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.conftest import ManualClock
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.views.runs import Run

ANN = Caller(Workspace("acme", "main"), "ann")
BOB = Caller(Workspace("beta", "main"), "bob")
CLARA = Caller(Workspace("acme", "second"), "clara")
MOST_ROUNDS = 300


def letter(**more: Any) -> dict[str, Any]:
    """A campaign by e-mail to everyone that needs no rendering process."""
    content = {"subject": "Hello {{ contact.name }}", "body": "News"}
    return {"name": "spring", "channel": "email", "content": content, "audience": {"all": True}} | more


async def make_contacts(engine: Engine, count: int, caller: Caller = ANN, **more: object) -> list[UUID]:
    """Contacts p1, p2, … with an e-mail address each."""
    given = [
        {"externalId": f"p{number}", "name": f"Person {number}", "email": f"p{number}@example.com", **more}
        for number in range(1, count + 1)
    ]
    return [one.id for one in await engine.contacts.upsert_many(caller, given)]


async def deploy(engine: Engine, caller: Caller = ANN, **more: Any) -> UUID:
    """Make a campaign and deploy it."""
    made = await engine.campaigns.create(caller, letter(**more))
    return (await engine.campaigns.deploy(caller, made.id)).id


async def work_until_ended(engine: Engine, clock: ManualClock, run: UUID, caller: Caller = ANN) -> Run:
    """Move whatever is due, and the clock to whatever is due next, until the run has ended."""
    for _ in range(MOST_ROUNDS):
        await engine.work_everything()
        shown = await engine.runs.get(caller.workspace, run)
        if shown.has_ended:
            return shown
        due = [await engine.next_due(shard) for shard in engine.kernel.every_shard()]
        times = [at for one in due for lane, at in one.items() if lane is not Lane.RUNS]  # those look every 30 s
        times = times or [at for one in due for at in one.values()]
        clock.time = max(clock.time, min(times)) + timedelta(milliseconds=1)
    raise AssertionError(f"run {run} has not ended: {shown}")


def numbers(shown: Run, *names: str) -> Sequence[int]:
    """Some of a run's counts."""
    return [getattr(shown.counts, name) for name in names]
