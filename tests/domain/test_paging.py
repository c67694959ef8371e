"""Cursors: opaque, exact, and refused when they are not ours; times: the ids made in them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.errors import InputInvalid, ProblemsFound
from tidings.domain.flow.ids import EPOCH, Bucket, first_id_at, make_id, milliseconds_of
from tidings.domain.paging import (
    Created,
    Span,
    newest_first,
    next_id,
    oldest_first,
    page_of,
    read_created,
    read_cursor,
    write_cursor,
)


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


times = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


@given(times, times, st.integers(0, 4095), st.integers(0, 2**62 - 1))
def test_a_span_of_time_holds_the_ids_made_in_it_and_no_others(
    made: datetime, edge: datetime, bucket: int, bits: int
) -> None:
    id = make_id(Bucket(bucket), made, bits)
    is_later = milliseconds_of(made) >= milliseconds_of(edge)

    assert (id >= newest_first(None, Created(after=edge)).since) is is_later
    assert (id < newest_first(None, Created(before=edge)).before) is not is_later


@given(times)
def test_an_id_s_time_is_whole_milliseconds_and_never_one_short(at: datetime) -> None:
    assert timedelta(milliseconds=milliseconds_of(at)) == at.replace(microsecond=at.microsecond // 1000 * 1000) - EPOCH


def test_a_cursor_narrows_a_span_from_the_side_that_the_list_begins_with() -> None:
    edge = datetime(2026, 3, 2, tzinfo=UTC)
    early, late = make_id(Bucket(1), edge - timedelta(days=1), 1), make_id(Bucket(1), edge + timedelta(days=1), 1)
    after, before = Created(after=edge), Created(before=edge)

    assert newest_first(write_cursor(late), after) == Span(first_id_at(edge), late)
    assert newest_first(write_cursor(late), before) == Span(before=first_id_at(edge))
    assert oldest_first(write_cursor(early), before) == Span(next_id(early), first_id_at(edge))
    assert oldest_first(write_cursor(early), after) == Span(since=first_id_at(edge))
    assert newest_first(None) == oldest_first(None) == Span()


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ("2026-03-02", "2026-03-02T00:00:00+00:00"),
        ("2026-03-02T09:00", "2026-03-02T09:00:00+00:00"),
        ("2026-03-02T09:00:00+02:00", "2026-03-02T07:00:00+00:00"),
    ],
)
def test_a_time_without_an_offset_is_utc_and_a_date_alone_its_midnight(given: str, means: str) -> None:
    assert read_created(given, None).after == datetime.fromisoformat(means)


def test_before_the_first_id_there_is_nothing() -> None:
    assert newest_first(None, Created(datetime(1066, 10, 14, tzinfo=UTC))).since == UUID(int=0)


def test_what_is_wrong_with_both_times_is_told_at_once_under_the_names_given() -> None:
    with pytest.raises(ProblemsFound) as raised:
        read_created("soon", "later", ("--created-after", "--created-before"))

    assert [one.place for one in raised.value.problems] == ["--created-after", "--created-before"]
