"""What a chat message says, as Slack takes it.

The three characters that begin its markup are escaped: a name that somebody filled in must not call a whole channel.
"""

from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Rejected
from tidings.providers.message_fields import text_of


def slack_text(item: Marked) -> str | Rejected:
    """Return the text of a message, below its title in bold."""
    text, title = text_of(item), item.payload.get("title")
    if isinstance(text, Rejected):
        return text
    return f"*{_escaped(title)}*\n{_escaped(text)}" if title else _escaped(text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
