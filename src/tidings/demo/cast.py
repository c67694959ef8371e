"""Who is written to in the demo, and what: the words are made up, the machinery is not."""

from collections.abc import Mapping
from uuid import UUID

from tidings.domain.flow.item import Channel
from tidings.engine import Deployment, Recipient, Trigger

CAMPAIGN_ID = UUID("00000000-0000-4000-8000-0000000000de")
WORKFLOW = "welcome"
DELAY_SECONDS = 5

WELCOME: Mapping[str, object] = {
    "entryNodeId": "hello",
    "nodes": [
        {
            "id": "hello",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Welcome, {{ name }}",
            "body": "Good to have you, {{ name }}.\n",
        },
        {"id": "wait", "type": "delay", "delayMs": DELAY_SECONDS * 1000},
        {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"},
    ],
    "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
}

NEWSLETTER: Mapping[str, object] = {
    "subject": "News for {{ name }}",
    "body": "Dear {{ name }},\n\nyou are number {{ number }} of those who get this once, and only once.\n",
}


def new_contacts(count: int) -> list[Trigger]:
    """Those who go through the workflow."""
    return [
        Trigger(
            f"contact-{number}",
            {"email": f"contact-{number}@example.com", "phone": f"+1555{number:07}", "name": f"Contact {number}"},
        )
        for number in range(1, count + 1)
    ]


def newsletter(count: int) -> Deployment:
    """The campaign's run."""
    return Deployment(
        CAMPAIGN_ID,
        "demo-newsletter",
        Channel.EMAIL,
        NEWSLETTER,
        [
            Recipient(f"reader-{number}@example.com", {"name": f"Reader {number}", "number": number})
            for number in range(1, count + 1)
        ],
    )


def mail_addresses(people: int, contacts: int) -> set[str]:
    """Everybody who must get exactly one e-mail."""
    readers = {f"reader-{number}@example.com" for number in range(1, people + 1)}
    return readers | {f"contact-{number}@example.com" for number in range(1, contacts + 1)}
