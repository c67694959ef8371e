"""A filter or an audience as a sentence, for people who check whom something is for."""

import re
from collections.abc import Sequence

from tidings.domain.comparison import IN_WORDS, OF_TIME, WITHOUT_VALUE, Compare, Op
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import (
    ATTRIBUTES,
    LEAVES,
    TIME_PATHS,
    AllOf,
    AnyOf,
    AudienceFilter,
    NamedContacts,
    Not,
    Where,
)

_CAPITAL = re.compile("[A-Z]")
MOST_SAID = 5
"""Values of a list that are named; the others are counted."""


def audience_in_words(audience: Audience, segment: str | None = None) -> str:
    """Whom an audience means, as a sentence without its full stop; `segment` is the name of its segment."""
    named = f"of the segment {segment or audience.segment_id}" if audience.segment_id else ""
    what = " and ".join(part for part in (named, _joined(audience.filters, "and")) if part)
    said = "everyone" if audience.all else f"contacts {what}" if what else ""
    with_named = [one for one in (said, _counted(len(audience.contact_ids))) if one]
    without = [*([] if audience.exclude is None else [f"those {in_words(audience.exclude)}"])]
    without += [_counted(len(audience.exclude_contact_ids))] if audience.exclude_contact_ids else []
    return " and ".join(with_named) + (f", without {' and '.join(without)}" if without else "")


def in_words(wanted: AudienceFilter) -> str:
    """What must hold for contacts, as the words after "contacts"."""
    match wanted:
        case Where("attributes", value):
            means = LEAVES["attributes"].means
            return in_words(means(value)) if means else ""
        case Where(leaf, value):
            return LEAVES[leaf].words(value)
        case Compare():
            return _compared(wanted)
        case NamedContacts(ids):
            return f"among {_counted(len(ids))}"
        case AllOf(parts) | AnyOf(parts):
            return _joined(parts, "and" if isinstance(wanted, AllOf) else "or")
        case Not(part):
            return f"not {_inside(part)}"


def _joined(parts: Sequence[AudienceFilter], word: str) -> str:
    return f" {word} ".join(map(_inside, parts) if len(parts) > 1 else map(in_words, parts))


def _inside(part: AudienceFilter) -> str:
    """A part of something larger: in brackets, where its own words would run into those around it."""
    words = in_words(part)
    is_joined = isinstance(part, AllOf | AnyOf) and len(part.parts) > 1
    return f"({words})" if is_joined or (isinstance(part, Where) and " and " in words) else words


def _compared(one: Compare) -> str:
    root, *below = one.path
    name = ".".join(below) if root == ATTRIBUTES else _spaced(root)
    if root in TIME_PATHS and one.op in OF_TIME:
        return f"{name.partition(' ')[0]} {one.op} {one.value}"
    return f"whose {name} {IN_WORDS[one.op]}{_values(one)}"


def _spaced(name: str) -> str:
    """A field's name as people write it: `time zone`."""
    return _CAPITAL.sub(lambda found: f" {found[0].lower()}", name)


def _values(one: Compare) -> str:
    if one.op in WITHOUT_VALUE:
        return ""
    if one.op is not Op.IN or isinstance(one.value, str):
        return f" {_value(one.value)}"
    said = [_value(value) for value in one.value[:MOST_SAID]]
    more = [f"{len(one.value) - MOST_SAID:,} others"] if len(one.value) > MOST_SAID else []
    return f" {' or '.join([*said, *more])}"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _counted(count: int) -> str:
    return f"{count:,} named {'contact' if count == 1 else 'contacts'}" if count else ""
