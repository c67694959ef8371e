"""What no provider of a channel can send, known without sending: for providers that only print, record or simulate.

The real e-mail provider asks the same functions (letter.py, enclosed.py) for each item, so what fails here fails there,
with the same reason. The other channels have no check of their own yet.
"""

from datetime import UTC, datetime

from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Rejected

_WRITTEN_AT = datetime(2000, 1, 1, tzinfo=UTC)


def refusal_of(channel: Channel, item: Marked) -> Rejected | None:
    """Why an item can never leave over its channel, or None when nothing is wrong with it."""
    return _refusal_of_email(item) if channel is Channel.EMAIL else None


def _refusal_of_email(item: Marked) -> Rejected | None:
    # The email package is only for those who write e-mails.
    from tidings.providers.enclosed import references_in  # noqa: PLC0415
    from tidings.providers.letter import Sender, compose  # noqa: PLC0415

    references = references_in(item.payload)
    if isinstance(references, Rejected):
        return references
    letter = compose(item, Sender("sender@example.com"), _WRITTEN_AT)
    return letter if isinstance(letter, Rejected) else None
