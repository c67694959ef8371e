"""One of everything, so that each screen has something to show."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.web.people import HOME, by
from tidings.domain.flow.outcome import Rejected, Unknown
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.sequences import SequenceStatus

FLOW = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi {{ name }}", "body": "<p>Welcome</p>"},
        {"id": "wait", "type": "delay", "duration": "P1D"},
    ],
    "edges": [{"from": "hello", "to": "wait"}],
}


@dataclass(frozen=True)
class Scene:
    """The ids of what there is, by what the screen's path calls it."""

    ids: Mapping[str, str]

    def path(self, pattern: str) -> str:
        """Return a screen's path with the id of what it shows."""
        first = pattern.strip("/").split("/")[0]
        return re.sub(r":\w+\*?", self.ids.get(first, ""), pattern)


async def fill(engine: Engine, provider: FakeProvider) -> Scene:
    """Workflows, executions in each state, a campaign with its run, a sequence, a rule, contacts, doubt."""
    provider.script = {
        "refused@example.com": [Rejected("550 5.1.1 no such mailbox refused@example.com")],
        "doubtful@example.com": [Unknown("the connection broke after the letter")],
    }
    ada, _ = await engine.contacts.create(by(), {"externalId": "ada", "email": "ada@example.com", "tags": ["vip"]})
    workflow = await engine.workflows.create(by(), "welcome", FLOW)
    await engine.drafts.save(by(), workflow.id, FLOW)
    executions = [
        await engine.executions.trigger(
            by(), "welcome", {"email": to, "name": "Ada"}, key, contact_id=ada.id if key == "k1" else None
        )
        for key, to in (("k1", "ada@example.com"), ("k2", "refused@example.com"), ("k3", "doubtful@example.com"))
    ]
    sequence = await engine.sequences.create(
        by(), "drip", {}, [{"dayOffset": day, "channel": "email", "content": f"Day {day}"} for day in (0, 3, 7)]
    )
    await engine.sequences.update(by(), sequence.id, status=SequenceStatus.ACTIVE)
    enrollment = await engine.enrollments.enroll(by(), sequence.id, ada.id)
    segment = await engine.segments.create(by(), {"name": "VIPs", "audience": {"tag": "vip"}})
    content = {"subject": "Spring", "body": "<h1>Spring</h1><p>News for {{ contact.email }}</p>"}
    campaign = await engine.campaigns.create(
        by(), {"name": "spring", "channel": "email", "content": content, "audience": {"all": True}}
    )
    run = await engine.campaigns.deploy(by(), campaign.id, idempotency_key="spring-1")
    rule = await engine.rules.create(
        by(),
        {
            "trigger": "quote",
            "channel": "email",
            "audience": "lead",
            "steps": [{"template": {"subject": "Your quote", "body": "Here it is"}}],
        },
    )
    await engine.events.send(by(), {"trigger": "quote", "idempotencyKey": "q-1", "lead": {"contactId": str(ada.id)}})
    [event] = (await engine.events.list(HOME, limit=1)).items
    template = await engine.templates.create(by(), {"name": "footer", "text": "<p>Yours</p>"})
    sender = await engine.senders.create(by(), {"name": "us", "email": "us@example.com", "defaultFor": ["email"]})
    chat = await engine.connections.create(
        by(), {"name": "ops", "provider": "slack", "credentials": {"token": "xoxb-1"}, "limits": {"perMinute": 60}}
    )
    bob = await engine.users.invite(by(), "bob@example.com", "Bob", {HOME.name: [Role.READER]})
    await engine.work_everything()
    [item, *_] = (await engine.outbox.list(HOME, limit=5)).items
    return Scene(
        {
            "workflows": str(workflow.id),
            "executions": str(executions[0].id),
            "sequences": str(sequence.id),
            "enrollments": str(enrollment.id),
            "segments": str(segment.id),
            "campaigns": str(campaign.id),
            "runs": str(run.id),
            "rules": str(rule.id),
            "events": str(event.id),
            "templates": str(template.id),
            "senders": str(sender.id),
            "contacts": "ada",
            "connections": str(chat.id),
            "people": str(bob.user.id),
            "workspaces": HOME.name,
            "outbox": str(item.id),
            "messages": str(item.id),
        }
    )
