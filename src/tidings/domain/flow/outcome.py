"""What a provider said about one call."""

from datetime import timedelta

import msgspec


class Accepted(msgspec.Struct, frozen=True):
    """The provider took the message; `message_id` is its own name for it, `result` what a function answered."""

    message_id: str | None = None
    result: object = None


class Rejected(msgspec.Struct, frozen=True):
    """The provider refused for good; trying again cannot help.

    `is_gone` says that the recipient's address itself is no more (an app was uninstalled, a subscription ended): it is
    taken from the contact.
    """

    reason: str
    is_gone: bool = False


class RetryLater(msgspec.Struct, frozen=True):
    """Nothing was accepted, and trying again may help.

    `delay` is what the provider asked for; None leaves it to the retry policy. A provider that only says "not so
    fast" (429) uses no attempt: the policy's total time bounds it instead. `is_unanswered` says that the host of a
    function could not be reached.
    """

    reason: str
    delay: timedelta | None = None
    uses_attempt: bool = True
    is_unanswered: bool = False


class Unavailable(msgspec.Struct, frozen=True):
    """The call could not begin, whatever it was for: no connection, no greeting, 421, refused credentials.

    It is the provider's trouble: the item uses no attempt and waits, and the provider rests for all workers.
    `is_refused` says that our settings are refused, so that a person has to mend them. The reason is shown to the
    operators of Tidings; it must not name the item's recipient.
    """

    reason: str
    is_refused: bool = False


class Unknown(msgspec.Struct, frozen=True):
    """The request may have arrived: the item is in doubt, and only evidence, policy or a person can end that.

    `is_unanswered` says that not even a part of an answer came. `kind` is what log lines say instead of a reason that
    may quote anything, as the text of an exception.
    """

    reason: str
    kind: str | None = None
    is_unanswered: bool = False


Outcome = Accepted | Rejected | RetryLater | Unavailable | Unknown
