"""What went wrong, without what is different each time: errors of the same kind have the same text. Pure.

Numbers, ids, e-mail addresses and quoted values are taken out. A reply code of three digits that says a refusal (4xx,
5xx) and an enhanced status of mail (5.1.1) stay: they say what kind of error it is.
"""

import re
from functools import lru_cache
from uuid import NAMESPACE_OID, UUID, uuid5

LONGEST = 500
"""How much of an error is looked at, in characters."""
_CHANGING = re.compile(
    r"""(?P<address>[^\s<>"'`@,;:()]+@[^\s<>"'`@,;:()]+)
      | (?P<quoted>(?<!\w)'[^']*'(?!\w) | "[^"]*" | `[^`]*`)
      | (?P<code>(?<![\w.,])(?:[45]\d\d|[245]\.\d{1,3}\.\d{1,3})(?![\w]|[.,]\d))
      | (?P<id>(?<![\w-])(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}
              | (?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]{7,})(?![\w-]))
      | (?P<number>\d+(?:[.,:]\d+)*)
    """,
    re.VERBOSE | re.ASCII,
)
_STANDS_FOR = {"address": "‹address›", "quoted": "‹value›", "id": "‹id›", "number": "#"}


@lru_cache(maxsize=10_000)
def failure_text(error: str) -> str:
    """Return an error without its numbers, ids, addresses and quoted values; what has none is returned as it is."""
    text, last = " ".join(error[:LONGEST].split()), ""
    while text != last:  # what stands for something may end a word that hid a quotation
        text, last = _CHANGING.sub(_stand_in, text), text
    return text


@lru_cache(maxsize=10_000)
def failure_id(text: str) -> UUID:
    """Return the id of all failures with this text: always the same."""
    return uuid5(NAMESPACE_OID, text)


def _stand_in(found: re.Match[str]) -> str:
    return _STANDS_FOR.get(found.lastgroup or "", found[0])
