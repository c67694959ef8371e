"""Statements about the contacts of a filter: how they are found, and what else is asked of each.

Contacts are found by one leaf of the filter, along its index; the rest is a condition on each contact, put together
from the parts of sql/contact_parts.sql. Every value is a parameter, so one shape of filter is one statement, planned
once. Relative times are counted from the moment that the caller gives: no statement reads a clock.
Rejected, without measuring it: a function that walks the filter as JSON for each contact, which no index helps.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import assert_never
from uuid import UUID

from tidings.domain.channels import Channel
from tidings.domain.comparison import Compare, Op, sought_for_equality, sought_in_order
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import EVERYTHING, Span
from tidings.domain.people.audience_filter import (
    ATTRIBUTES,
    LEAVES,
    TEXT_PATHS,
    TIME_PATHS,
    AllOf,
    AnyOf,
    AudienceFilter,
    NamedContacts,
    Not,
    Where,
    found_by,
)
from tidings.storage.statements import Statement, load_parts

_PARAMETER = re.compile(r":(value|path)\b")
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_KINDS: Mapping[type, str] = {bool: "truth", Decimal: "number", str: "text", datetime: "moment"}
"""How a value is read to be compared, in the names of the parts that do it."""
_ORDERS: Mapping[Op, str] = {
    Op.GREATER: ">",
    Op.GREATER_OR_EQUAL: ">=",
    Op.LESS: "<",
    Op.LESS_OR_EQUAL: "<=",
    Op.BEFORE: "<",
    Op.AFTER: ">",
}


def everything_after(id: UUID | None) -> Span:
    """The span of everything after an id."""
    return Span(UUID(int=id.int + 1)) if id else EVERYTHING


def address_fields(channel: Channel) -> Sequence[str]:
    """The columns in which the part `addresses` looks; a channel that reaches no contact is an error of the caller."""
    if not channel.traits.address_fields:
        raise ValueError(f"nobody is reached over {channel}: a contact has no address for it")
    return channel.traits.address_fields


def for_filter(
    statement: Statement, wanted: AudienceFilter, workspace: Workspace, span: Span, now: datetime
) -> tuple[Statement, Mapping[str, object]]:
    """A statement that finds the contacts of a filter at a moment, and its values."""
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
    matching = _Conditions(now, values).of(AllOf(tuple(rest)))
    return statement.with_parts(found=load_parts()[found], matching=matching), values


def for_condition(
    statement: Statement, wanted: AudienceFilter, now: datetime
) -> tuple[Statement, Mapping[str, object]]:
    """A statement that finds contacts in another way, with a filter as a condition on them."""
    conditions = _Conditions(now)
    return statement.with_parts(matching=conditions.of(wanted)), conditions.values


@dataclass(slots=True)
class _Conditions:
    """The SQL conditions on contact c, and their values under names of their own."""

    now: datetime
    values: dict[str, object] = field(default_factory=dict)
    _count: int = 0

    def of(self, wanted: AudienceFilter) -> str:
        """The condition of a filter."""
        match wanted:
            case Where(leaf, value):
                return self._leaf(leaf, value)
            case Compare():
                return self._comparison(wanted)
            case NamedContacts(ids):
                return self._part("id_is", {"value": ids})
            case AllOf(parts):
                return f"({' and '.join(map(self.of, parts)) or 'true'})"
            case AnyOf(parts):
                return f"({' or '.join(map(self.of, parts)) or 'false'})"
            case Not(part):
                return f"not {self.of(part)}"
            case _:
                assert_never(wanted)

    def _leaf(self, name: str, value: object) -> str:
        leaf = LEAVES[name]
        if leaf.means:
            return self.of(leaf.means(value))
        asked = leaf.asks(value) if leaf.asks else {f"{name}_is": value}
        return f"({' and '.join(self._part(part, {'value': one}) for part, one in asked.items())})"

    def _comparison(self, one: Compare) -> str:
        match one.op:
            case Op.EXISTS | Op.MISSING:
                exists = self._seen("exists", one)
                return f"not {exists}" if one.op is Op.MISSING else exists
            case Op.EQUALS | Op.NOT_EQUALS | Op.IN:
                among = self._among(one, one.value if one.op is Op.IN else [one.value])
                return f"not {among}" if one.op is Op.NOT_EQUALS else among
            case Op.CONTAINS:
                sought = sought_for_equality(one.value)
                return self._seen(f"contains_{_KINDS[type(sought)]}", one, value=_sent(sought, one.value))
            case _:
                sought = sought_in_order(one.value, self.now)
                return self._seen(_KINDS[type(sought)], one, _ORDERS[one.op], value=_sent(sought, one.value))

    def _among(self, one: Compare, given: Sequence[object]) -> str:
        """Equal to one of the values, each as what it is."""
        kinds: dict[type, list[object]] = {}
        for value in given:
            sought = sought_for_equality(value)
            kinds.setdefault(type(sought), []).append(_sent(sought, value))
        ways = [self._seen(f"equals_{_KINDS[kind]}", one, value=some) for kind, some in kinds.items()]
        return f"({' or '.join(ways)})"

    def _seen(self, part: str, one: Compare, order: str = "", **values: object) -> str:
        """A comparison of what a contact has at the path."""
        root, *below = one.path
        if root == ATTRIBUTES:
            return self._part(part, {"path": below, **values}, seen="attributes", order=order)
        if root in TIME_PATHS:
            return self._part("time", values, column=TIME_PATHS[root], order=order)
        return self._part(part, values, seen="field", column=TEXT_PATHS[root], order=order)

    def _part(
        self, name: str, values: Mapping[str, object], *, seen: str = "", column: str = "", order: str = ""
    ) -> str:
        """One part with its parameters; what a contact lacks never matches."""
        self._count += 1
        parts = load_parts()
        text = _COMMENT.sub("", parts[name])
        for written in ("text", "seen") if seen else ():
            text = text.replace(f"[{written}]", f"({parts[f'{written}_{seen}']})")
        text = text.replace("[column]", column).replace("[order]", order)
        self.values |= {f"{given}_{self._count}": value for given, value in values.items()}
        numbered = _PARAMETER.sub(rf":\1_{self._count}", text)
        return f"({numbered}) is true"


def _sent(sought: object, given: object) -> object:
    """The value of a parameter; strings as they were given, for the database has its own small letters."""
    return given if isinstance(sought, str) else sought
