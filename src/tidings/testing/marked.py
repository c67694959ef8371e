"""An item as a provider gets it, for tests of your own provider: nothing is stored for it, and nothing was marked."""

from collections.abc import Mapping
from hashlib import sha256
from uuid import uuid4

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Fence, ItemId, Marked, OwnerId
from tidings.kernel.flow.marking import make_marked

PLAIN: Mapping[str, str] = {"subject": "Hello", "body": "Good morning."}


def marked_item(
    recipient: str = "ada@example.com",
    payload: Mapping[str, str] = PLAIN,
    *,
    channel: Channel = Channel.EMAIL,
    provider: str = "mine",
    key: bytes | None = None,
    attempt: int = 1,
    workspace: Workspace | None = None,
) -> Marked:
    """An item that may be handed to a provider's `send`; the key is the recipient's unless one is given."""
    own_key = sha256(recipient.encode("utf-8", "surrogatepass")).digest()
    return make_marked(
        ItemId(uuid4()),
        OwnerId(uuid4()),
        Fence(1),
        attempt,
        attempt,  # the attempts it has used, this one among them
        channel,
        provider,
        recipient,
        payload,
        own_key if key is None else key,
        workspace or Workspace(),
    )
