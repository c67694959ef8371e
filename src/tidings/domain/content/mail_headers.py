"""Which headers the author of an e-mail may set: those that no mail program and no server acts on for others."""

import re

from tidings.domain.messages import quoted

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,75}")
_OPEN = frozenset(
    [
        *("archived-at", "auto-submitted", "comments", "content-language", "feedback-id", "importance", "in-reply-to"),
        *("keywords", "list-archive", "list-help", "list-id", "list-owner", "list-post", "list-subscribe"),
        *("list-unsubscribe", "list-unsubscribe-post", "organization", "precedence", "priority", "references"),
        "sensitivity",
    ]
)
_RELAYS = ("x-smtpapi", "x-mailgun-", "x-mj-", "x-mc-", "x-ses-", "x-pm-", "x-msys-")
"""What services read as commands to themselves: one of them can add recipients."""
_FIELDS = {"from": "from", "reply-to": "replyTo", "cc": "cc", "bcc": "bcc", "subject": "subject", "to": "to"}
_REMEDY = "use a name that begins with X-, or List-Id, In-Reply-To, References, Precedence, Auto-Submitted and the like"


def problem_of_header(name: str) -> str | None:
    """Why a header may not be set, with the remedy; None when it may."""
    lower = name.lower()
    if lower in _FIELDS:
        return f"{quoted(name)} is a field of its own: give {_FIELDS[lower]}"
    if not _NAME.fullmatch(name):
        return f"{quoted(name)} is not the name of a header; {_REMEDY}"
    if lower.startswith(_RELAYS):
        return f"{quoted(name)} is a command to a mail service; leave it out"
    if lower in _OPEN or lower.startswith("x-"):
        return None
    return f"{quoted(name)} may not be set; {_REMEDY}"
