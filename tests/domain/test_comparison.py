"""What one value is beside another: numbers, dates, truths and strings, as whatever is given says."""

from datetime import UTC, datetime

import pytest

from tidings.domain.comparison import Op, compares, fold, number_in, value_at
from tidings.domain.timing import read_moment, relative_time

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("found", "op", "value", "expected"),
    [
        ("Pro", "equals", "pRO", True),
        ("12", "equals", 12, True),
        (12, "equals", "12", False),
        ("1e3", "equals", 1000, False),
        (True, "equals", "true", False),
        ("TRUE", "equals", True, True),
        (1, "equals", True, False),
        ("12", "greater", 9, True),
        ("12", "greater", "9", False),
        ("twelve", "greater", 9, False),
        ("2027-01-31", "less", "2027-02-01", True),
        ("2027-01-31T23:30:00-01:00", "greaterOrEqual", "2027-02-01", True),
        ("soon", "less", "2027-02-01", False),
        ("2026-11-01", "before", "2 weeks ago", True),
        ("2026-11-05", "before", "2 weeks ago", False),
        ("2026-11-19", "after", "today", True),
        ("2026-11-18", "after", "today", False),
        ("2026-11-31", "after", "2020-01-01", False),
        (datetime(2026, 11, 18, 11, tzinfo=UTC), "after", "2 hours ago", True),
        ("Paris", "contains", "AR", True),
        (["Paris", "12"], "contains", 12, True),
        ("b", "in", ("A", "B"), True),
        ("12", "in", ("A", 12), True),
        ("beta", "greater", "Alpha", True),
    ],
)
def test_what_is_given_says_how_both_are_read(found: object, op: str, value: object, expected: bool) -> None:
    assert compares(Op(op), found, value, NOW) is expected


def test_a_path_leads_into_objects_and_lists_as_in_the_database() -> None:
    data = {"a": [{"b": 1}, {"b": 2}], "0": "zero"}

    assert value_at(data, ["a", "1", "b"]) == 2
    assert value_at(data, ["a", "-1", "b"]) == 2
    assert value_at(data, ["0"]) == "zero"
    assert value_at(data, ["a", "b"]) is value_at(data, ["a", "2"]) is value_at(data, ["a", "-3"])


def test_letters_are_made_small_one_for_one() -> None:
    assert (fold("ÄΣ"), fold("İ"), fold("straße")) == ("äσ", "i", "straße")


@pytest.mark.parametrize("text", ["soon", "30 days", "1 month ago", "999999 weeks ago", "", "-1 days ago", "P30D"])
def test_what_is_no_relative_time_is_none(text: str) -> None:
    assert relative_time(text, NOW) is None


def test_times_are_read_from_whole_dates_alone() -> None:
    assert read_moment("2027-01-31 09:00+0200") == datetime(2027, 1, 31, 7, tzinfo=UTC)
    assert relative_time(" 1 Day from now ", NOW) == datetime(2026, 11, 19, 12, tzinfo=UTC)
    assert relative_time("yesterday", NOW) == datetime(2026, 11, 17, tzinfo=UTC)
    assert [read_moment(one) for one in ("2027-1-31", "20270131", "2027-02-30", "2027-01-31T25:00", 5)] == [None] * 5


def test_a_number_of_any_size_is_compared() -> None:
    large = 10**4_000

    assert compares(Op.GREATER, large, large - 1, NOW)
    assert compares(Op.EQUALS, large, large, NOW)
    assert not compares(Op.LESS, large, 1.5, NOW)
    assert number_in(float("inf")) is None
