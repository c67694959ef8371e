"""Build the items that provider tests hand over."""

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Marked, Payload
from tidings.testing import marked_item

PLAIN: Payload = {"subject": "Hello", "body": "Good morning."}


def letter_with_files(files: str) -> dict[str, str]:
    """A letter with everything that one may have; its files are below an address."""
    return {
        "subject": "Hello",
        "body": "Good morning.",
        "html": '<p>Good morning.<img src="cid:logo"></p>',
        "from": "Ann <ann@example.com>",
        "replyTo": "help@example.com",
        "cc": '["Bob <bob@example.com>", "carl@example.com"]',
        "bcc": '["eve@example.com"]',
        "headers": '{"X-Campaign": "7"}',
        "attachments": f'[{{"url": "{files}/a.pdf", "filename": "a.pdf"}},'
        f' {{"url": "{files}/b", "filename": "b.png", "contentType": "image/png", "contentId": "logo"}}]',
    }


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
