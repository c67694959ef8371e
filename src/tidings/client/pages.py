"""Turn lists that come in pages into one iterator."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from tidings.client.errors import ApiError
from tidings.client.transport import ApiRequest, Query, Transport, unreadable
from tidings.views.pages import Page

Item = TypeVar("Item")
Time = datetime | str | None
"""The time something was created; a datetime without a time zone, and a date in a string, are UTC."""


async def pages(
    transport: Transport,
    path: str,
    query: Query,
    kind: type[Item],
    created_after: Time = None,
    created_before: Time = None,
) -> AsyncIterator[Item]:
    """Yield every item of a list; fetch a page when the one before is used up."""
    asked = {**query, "createdAfter": _written(created_after), "createdBefore": _written(created_before)}
    cursor: str | None = None
    while True:
        page = await transport.ask(ApiRequest("GET", path, query={**asked, "cursor": cursor}), Page[Any])
        for item in page.items:
            yield _item(item, kind)
        if page.next_cursor is None:
            return
        if page.next_cursor == cursor:
            raise ApiError(200, "answer_unreadable", "the list does not end: a page names itself as the next")
        cursor = page.next_cursor


def _written(time: Time) -> str | None:
    return time.isoformat() if isinstance(time, datetime) else time


def _item(item: object, kind: type[Item]) -> Item:
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        raise unreadable(error) from error
