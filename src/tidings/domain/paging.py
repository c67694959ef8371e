"""Long lists, a page at a time: newest first, and a cursor that says where the last page ended."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from tidings.domain.errors import InputInvalid

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 1_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some of a list; without `next_cursor` it is the last."""

    items: list[Item]
    next_cursor: str | None


def write_cursor(last: UUID) -> str:
    """The cursor of the page after this one; opaque to whoever is given it."""
    return urlsafe_b64encode(last.bytes).rstrip(b"=").decode()


def read_cursor(cursor: str | None) -> UUID | None:
    """Where the last page ended, or None for the first one."""
    if cursor is None:
        return None
    try:
        last = UUID(bytes=urlsafe_b64decode(cursor.encode("ascii") + b"=="))
    except ValueError:
        last = None
    if last is None or write_cursor(last) != cursor:
        raise InputInvalid(f"cursor {cursor[:50]!r} is not one of ours; take nextCursor from the page before")
    return last


def check_limit(limit: int) -> None:
    """Refuse a page that is empty or too large."""
    if not 1 <= limit <= LARGEST_LIMIT:
        raise InputInvalid(f"limit {limit}: use 1 to {LARGEST_LIMIT}")


def page_of(found: Sequence[Item], limit: int, id_of: Callable[[Item], UUID]) -> Page[Item]:
    """A page of what was found when one more than `limit` was looked for."""
    items = list(found[:limit])
    return Page(items, write_cursor(id_of(items[-1])) if len(found) > limit else None)
