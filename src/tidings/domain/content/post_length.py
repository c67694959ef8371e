"""How long a post may be, by network, counted as the network counts; a server may allow its own accounts more.

Mastodon counts characters and each link as 23 (docs.joinmastodon.org, "Posting to your profile"; `max_characters` and
`characters_reserved_per_url` of its instance API), Bluesky graphemes (lexicon app.bsky.feed.post: maxGraphemes 300), X
weighted characters (docs.x.com, "Counting characters": 280, a link 23, most scripts beyond Latin 2), the others
characters.
"""

import re
import unicodedata
from collections.abc import Callable

from tidings.domain.channels import NETWORKS

__all__ = ["NETWORKS", "count_graphemes", "longest_post", "post_length", "problem_of_post"]

LINK_LENGTH = 23
_LINK = re.compile(r"https?://[^\s<>\"]+")
_JOINER = "\u200d"
_LIGHT = ((0, 0x10FF), (0x2000, 0x200D), (0x2010, 0x201F), (0x2032, 0x2037))
"""The ranges of characters that X counts once."""


def count_graphemes(text: str) -> int:
    """Count what a person sees as one character: marks, joined emojis and flags count with what they belong to."""
    count, flags, joined = 0, 0, False
    for char in text:
        is_flag = 0x1F1E6 <= ord(char) <= 0x1F1FF
        flags = flags + 1 if is_flag else 0
        second_of_flag = is_flag and flags % 2 == 0
        if not (joined or second_of_flag or _extends(char)):
            count += 1
        joined = char == _JOINER
    return count


def _extends(char: str) -> bool:
    code = ord(char)
    is_tone = 0x1F3FB <= code <= 0x1F3FF
    is_vowel = 0x1160 <= code <= 0x11FF  # of a Hangul syllable that is written in parts
    is_tag = 0xE0020 <= code <= 0xE007F
    return char == _JOINER or is_tone or is_vowel or is_tag or unicodedata.category(char) in ("Mn", "Me", "Mc")


def _with_short_links(text: str) -> int:
    return len(_LINK.sub("x" * LINK_LENGTH, text))


def _weighted(text: str) -> int:
    shortened = _LINK.sub("x" * LINK_LENGTH, unicodedata.normalize("NFC", text))
    return sum(1 if any(first <= ord(char) <= last for first, last in _LIGHT) else 2 for char in shortened)


_LIMITS: dict[str, tuple[int, Callable[[str], int]]] = {
    "mastodon": (500, _with_short_links),
    "bluesky": (300, count_graphemes),
    "x": (280, _weighted),
    "threads": (500, len),
    "linkedin": (3_000, len),
    "facebook": (63_206, len),
}


def longest_post(network: str) -> int | None:
    """Return how long a post may be there; None for a network that is not in the table."""
    return _LIMITS[network][0] if network in _LIMITS else None


def post_length(network: str, text: str) -> int:
    """Return the length of a post as the network counts it."""
    return _LIMITS[network][1](text) if network in _LIMITS else len(text)


def problem_of_post(network: str, text: str, *, most: int | None = None) -> str | None:
    """Why a post is too long for a network, or None; `most` is what a server itself says, in place of the table's."""
    limit = longest_post(network) if most is None else most
    length = post_length(network, text)
    if limit is None or length <= limit:
        return None
    return f"the post has {length:,} characters as {network} counts them, more than {limit:,}; shorten it"
