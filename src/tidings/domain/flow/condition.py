"""Conditions on the edges out of a branch: data compared with data, so deciding needs no template or child process.

They are filters like those of audiences, with the same operators and leaves. A path leads into what templates see;
a leaf, and a path below `contact`, asks the contact that the execution is for, as an audience would.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidings.domain.comparison import Compare, compares, value_at
from tidings.domain.people.audience_filter import (
    ATTRIBUTES,
    TEXT_PATHS,
    TIME_PATHS,
    AudienceFilter,
    Where,
    decide,
    is_so,
)
from tidings.domain.people.contact import CONTACT, LoadedContact

_ASKED_OF_CONTACTS = frozenset([ATTRIBUTES, *TEXT_PATHS, *TIME_PATHS])


def holds(
    condition: AudienceFilter, context: Mapping[str, object], now: datetime, contact: LoadedContact | None = None
) -> bool:
    """Whether a condition is true of a context and its contact; without a contact, what is asked of one is not so."""
    person = contact.as_contact() if contact else None

    def is_true(one: Compare | Where) -> bool:
        if isinstance(one, Where):
            return person is not None and is_so(one, person, now)
        of_contact = _of_contact(one, person)
        if of_contact is not None:
            return is_so(of_contact, person, now)
        return compares(one.op, value_at(context, one.path), one.value, now)

    return decide(condition, is_true, lambda _: False)


def _of_contact(one: Compare, person: Any) -> Compare | None:
    """The comparison as an audience makes it, where it is about the execution's contact."""
    root, *below = one.path
    if person is None or root != CONTACT or not below or below[0] not in _ASKED_OF_CONTACTS:
        return None
    if (below[0] == ATTRIBUTES) != (len(below) > 1):
        return None  # all attributes at once, or something below a string: as the context has it
    return Compare(tuple(below), one.op, one.value)
