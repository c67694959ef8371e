"""Rows become records by the names of their columns, whatever a statement's function returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NewType
from uuid import UUID

import pytest
from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.paging import Span
from tidings.storage.rows import reader_of
from tidings.storage.statements import Statement, Statements

Count = NewType("Count", int)


class Color(StrEnum):
    RED = "red"


class Car(Struct, frozen=True, kw_only=True):
    name: str
    color: Color
    other: Color | None = None


class Garage(Struct, frozen=True, kw_only=True):
    best: Car
    spare: Car | None


class Palette(Struct, frozen=True):
    colors: Sequence[Color]


@dataclass(frozen=True, slots=True)
class Owned:
    name: str
    workspace: Workspace


class Row(dict[str, Any]):
    """A row: by name, by number, and in the order of its columns."""

    def __getitem__(self, name: Any) -> Any:
        return [*self.values()][name] if isinstance(name, int) else super().__getitem__(name)

    def __iter__(self) -> Any:
        return iter(self.keys())


class Recorder:
    """Gives rows, and remembers what it was asked with."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.asked: Sequence[object] = ()

    async def fetch_ordered(self, _: Statement, arguments: Sequence[object]) -> Any:
        self.asked = arguments
        return self.rows


RED = Row(name="a", color="red", other=None)


@pytest.mark.parametrize(
    ("returned", "rows", "read"),
    [
        (list[Car], [RED], [Car(name="a", color=Color.RED)]),
        (Car, [RED], Car(name="a", color=Color.RED)),
        (Car | None, [], None),
        (Garage, [Row(best=RED, spare=None)], Garage(best=Car(name="a", color=Color.RED), spare=None)),
        (list[tuple[str, str]], [("a", "b")], [("a", "b")]),
        (list[Count], [Row(n=1), Row(n=2)], [1, 2]),
        (set[Count], [Row(n=1), Row(n=2), Row(n=1)], {1, 2}),
        (Color | None, [Row(n=None)], None),
        (Mapping[int, str], [Row(id=1, name="a")], {1: "a"}),
        (Mapping[int, Car], [Row(id=1, **RED)], {1: Car(name="a", color=Color.RED)}),
        (Mapping[int, list[str]], [Row(id=1, n="a"), Row(id=1, n="b")], {1: ["a", "b"]}),
        (Owned, [Row(name="a", tenant="t", workspace="w")], Owned("a", Workspace("t", "w"))),
        (Palette, [Row(colors=["red"])], Palette([Color.RED])),
        (type(None), [RED], None),
    ],
)
def test_the_type_that_is_returned_says_what_rows_become(returned: Any, rows: list[Any], read: object) -> None:
    assert reader_of(returned)(rows) == read


STATEMENTS = Statements(find=Statement("find", "…", ("before", "tenant", "shard", "workspace", "since", "limit")))
SPAN = Span(UUID(int=1), UUID(int=2))


async def find(tx: Any, *, shard: Shard, workspace: Workspace, span: Span, limit: int = 5) -> list[Car]:  # type: ignore[empty-body]
    """Some cars."""


async def test_arguments_are_bound_by_name_and_a_workspace_and_a_span_are_two_each() -> None:
    tx: Any = Recorder([RED])

    found = await STATEMENTS.statement(find)(tx, shard=Shard(3), workspace=Workspace("t", "w"), span=SPAN)

    assert found == [Car(name="a", color=Color.RED)]
    assert tx.asked == [SPAN.before, "t", 3, "w", SPAN.since, 5]


async def test_an_argument_that_is_missing_or_unknown_is_refused() -> None:
    run: Any = STATEMENTS.statement(find)

    with pytest.raises(TypeError, match="find is called with"):
        await run(Recorder([]), shard=Shard(3), workspace=Workspace(), span=SPAN, limits=5)


def test_a_signature_that_is_not_the_statement_s_is_refused_when_it_is_read() -> None:
    with pytest.raises(TypeError, match=r"find takes \['limit'\]"):
        Statements(find=Statement("find", "…", ("limit",))).statement(find)
