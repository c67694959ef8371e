"""Build the items that provider tests hand over."""

import hashlib
from uuid import UUID

from tidings.domain.ids import Workspace
from tidings.domain.item import Channel, Fence, ItemId, Marked, OwnerId, Payload

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
    return Marked(
        id=ItemId(UUID(int=1)),
        owner=OwnerId(UUID(int=2)),
        fence=Fence(1),
        attempt=1,
        attempts=0,
        channel=channel,
        provider=provider,
        recipient=recipient,
        payload=payload,
        key=key if key is not None else hashlib.sha256(recipient.encode("utf-8", "surrogatepass")).digest(),
        workspace=workspace or Workspace(),
    )


def yes() -> bool:
    return True


def no() -> bool:
    return False
