"""Build the items that provider tests hand over."""

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Marked, Payload
from tidings.testing import marked_item

PLAIN: Payload = {"subject": "Hello", "body": "Good morning."}


def marked(
    recipient: str = "ann@example.com",
    payload: Payload = PLAIN,
    *,
    channel: Channel = Channel.EMAIL,
    provider: str = "smtp",
    key: bytes | None = None,
    workspace: Workspace | None = None,
) -> Marked:
    return marked_item(recipient, payload, channel=channel, provider=provider, key=key, workspace=workspace)


def yes() -> bool:
    return True


def no() -> bool:
    return False
