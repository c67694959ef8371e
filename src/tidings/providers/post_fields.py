"""A post in parts, as social networks take it, and whether it is for the account that a connection has."""

from dataclasses import dataclass

from tidings.domain.flow.item import Marked, Payload
from tidings.domain.flow.outcome import Rejected
from tidings.providers.message_fields import is_default


@dataclass(frozen=True, slots=True)
class PostFields:
    """What is posted: the text with its link in it."""

    text: str


def post_fields(item: Marked, account: str) -> PostFields | Rejected:
    """Return the parts of an item's post, or why it can never be posted over this connection.

    A connection that says which account it has posts for no other: a post under the wrong name cannot be taken back.
    """
    if account and not is_default(item.recipient) and _plain(item.recipient) != _plain(account):
        return Rejected(f"it is for another account than {account!r}, which the connection has")
    text = post_text(item.payload)
    return PostFields(text) if text else Rejected("the post is empty: give it a body or a url")


def post_text(payload: Payload) -> str:
    """The text of a post with its link in it."""
    body, url = payload.get("body", ""), payload.get("url", "")
    return "\n\n".join(part for part in (body, "" if url in body else url) if part)


def _plain(account: str) -> str:
    return account.strip().removeprefix("@").lower()
