"""How many parts an SMS is sent in: each is charged, and a letter beyond GSM's own alphabet halves what fits.

The alphabet and its extension are those of 3GPP TS 23.038 (GSM 03.38), section 6.2.1; the lengths of parts that belong
together leave room for the six bytes of the header that says so (3GPP TS 23.040, section 9.2.3.24.1).
"""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = frozenset("\f^{}\\[~]|€")
"""These take two places: the escape comes before them."""
_ALONE = {"gsm": 160, "ucs2": 70}
_TOGETHER = {"gsm": 153, "ucs2": 67}


class Segments(msgspec.Struct, frozen=True):
    """How a text is sent: its alphabet, its length in that alphabet, and the number of its parts."""

    encoding: Literal["gsm", "ucs2"]
    units: int
    segments: int


def count_segments(text: str) -> Segments:
    """Count the parts of an SMS."""
    if all(char in _BASIC or char in _EXTENDED for char in text):
        return _counted("gsm", text, lambda char: 2 if char in _EXTENDED else 1)
    return _counted("ucs2", text, lambda char: 2 if ord(char) > 0xFFFF else 1)


def _counted(encoding: Literal["gsm", "ucs2"], text: str, size: Callable[[str], int]) -> Segments:
    sizes = [size(char) for char in text]
    units = sum(sizes)
    parts = 1 if units <= _ALONE[encoding] else _parts(sizes, _TOGETHER[encoding])
    return Segments(encoding, units, parts)


def _parts(sizes: Iterable[int], room: int) -> int:
    """Fill parts one after the other; what takes two places is never divided between two of them."""
    parts, used = 1, 0
    for size in sizes:
        if used + size > room:
            parts, used = parts + 1, 0
        used += size
    return parts


def problem_of_segments(text: str, most: int) -> str | None:
    """Why a text is too long for its limit, or None."""
    found = count_segments(text)
    if found.segments <= most:
        return None
    why = "" if found.encoding == "gsm" else "; a letter that GSM does not have makes the parts shorter"
    return f"the text takes {found.segments} segments ({found.units} characters), more than {most}{why}"
