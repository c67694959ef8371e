"""What an SMTP server's refusal means for the item.

The basic code decides; the enhanced code of RFC 3463 (x.y.z, believed only when x agrees) makes exceptions where a
"permanent" refusal is not about this person, or a "transient" one only asks for patience:

    stage          reply                               outcome
    -------------  ----------------------------------  -----------------------------------------------------------
    open           5yz                                 unavailable, refused: our settings' fault, not the person's
    open           any other, or none                  unavailable
    mail           530 534 535 538, 5.7.z              unavailable, refused: we may not send, to any recipient
    rcpt data      530 534 535 538, 5.7.8–5.7.14       unavailable, refused: credentials or encryption are wanting
    end            530 534 535 538                     the same; Yahoo's 554 5.7.9 there is a policy about this mail
    any            421                                 unavailable: the server closes the connection, for everybody
    any            454, 4.7.z                          later, no attempt used: throttled, or greylisted
    any            other 4yz                           later
    rcpt           552 without an enhanced code        later: RFC 5321 §4.5.3.1.10 reads it as 452
    any            5.2.2                               later: the mailbox is full, and may be emptied
    any            5.3.1, 5.3.2, 5.3.5                 later: the server is full, closed or set up wrongly
    any            other 5yz                           rejected (5.7.z at rcpt, data, end too: a policy about this mail)
    end            anything that is no refusal         unknown: the message was handed over
    before end     anything that is no refusal         later: the server does not speak SMTP with us

Retrying stays bounded: by attempts, or, where none is used, by the retry policy's total time; waiting for a server that
is unavailable, by the patience with outages.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from tidings.domain.flow.outcome import Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.providers.printable import printable

_ENHANCED = re.compile(r"([245])\.([0-9]{1,3})\.([0-9]{1,3})(?![0-9.])")
_NO_CREDENTIALS = frozenset({530, 534, 535, 538})
_SERVER_TROUBLE = frozenset({(3, 1), (3, 2), (3, 5)})
_MAILBOX_FULL = (2, 2)
_POLICY = 7
_CREDENTIAL_POLICIES = range(8, 15)
_CLOSING = 421
_ADDRESS = re.compile(r"\S+@\S+")


class SmtpReply(NamedTuple):
    """A whole reply: its code, and the text of its lines."""

    code: int
    message: str


class Stage(StrEnum):
    """The command that was answered."""

    MAIL = "MAIL FROM"
    RCPT = "RCPT TO"
    DATA = "DATA"
    END = "the end of the message"


def judge(stage: Stage, reply: SmtpReply) -> Outcome:
    """Turn a reply that is not the hoped-for one into an outcome."""
    reason = f"{reply.code} {printable(reply.message)} (at {stage})"
    if not 400 <= reply.code < 600:
        return Unknown(reason) if stage is Stage.END else RetryLater(f"unexpected reply {reason}")
    enhanced = _enhanced(reply)
    if reply.code == _CLOSING or _is_channel_fault(stage, reply.code, enhanced):
        # Shown to the operator, so it must not name the recipient.
        return Unavailable(_ADDRESS.sub("…", reason), is_refused=reply.code != _CLOSING)
    if reply.code < 500:
        throttled = reply.code == 454 or (enhanced is not None and enhanced[0] == _POLICY)
        return RetryLater(reason, uses_attempt=not throttled)
    return RetryLater(reason) if _may_pass(stage, reply.code, enhanced) else Rejected(reason)


def _enhanced(reply: SmtpReply) -> tuple[int, int] | None:
    found = _ENHANCED.match(reply.message)
    if found is None or int(found[1]) != reply.code // 100:
        return None
    return int(found[2]), int(found[3])


def _is_channel_fault(stage: Stage, code: int, enhanced: tuple[int, int] | None) -> bool:
    if code in _NO_CREDENTIALS:
        return True
    if code < 500 or enhanced is None or enhanced[0] != _POLICY:
        return False
    return stage is Stage.MAIL or (stage is not Stage.END and enhanced[1] in _CREDENTIAL_POLICIES)


def _may_pass(stage: Stage, code: int, enhanced: tuple[int, int] | None) -> bool:
    if enhanced is None:
        return stage is Stage.RCPT and code == 552
    return enhanced == _MAILBOX_FULL or enhanced in _SERVER_TROUBLE
