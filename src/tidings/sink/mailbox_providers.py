"""How mailbox providers refuse a message and put one off: their codes, with texts of the form they use.

Gmail lists its replies at support.google.com/a/answer/3726730, Yahoo at postmaster.yahooinc.com/error-codes,
Outlook.com on its postmaster pages; not every text was compared with them. Other domains get any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tidings.sink.arrivals import Answer


@dataclass(frozen=True, slots=True)
class SmtpRefusal:
    """A reply to RCPT, or to the whole message; `{recipient}` is who it is for."""

    text: str
    at_end: bool = False

    def to(self, recipient: str) -> str:
        """The reply for one recipient."""
        return self.text.replace("{recipient}", recipient)


@dataclass(frozen=True, slots=True)
class MailboxProvider:
    """Whose mailboxes these domains are, and what it says."""

    domains: frozenset[str]
    refusals: Sequence[SmtpRefusal]
    deferrals: Sequence[SmtpRefusal]


GMAIL = MailboxProvider(
    frozenset({"gmail.com", "googlemail.com"}),
    refusals=(
        SmtpRefusal(
            "550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the "
            "recipient's email address for typos or unnecessary spaces. For more information, go to "
            "https://support.google.com/mail/?p=NoSuchUser - gsmtp"
        ),
        SmtpRefusal("550 5.2.1 The email account that you tried to reach is inactive. - gsmtp"),
        SmtpRefusal(
            "550 5.7.1 Our system has detected that this message is likely unsolicited mail. To reduce the amount of "
            "spam sent to Gmail, this message has been blocked. - gsmtp",
            at_end=True,
        ),
    ),
    deferrals=(
        SmtpRefusal(
            "450 4.2.1 The user you are trying to contact is receiving mail too quickly. Please resend your message at "
            "a later time. If the user is able to receive mail at that time, your message will be delivered. - gsmtp"
        ),
        SmtpRefusal("452 4.2.2 The recipient's inbox is out of storage space. - gsmtp"),
        SmtpRefusal(
            "421 4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address. "
            "To protect our users from spam, mail sent from your IP address has been temporarily rate limited. - gsmtp",
            at_end=True,
        ),
    ),
)
OUTLOOK = MailboxProvider(
    frozenset({"outlook.com", "hotmail.com", "live.com", "msn.com"}),
    refusals=(SmtpRefusal("550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)."),),
    deferrals=(
        SmtpRefusal(
            "451 4.7.650 The mail server [127.0.0.1] has been temporarily rate limited due to IP reputation. For "
            "e-mail delivery information, see https://aka.ms/postmaster (S775)"
        ),
    ),
)
YAHOO = MailboxProvider(
    frozenset({"yahoo.com", "ymail.com", "aol.com"}),
    refusals=(
        SmtpRefusal("552 1 Requested mail action aborted, mailbox not found", at_end=True),
        SmtpRefusal(
            "554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes",
            at_end=True,
        ),
    ),
    deferrals=(
        SmtpRefusal(
            "421 4.7.0 [TSS04] Messages from 127.0.0.1 temporarily deferred due to unexpected volume or user "
            "complaints - 4.16.55.1; see https://postmaster.yahooinc.com/error-codes"
        ),
        SmtpRefusal("451 4.3.2 Internal error reading data", at_end=True),
    ),
)
PROVIDERS = (GMAIL, OUTLOOK, YAHOO)


def refusals_for(recipient: str, answer: Answer) -> Sequence[SmtpRefusal]:
    """What the provider of a recipient's mailbox may say, or any provider where it is none of them."""
    domain = recipient.rpartition("@")[2].lower()
    theirs = [one for one in PROVIDERS if domain in one.domains] or PROVIDERS
    return [said for one in theirs for said in (one.refusals if answer is Answer.REFUSED else one.deferrals)]
