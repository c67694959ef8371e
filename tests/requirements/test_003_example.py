"""003's own diagram, played as it is printed: over HTTP, to the message that a real SMTP server took."""

from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import httpx2
import pytest

from tests.conftest import ManualClock
from tests.http.conftest import person
from tests.providers.test_smtp import Mailbox, mail_server
from tidings import App, Channel, Config, Engine, open_engine
from tidings.domain.roles import Role
from tidings.providers.fake import FakeProvider

STEPS = [
    {"dayOffset": 0, "stepOrder": 0, "channel": "email", "content": "Welcome!"},
    {"dayOffset": 3, "stepOrder": 1, "channel": "sms", "content": "How's it going?"},
    {"dayOffset": 7, "stepOrder": 2, "channel": "push", "content": "Here's a tip"},
]
"""Its first page, in the fields of its diagram: no subject, no hour."""


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with mail_server() as found:
        yield found


@pytest.fixture
async def engine(dsn: str, clock: ManualClock, mailbox: Mailbox, provider: FakeProvider) -> AsyncIterator[Engine]:
    """E-mail by SMTP; texts and push messages to a provider that remembers them."""
    config = Config(
        database_url=dsn,
        smtp_url=mailbox.url(),
        allow_unsafe_storage=True,
        allow_private_addresses=True,
        secret_key=b64encode(bytes(range(32))).decode(),
        rate_limit=0,
    )
    routes = dict.fromkeys((Channel.SMS, Channel.PUSH), provider.name)
    opened = await open_engine(config, App(providers=[provider], routes=routes), clock=clock)
    yield opened
    await opened.close()


async def test_003_the_diagram_as_it_is_printed(
    engine: Engine, http: httpx2.AsyncClient, clock: ManualClock, mailbox: Mailbox, provider: FakeProvider
) -> None:
    user = await person(engine, http, Role.SYSTEM_ADMIN)
    ada = {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750", "pushTokens": ["token"]}
    contact = (
        await user.post("/v1/contacts", {**ada, "externalId": "ada", "company": "Engines", "tags": ["Trial"]})
    ).json()
    began = clock.time

    # SETUP
    sequence = (await user.post("/v1/sequences", {"name": "Onboarding"})).json()
    assert (sequence["name"], sequence["status"]) == ("Onboarding", "draft")
    steps = [(await user.post(f"/v1/sequences/{sequence['id']}/steps", step)).json() for step in STEPS]
    assert [{name: made[name] for name in given} for made, given in zip(steps, STEPS, strict=True)] == STEPS
    published = await user.ask("PATCH", f"/v1/sequences/{sequence['id']}", json={"status": "active"})
    assert (published.json()["id"], published.json()["status"]) == (sequence["id"], "active")

    # ENROLLMENT
    audience = {"contactIds": [contact["id"]], "company": "Engines", "tag": "trial", "status": "active"}
    enrolled = (await user.post(f"/v1/sequences/{sequence['id']}/batch-enroll", audience)).json()
    counts = {name: enrolled["data"][name] for name in ("enrolledCount", "skippedCount")}
    assert (enrolled["success"], counts) == (True, {"enrolledCount": 1, "skippedCount": 0})
    [enrollment] = (await user.get(f"/v1/sequences/{sequence['id']}/enrollments")).json()["data"]
    first = [enrollment[name] for name in ("contactId", "sequenceId", "currentStepIndex", "status")]
    assert first == [contact["id"], sequence["id"], 0, "active"]
    assert datetime.fromisoformat(enrollment["nextStepAt"]) == began

    # JOB EXECUTION
    await engine.work_everything()
    letter = mailbox.message()
    assert (mailbox.envelopes[0].rcpt_tos, letter["Subject"]) == (["ada@example.com"], "Onboarding")
    assert letter.get_content().strip() == "Welcome!"
    waiting = (await user.get(f"/v1/enrollments/{enrollment['id']}")).json()
    assert (waiting["currentStepIndex"], waiting["status"]) == (1, "active")
    assert datetime.fromisoformat(waiting["nextStepAt"]) == began + timedelta(days=3)
    for days in (3, 4):
        clock.advance(days=days)
        await engine.work_everything()

    done = (await user.get(f"/v1/enrollments/{enrollment['id']}")).json()
    logs = (await user.get(f"/v1/enrollments/{enrollment['id']}/logs")).json()["data"]
    assert (done["status"], done["outcome"], done["nextStepAt"]) == ("completed", "sent", None)
    assert [(call.channel, call.payload["body"]) for call in provider.calls] == [
        ("sms", "How's it going?"),
        ("push", "Here's a tip"),
    ]
    assert len(mailbox.envelopes) == 1
    assert [(line["enrollmentId"], line["stepId"], line["channel"], line["contentSnapshot"]) for line in logs] == [
        (enrollment["id"], made["id"], made["channel"], made["content"]) for made in steps
    ]
    assert [(line["status"], datetime.fromisoformat(line["sentAt"]), line["error"]) for line in logs] == [
        ("completed", began + timedelta(days=day), None) for day in (0, 3, 7)
    ]
