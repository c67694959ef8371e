"""Statements about the contacts of a filter: how they are found, and what else is asked of each.

Contacts are found by one leaf of the filter, along its index; the rest is a condition on each contact, put together
from the parts of sql/contact_parts.sql. Every value is a parameter, so one shape of filter is one statement, planned
once. Rejected, without measuring it: a function that walks the filter as JSON for each contact, which no index helps.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import assert_never
from uuid import UUID

from tidings.domain.channels import Channel
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import EVERYTHING, Span
from tidings.domain.people.audience_filter import AllOf, AnyOf, AudienceFilter, NamedContacts, Not, Where, found_by
from tidings.storage.statements import Statement, load_parts

_VALUE = re.compile(r":value\b")
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def everything_after(id: UUID | None) -> Span:
    """The span of everything after an id."""
    return Span(UUID(int=id.int + 1)) if id else EVERYTHING


def address_fields(channel: Channel) -> Sequence[str]:
    """The columns in which the part `addresses` looks; a channel that reaches no contact is an error of the caller."""
    if not channel.traits.address_fields:
        raise ValueError(f"nobody is reached over {channel}: a contact has no address for it")
    return channel.traits.address_fields


def for_filter(
    statement: Statement, wanted: AudienceFilter, workspace: Workspace, span: Span
) -> tuple[Statement, Mapping[str, object]]:
    """A statement that finds the contacts of a filter, and its values."""
    leaf = found_by(wanted)
    values: dict[str, object] = {
        "tenant": workspace.tenant,
        "workspace": workspace.name,
        "since": span.since,
        "before": span.before,
    }
    found = "found"
    if isinstance(leaf, NamedContacts):
        found, values["ids"] = "found_by_id", leaf.ids
    elif leaf is not None:
        found, values[leaf.leaf] = f"found_by_{leaf.leaf}", leaf.value
    rest = [one for one in (wanted.parts if isinstance(wanted, AllOf) else (wanted,)) if one is not leaf]
    matching = _condition(AllOf(tuple(rest)), values, count(1))
    return statement.with_parts(found=load_parts()[found], matching=matching), values


def for_condition(statement: Statement, wanted: AudienceFilter) -> tuple[Statement, Mapping[str, object]]:
    """A statement that finds contacts in another way, with a filter as a condition on them."""
    values: dict[str, object] = {}
    return statement.with_parts(matching=_condition(wanted, values, count(1))), values


def _condition(wanted: AudienceFilter, values: dict[str, object], numbers: Iterator[int]) -> str:
    """The SQL condition on contact c, and its values under names of their own."""
    match wanted:
        case Where(leaf, value):
            return _leaf(leaf, value, values, numbers)
        case NamedContacts(ids):
            return _leaf("id", ids, values, numbers)
        case AllOf(parts):
            return f"({' and '.join(_condition(part, values, numbers) for part in parts) or 'true'})"
        case AnyOf(parts):
            return f"({' or '.join(_condition(part, values, numbers) for part in parts) or 'false'})"
        case Not(part):
            return f"not {_condition(part, values, numbers)}"
        case _:
            assert_never(wanted)


def _leaf(name: str, value: object, values: dict[str, object], numbers: Iterator[int]) -> str:
    """The SQL condition of one leaf; a field that a contact lacks never matches."""
    parameter = f"{name}_{next(numbers)}"
    values[parameter] = value
    text = _COMMENT.sub("", load_parts()[f"{name}_is"])
    return f"({_VALUE.sub(f':{parameter}', text)}) is true"
