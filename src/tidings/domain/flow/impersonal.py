"""What log lines and operators are told of a provider's words: without the person that the item is for.

No log is erased with a contact, and a provider's rest is shown to every operator, whoever's item met it first.
"""

import re
from collections.abc import Iterable

from tidings.domain.flow.outcome import Accepted, Outcome, Unknown

_EMAIL = re.compile(r"[^\s<>\"'(),:;=]+@[^\s<>\"'(),:;=]+")
_PHONE = re.compile(r"\+\d[\d ().-]{5,}\d")
_SHORTEST = 3
"""Shorter content is not looked for: it would be found everywhere, and names nobody."""


def impersonal(outcome: Outcome, personal: Iterable[str]) -> str:
    """Return the reason without what is personal and without any address; of an error that was raised, its type."""
    if isinstance(outcome, Accepted):
        return ""
    if isinstance(outcome, Unknown) and outcome.kind is not None:
        return outcome.kind
    words = outcome.reason
    for quoted in sorted(personal, key=len, reverse=True):
        if len(quoted) >= _SHORTEST:
            words = re.sub(re.escape(quoted), "…", words, flags=re.IGNORECASE)
    return _PHONE.sub("…", _EMAIL.sub("…", words))
