"""The envelopes of lists."""

from typing import Generic, TypeVar

from msgspec import field

from tidings.views.view import View

Item = TypeVar("Item")


class Page(View, Generic[Item], frozen=True):
    """A page: ask with `cursor=nextCursor` for the next, until that is null."""

    items: list[Item] = field(name="data")
    next_cursor: str | None = None


class Everything(View, Generic[Item], frozen=True):
    """A list that is never long."""

    items: list[Item] = field(name="data")
