"""What a post on Bluesky has beside its text: links by their places in bytes, and a name made of our key."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from tidings.domain.flow.ids import EPOCH
from tidings.domain.flow.keys import owner_time

MOST_BYTES = 3_000
_LINK = re.compile(r"https?://[^\s<>\"]+")
_AFTER_A_LINK = ".,;:!?)]}'\""
_MICROSECOND = timedelta(microseconds=1)
_TID = "234567abcdefghijklmnopqrstuvwxyz"
_TID_BITS, _TIME_BITS, _HASH_BITS = 63, 53, 40


def facets(text: str) -> Sequence[Mapping[str, Any]]:
    """Return the links in a text; a network shows none that is not named by where it begins and ends in UTF-8."""
    found = []
    for match in _LINK.finditer(text):
        link = match[0].rstrip(_AFTER_A_LINK)
        start = len(text[: match.start()].encode())
        found.append(
            {
                "index": {"byteStart": start, "byteEnd": start + len(link.encode())},
                "features": [{"$type": "app.bsky.richtext.facet#link", "uri": link}],
            }
        )
    return found


def record_key(key: bytes) -> str:
    """The name of an item's post in its account: a TID, which is a time and as much of our key as fits below it.

    The same for every attempt. The time is that of the item's owner, to some eighteen minutes; 40 bits tell the posts
    of those minutes apart.
    """
    micros = (owner_time(key) - EPOCH) // _MICROSECOND & (1 << _TIME_BITS) - 1
    low = int.from_bytes(key[-5:], "big")
    number = (micros << _TID_BITS - _TIME_BITS) >> _HASH_BITS << _HASH_BITS | low
    return "".join(_TID[number >> shift & 31] for shift in range(60, -1, -5))
