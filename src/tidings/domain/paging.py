"""Long lists, a page at a time: newest first, and a cursor that says where the last page ended.

An id carries the time at which it was made (ids.py), so a cursor and a span of time are both a range of ids, and a page
is read from the index that orders its list, however long the list is.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from tidings.domain.errors import InputInvalid, Problem, ProblemsFound
from tidings.domain.flow.ids import first_id_at
from tidings.domain.timing import parse_time
from tidings.views.pages import Page

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 1_000
OLDEST = UUID(int=0)
NEWEST = UUID(int=2**128 - 1)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Created:
    """When something was made: at `after` or later, and earlier than `before`; to the millisecond."""

    after: datetime | None = None
    before: datetime | None = None


ANY_TIME = Created()


@dataclass(frozen=True, slots=True)
class Span:
    """A range of ids: `since` is in it, `before` is not."""

    since: UUID = OLDEST
    before: UUID = NEWEST


EVERYTHING = Span()


def read_created(
    after: str | None, before: str | None, names: tuple[str, str] = ("createdAfter", "createdBefore")
) -> Created:
    """The times that a caller gave under these names, or ProblemsFound with what is wrong with each."""
    problems: list[Problem] = []
    created = Created(_read_time(after, names[0], problems), _read_time(before, names[1], problems))
    if created.after and created.before and created.after >= created.before:
        what = f"{after!r} is not earlier than {names[1]} {before!r}, so nothing can be found; exchange the two"
        problems.append(Problem(names[0], what))
    if problems:
        raise ProblemsFound(problems)
    return created


def _read_time(text: str | None, name: str, problems: list[Problem]) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError:
        hint = " (in a URL a + is written %2B)" if "T" in text and " " in text.strip() else ""
        what = f"{text[:50]!r} is not a time: write ISO 8601, like 2027-01-31 or 2027-01-31T09:00:00Z{hint}"
        problems.append(Problem(name, what))
        return None


def newest_first(cursor: str | None, created: Created = ANY_TIME) -> Span:
    """Where the next page of a list lies that begins with its newest."""
    span = _made_in(created)
    return Span(span.since, min(span.before, read_cursor(cursor) or NEWEST))


def oldest_first(cursor: str | None, created: Created = ANY_TIME) -> Span:
    """Where the next page of a list lies that begins with its oldest."""
    span, last = _made_in(created), read_cursor(cursor)
    return Span(max(span.since, next_id(last) if last else OLDEST), span.before)


def next_id(last: UUID) -> UUID:
    """The smallest id after this one."""
    return UUID(int=min(last.int + 1, NEWEST.int))


def _made_in(created: Created) -> Span:
    return Span(
        first_id_at(created.after) if created.after else OLDEST,
        first_id_at(created.before) if created.before else NEWEST,
    )


def write_cursor(last: UUID) -> str:
    """The cursor of the page after this one; opaque to callers."""
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
