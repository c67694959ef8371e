"""The envelopes of lists."""

from typing import Generic, TypeVar

from msgspec import field

from tidings.views.view import View

Item = TypeVar("Item")


class Page(View, Generic[Item], frozen=True):
    """One page of a list: ask for the next page with `cursor=nextCursor`, until that is null."""

    items: list[Item] = field(name="data")
    next_cursor: str | None = None


class Everything(View, Generic[Item], frozen=True):
    """A whole list, which is never long enough to need pages."""

    items: list[Item] = field(name="data")
