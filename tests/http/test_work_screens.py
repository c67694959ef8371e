"""What the screens about work ask for: the overview, a path, failures in groups, doubt in bulk."""

from uuid import UUID

from tests.http.conftest import WELCOME, Person, caller, start
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider


async def test_the_overview_and_the_path_of_an_execution(admin: Person, engine: Engine, workflow: UUID) -> None:
    id = await start(engine)
    await engine.work_everything()

    overview = (await admin.get("/v1/overview", params={"minutes": "5"})).json()
    path = (await admin.get(f"/v1/executions/{id}/path")).json()

    assert (overview["sentToday"], overview["failedToday"], overview["inDoubt"]) == (1, 0, 0)
    assert [(one["channel"], one["outcome"], one["count"]) for one in overview["minutes"]] == [("email", "sent", 1)]
    assert [(one["id"], one["state"], one["visits"]) for one in path["nodes"]] == [("hello", "done", 1)]
    assert (await admin.get("/v1/overview", params={"minutes": "0"})).status_code == 422


async def test_failures_are_grouped_shown_and_started_again(
    admin: Person, engine: Engine, workflow: UUID, provider: FakeProvider
) -> None:
    provider.script = {"ada@example.com": [Rejected("550 no mailbox 17")]}
    await start(engine)
    await engine.work_everything()

    [group] = (await admin.get("/v1/failures")).json()["data"]
    items = (await admin.get(f"/v1/failures/{group['id']}/items", params={"since": "2020-01-01"})).json()
    planned = (await admin.post(f"/v1/failures/{group['id']}/replay", {"dryRun": True})).json()
    done = (await admin.post(f"/v1/failures/{group['id']}/replay", {"perMinute": 60})).json()
    gone = await admin.post(f"/v1/failures/{group['id']}/replay", {})
    wrong = await admin.get("/v1/failures", params={"since": "soon"})

    assert (group["text"], group["count"], group["workflows"]) == ("550 no mailbox #", 1, ["welcome"])
    assert [one["error"] for one in items["data"]] == ["550 no mailbox 17"]
    assert (planned["executions"], planned["dryRun"], done["executions"]) == (1, True, 1)
    assert (gone.status_code, wrong.status_code) == (404, 422)


async def test_doubt_is_ended_in_bulk_by_ids_or_by_a_filter_and_never_for_want_of_a_word(
    admin: Person, engine: Engine, provider: FakeProvider
) -> None:
    await engine.workflows.create(caller(), "welcome", WELCOME)
    provider.answer = Unknown("cut off")
    for key in ("a", "b"):
        await start(engine, key=key)
    await engine.work_everything()
    word = {"outcome": "sent", "note": "in its log"}

    neither = await admin.post("/v1/outbox/resolve", word)
    age = await admin.post("/v1/outbox/resolve", {**word, "where": {"olderThan": "soon"}})
    planned = await admin.post("/v1/outbox/resolve", {**word, "where": {"channel": "email"}, "dryRun": True})
    ids = planned.json()["items"]
    one = await admin.post("/v1/outbox/resolve", {**word, "ids": ids[:1]})
    rest = await admin.post("/v1/outbox/resolve", {**word, "where": {}})

    assert [neither.status_code, age.status_code] == [422, 422]
    assert [answer.json()["resolved"] for answer in (planned, one, rest)] == [2, 1, 1]
    assert (await admin.get("/v1/outbox", params={"inDoubt": "true"})).json()["data"] == []
