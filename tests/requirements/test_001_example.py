"""001's own scenario, Email → Delay → SMS, over HTTP: real SMTP, a settable clock, two workers."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise

import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import Person, person
from tests.providers.scripted_smtp import Say, ScriptedSmtp, scripted
from tests.requirements.conftest import Json, log_of, show
from tidings import App, Channel, Config, Engine, open_engine
from tidings.domain.flow.outcome import RetryLater
from tidings.domain.roles import Role
from tidings.http.app import create_app
from tidings.providers.fake import FakeProvider

WORKFLOW: Json = {
    "name": "signup",
    "entryNodeId": "welcome",
    "nodes": [
        {
            "id": "welcome",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Welcome, {{ name }}",
            "body": "Your code is {{ code }}.",
        },
        {"id": "pause", "type": "delay", "delayMs": 3_600_000},
        {
            "id": "remind",
            "type": "sms",
            "to": "{{ phone }}",
            "body": "{{ name }}, your mail was {{ vars.welcome.status }}. The code is {{ code }}.",
        },
    ],
    "edges": [{"from": "welcome", "to": "pause"}, {"from": "pause", "to": "remind"}],
}
ADA: Json = {"email": "ada@example.com", "phone": "+442071838750", "name": "Ada", "code": "1815"}
GREYLISTED = Say(b"450 4.2.0 greylisted, come again\r\n")
TRIGGER: Json = {"idempotencyKey": "signup-ada", "data": ADA}


@pytest.fixture
async def mail() -> AsyncIterator[ScriptedSmtp]:
    """A mail server that refuses the first two tries for now, and takes the third."""
    tries: list[int] = []

    def script(number: int, stage: str) -> Say | None:
        if stage != "RCPT":
            return None
        tries.append(number)
        return GREYLISTED if len(tries) <= 2 else None

    async with scripted(script) as server:
        yield server


@pytest.fixture
async def engines(dsn: str, clock: ManualClock, mail: ScriptedSmtp) -> AsyncIterator[list[Engine]]:
    """Two workers as separate processes would be; text messages go to a gateway that is always busy."""
    config = Config(
        database_url=dsn, allow_unsafe_storage=True, allow_private_addresses=True, smtp_url=mail.url(), rate_limit=0
    )
    made = []
    for _ in range(2):
        gateway = FakeProvider("gateway", answer=RetryLater("429 busy"))
        made.append(await open_engine(config, App([gateway], {Channel.SMS: "gateway"}), clock=clock))
    yield made
    for engine in made:
        await engine.close()


@pytest.fixture
async def people(engines: list[Engine]) -> AsyncIterator[Mapping[Role, Person]]:
    transport = httpx2.ASGITransport(app=create_app(engines[0], Config(rate_limit=0)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://tidings") as http:
        yield {role: await person(engines[0], http, role) for role in (Role.WORKFLOW_MANAGER, Role.TRIGGER_OPERATOR)}


def gateway_of(engine: Engine) -> FakeProvider:
    gateway = engine.kernel.providers["gateway"]
    assert isinstance(gateway, FakeProvider)
    return gateway


async def test_001_email_delay_sms_from_its_trigger_to_its_end(
    people: Mapping[Role, Person], engines: list[Engine], clock: ManualClock, mail: ScriptedSmtp
) -> None:
    """Validated, triggered twice, tried again with backoff, resumed on time, failed at the third attempt, retried."""
    manager, operator = people[Role.WORKFLOW_MANAGER], people[Role.TRIGGER_OPERATOR]
    begun_at = clock.time
    path = await defined(manager)
    id = await triggered_twice(operator, path)

    waits = [await tried_in_vain(operator, engine, clock, id, tries) for tries, engine in enumerate(engines, start=1)]
    assert 9 <= waits[0] <= 10
    assert 18 <= waits[1] <= 20
    await mailed_and_waiting(operator, engines, clock, id)
    assert b"Your code is 1815." in mail.messages[0]
    await texted_in_vain(operator, engines, clock, id)

    # 9: a person retries it once the gateway is back; whoever has got the mail does not get it again
    for engine in engines:
        gateway_of(engine).answer = None
    await operator.post(f"/v1/executions/{id}/retry")
    await engines[1].work_everything()
    done = await show(operator, id)
    assert (done["status"], done["inputPayload"], len(mail.messages)) == ("completed", ADA, 1)
    assert datetime.fromisoformat(done["startedAt"]) == begun_at
    assert (await operator.post(path, TRIGGER)).json()["status"] == "completed"
    check_log(await log_of(manager, id), done["vars"])


async def defined(manager: Person) -> str:
    """3 and 10: validated, stored and versioned; gives where it is triggered."""
    broken = await manager.post("/v1/workflows", {**WORKFLOW, "entryNodeId": "nowhere"})
    made = (await manager.post("/v1/workflows", WORKFLOW)).json()
    assert (broken.status_code, made["version"], made["active"]) == (422, 1, True)
    return f"/v1/workflows/{made['id']}/triggers"


async def triggered_twice(operator: Person, path: str) -> str:
    """4: one instance for a key, however often it is asked for."""
    first, again = await operator.post(path, TRIGGER), await operator.post(path, TRIGGER)
    id, shown = str(first.json()["id"]), first.json()
    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["id"], again.json()["duplicate"]) == (id, True)
    assert (shown["status"], shown["cursor"], shown["startedAt"]) == ("enqueued", "welcome", None)
    return id


async def tried_in_vain(operator: Person, engine: Engine, clock: ManualClock, id: str, tries: int) -> float:
    """5 and 9: a transient failure is tried again later, by whichever worker comes first; gives for how long."""
    await engine.work_everything()
    shown = await show(operator, id)
    assert (shown["status"], shown["cursor"], shown["attempts"]) == ("processing", "welcome", tries)
    assert "450" in shown["errorMessage"]
    began, clock.time = clock.time, datetime.fromisoformat(shown["availableAt"])
    return (clock.time - began).total_seconds()


async def mailed_and_waiting(operator: Person, engines: list[Engine], clock: ManualClock, id: str) -> None:
    """5 and 8: taken at the third attempt; the result is in `vars`, and the delay keeps everything until its time."""
    await engines[0].work_everything()
    waiting = await show(operator, id)
    due_at = clock.time + timedelta(hours=1)
    assert (waiting["status"], waiting["cursor"], waiting["errorMessage"]) == ("processing", "pause", None)
    assert (waiting["attempts"], waiting["retryCount"]) == (3, 2)
    assert waiting["vars"]["welcome"]["status"] == "sent"
    assert datetime.fromisoformat(waiting["availableAt"]) == due_at
    clock.time = due_at - timedelta(milliseconds=1)
    assert [await engine.work_everything() for engine in engines] == [0, 0]
    clock.time = due_at


async def texted_in_vain(operator: Person, engines: list[Engine], clock: ManualClock, id: str) -> None:
    """5: three attempts, each the same message, and then it has failed."""
    for place in range(4):
        await engines[place % 2].work_everything()
        clock.advance(minutes=1)
    failed, texts = await show(operator, id), [call for engine in engines for call in gateway_of(engine).calls]
    assert [text.payload["body"] for text in texts] == ["Ada, your mail was sent. The code is 1815."] * 3
    assert (failed["status"], failed["cursor"], failed["errorStep"]) == ("failed", "remind", "remind")
    assert failed["errorMessage"] == "gave up after 3 attempts: 429 busy"


def check_log(lines: list[Json], results: Json) -> None:
    """7: success, failure, and the context that each node saw."""
    assert [(one["node"], one["status"]) for one in lines] == [
        ("welcome", "sent"),
        ("pause", "completed"),
        ("remind", "sent"),
    ]
    failures = [[one["error"] for one in line["items"][0]["failedAttempts"]] for line in (lines[0], lines[2])]
    assert [len(errors) for errors in failures] == [2, 3]
    assert all("450" in error for error in failures[0])
    assert [line["context"]["data"] for line in lines] == [ADA] * 3
    assert lines[0]["context"]["vars"] == {}
    for before, line in pairwise(lines):
        assert line["context"]["vars"] == {**before["context"]["vars"], before["node"]: results[before["node"]]}
