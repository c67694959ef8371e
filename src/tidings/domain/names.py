"""What things may be called: a name must show what it is, in a list, in a log and on a terminal."""

import re
import unicodedata
from uuid import UUID

from tidings.domain.messages import quoted, unfit
from tidings.domain.storable import UNSTORABLE, is_storable

LONGEST_NAME = 200
LONGEST_SLUG = 64
NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters, ends of lines, and what turns the direction of the text after it around."""
BREAKS_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters and ends of lines: what no header of an e-mail can hold."""
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_WHY_NOT_SHOWN = "a line break, a control character, or one that turns the direction of writing around"


def problem_of_name(given: object, longest: int = LONGEST_NAME) -> str | None:
    """Why something cannot be called so, with the remedy; None when it can."""
    if not isinstance(given, str):
        return f"{quoted(given)} is not a name: use a string of 1 to {longest} characters"
    if not given.isascii() and not is_storable(given):
        return UNSTORABLE
    if not is_visible(given):
        return f"{quoted(given)} is not a name: use at least one character that can be seen"
    if len(given) > longest:
        return f"has {len(given):,} characters: use at most {longest}"
    return problem_of_characters(given)


def problem_of_slug(given: object) -> str | None:
    """Why something that others call by its name cannot be called so; None when it can. No slug is an id."""
    if isinstance(given, str) and len(given) <= LONGEST_SLUG and _SLUG.fullmatch(given) and not _is_id(given):
        return None
    how = f"use 1 to {LONGEST_SLUG} lower case letters and digits, with dashes or underscores between them"
    return f"{unfit(given, 'is not a name here')}: {how}"


def _is_id(given: str) -> bool:
    try:
        UUID(given)
    except ValueError:
        return False
    return True


def problem_of_characters(given: str) -> str | None:
    """Why a string cannot be shown on one line as it is; None when it can."""
    found = NOT_SHOWN.search(given)
    return f"holds {found[0]!a} ({_WHY_NOT_SHOWN}); leave it out" if found else None


def is_visible(text: str) -> bool:
    """Whether anything of a string is visible: blanks and characters without a shape are not."""
    return any(unicodedata.category(one)[0] not in "CZ" for one in text)
