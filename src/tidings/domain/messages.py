"""The parts that error messages are made of: a value cut short, a number as people write it, a name that was meant."""

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_QUOTED = 80
LONGEST_COMPARED = 100
"""Characters of a name that are compared with the known ones: longer ones are not worth it."""


def quoted(value: object) -> str:
    """A value as it was given, cut short: a message must not repeat a megabyte."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}…"


def unfit(value: object, why: str) -> str:
    """What is wrong with a value that is needed: that it is missing, or the value itself and why it will not do."""
    return "is missing" if value is None else f"{quoted(value)} {why}"


def shown_number(value: float) -> str:
    """A bound as people write it: 1,000,000 and not 1e+06."""
    return f"{value:,.15g}"


def nearest(given: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, whatever the case of its letters; None when none is near."""
    by_folded = {_folded(name): name for name in known}
    found = get_close_matches(_folded(given[:LONGEST_COMPARED]), by_folded, n=1)
    return by_folded[found[0]] if found else None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`; did you mean 'inDoubt'?`, or nothing when no known name is near."""
    meant = nearest(given, known)
    return f"; did you mean {meant!r}?" if meant else ""


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
