"""The funnel of a sequence and the matrix of rules."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.conftest import ManualClock
from tests.http.conftest import Person, caller
from tidings.domain.flow.outcome import Rejected
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

STEPS = [
    {"dayOffset": 0, "channel": "email", "content": "First"},
    {"dayOffset": 2, "channel": "email", "content": "Second"},
    {"dayOffset": 5, "channel": "email", "content": "Third"},
]
MESSAGE = {"subject": "Hi", "body": "Your quote"}


async def enrolled(admin: Person, engine: Engine, sequence: str, name: str) -> str:
    await admin.post("/v1/contacts", {"externalId": name, "email": f"{name}@example.com"})
    return str((await engine.enrollments.enroll(caller(), UUID(sequence), name)).id)


async def published(admin: Person) -> str:
    made = (await admin.post("/v1/sequences", {"name": "drip", "steps": STEPS, "onStepFailure": "stop"})).json()
    await admin.ask("PATCH", f"/v1/sequences/{made['id']}", json={"status": "active"})
    id: str = made["id"]
    return id


def counts(step: dict[str, Any]) -> dict[str, int]:
    names = ("waiting", "sending", "sent", "failed", "skipped", "inDoubt", "ended")
    return {name: step[name] for name in names if step[name]}


async def test_a_funnel_tells_where_everybody_is(
    admin: Person, engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    provider.script["bob@example.com"] = [Rejected("no such mailbox")]
    id = await published(admin)
    for name in ("ada", "bob", "cid"):
        await enrolled(admin, engine, id, name)
    await engine.work_everything()
    clock.advance(days=3)
    await engine.work_everything()
    begun = await engine.kernel.clock.now()
    last = await enrolled(admin, engine, id, "dan")
    await admin.ask("PATCH", f"/v1/enrollments/{last}", json={"status": "cancelled"})
    await engine.work_everything()

    told = (await admin.get(f"/v1/sequences/{id}/funnel")).json()
    since = (begun - timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
    later = (await admin.get(f"/v1/sequences/{id}/funnel?since={since}")).json()

    assert {name: told[name] for name in ("enrolled", "underWay", "completed", "failed", "cancelled")} == {
        "enrolled": 4,
        "underWay": 2,
        "completed": 0,
        "failed": 1,
        "cancelled": 1,
    }
    first, second, third = told["steps"]
    assert counts(first)["sent"] == 2
    assert (counts(first)["failed"], first["ended"]) == (1, 1)
    assert counts(second) == {"sent": 2}
    assert counts(third) == {"waiting": 2}
    assert later["enrolled"] == 1
    assert [one["sent"] for one in later["steps"]] == [0, 0, 0]


async def test_a_sequence_that_was_never_published_has_an_empty_funnel(admin: Person) -> None:
    made = (await admin.post("/v1/sequences", {"name": "drip", "steps": STEPS})).json()

    told = (await admin.get(f"/v1/sequences/{made['id']}/funnel")).json()

    assert (told["enrolled"], told["steps"]) == (0, [])


async def test_the_matrix_tells_what_becomes_of_each_trigger(admin: Person) -> None:
    rule = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": [{"template": MESSAGE}]}
    await admin.post("/v1/rules", rule)
    await admin.post("/v1/rules", {**rule, "audience": "agent", "enabled": False})
    await admin.post("/v1/rules", {**rule, "trigger": "later"})

    told = (await admin.get("/v1/rules/matrix")).json()
    page = (await admin.get("/v1/rules/matrix?limit=1")).json()
    rest = (await admin.get(f"/v1/rules/matrix?limit=1&cursor={page['nextCursor']}")).json()

    assert [row["trigger"] for row in told["rows"]] == ["later", "quote_sent"]
    cells = {(one["channel"], one["audience"]): one for one in told["rows"][1]["cells"]}
    assert len(cells) == len(told["channels"]) * len(told["audiences"])
    assert (cells["email", "lead"]["outcome"], cells["email", "lead"]["steps"]) == ("enqueued", 1)
    assert cells["email", "agent"]["outcome"] == "suppressed"
    assert (cells["sms", "lead"]["outcome"], cells["sms", "lead"]["ruleId"]) == ("none", None)
    assert [row["trigger"] for row in (*page["rows"], *rest["rows"])] == ["later", "quote_sent"]
    assert rest["nextCursor"] is None
