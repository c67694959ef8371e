"""Links that run code or smuggle a page in: refused in what is written, and in what data makes of it."""

import re
from html import unescape

from tidings.domain.messages import quoted

_ATTRIBUTE = re.compile(
    r"""\b(href|src|action|formaction|background|poster)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE
)
_RUNS = ("javascript:", "vbscript:")
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028\u2029\ufeff]+")
"""What a browser drops from the beginning of an address, and some of it from its middle."""
_LONGEST_SCHEME = 200
SAFE = "use https://, mailto: or tel:"


def problem_of_link(url: str) -> str | None:
    """Why nobody should be sent this address, or None."""
    begins = _UNSEEN.sub("", url[:_LONGEST_SCHEME]).lower()
    if begins.startswith((*_RUNS, "data:")):
        return f"{quoted(url[:60])} is not a link that may be sent; {SAFE}"
    return None


def problem_of_links(html: str) -> str | None:
    """Why HTML may not be sent: the first address in it that runs code, or a link to a page made of data."""
    for found in _ATTRIBUTE.finditer(html):
        value = unescape(found[2] or found[3] or found[4] or "")[:_LONGEST_SCHEME]
        begins = _UNSEEN.sub("", value).lower()
        is_link = found[1].lower() in ("href", "action", "formaction")
        if begins.startswith(_RUNS) or (is_link and begins.startswith("data:")):
            return f"{quoted(value[:60])} is not a link that may be sent; {SAFE}"
    return None
