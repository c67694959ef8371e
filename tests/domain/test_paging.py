"""Cursors: opaque, exact, and refused when they are not ours."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.errors import InputInvalid
from tidings.domain.paging import page_of, read_cursor, write_cursor


@given(st.uuids())
def test_a_cursor_says_where_a_page_ended(last: UUID) -> None:
    assert read_cursor(write_cursor(last)) == last


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InputInvalid, match="cursor"):
        read_cursor(text)


def test_the_first_page_needs_no_cursor() -> None:
    assert read_cursor(None) is None


@pytest.mark.parametrize(("found", "shown", "has_more"), [(0, 0, False), (2, 2, False), (3, 2, True)])
def test_one_more_than_a_page_means_another_page(found: int, shown: int, has_more: bool) -> None:
    page = page_of([UUID(int=number) for number in range(found)], 2, lambda one: one)

    assert len(page.items) == shown
    assert (page.next_cursor == write_cursor(UUID(int=1))) if has_more else page.next_cursor is None
