"""Durations as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.timing import LONGEST_WAIT, format_duration, parse_duration

units = st.tuples(*[st.none() | st.integers(0, 500)] * 5)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("PT30M", timedelta(minutes=30)),
        ("PT2H", timedelta(hours=2)),
        ("P3D", timedelta(days=3)),
        ("P2W", timedelta(weeks=2)),
        ("P1DT12H", timedelta(days=1, hours=12)),
        ("PT1.5S", timedelta(seconds=1.5)),
        ("P1W2DT3H4M5S", timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5)),
        ("PT0S", timedelta()),
        ("P3650D", LONGEST_WAIT),
    ],
)
def test_a_duration_is_read(text: str, wait: timedelta) -> None:
    assert parse_duration(text) == wait


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "PT", "P1DT", "T1H", "1H", "PT1", "P1", "PTM", "PT1H1H"),
        *("PT1S1M", "P1D1W"),
        *("-PT1H", "PT-1H", "P-1D", "+PT1H", "PT+1H"),
        *("pt1h", "PT1h", " PT1H", "PT1H ", "PT1H\n", "PT 1H", "PT1,5S", "PT.5S", "PT5.S", "PT1e3S", "PT0x1S"),
        *("P٣D", "PT1٫5S", "PTinfS", "PTnanS", "tomorrow", "P1D;drop"),
    ],
)
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration") as refused:
        parse_duration(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("text", ["P1Y", "P1M", "P1Y2M", "P1M1D", "P0.5Y", "P1MT5M"])
def test_months_and_years_are_refused_with_the_reason_and_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' counts months or years, .*: write days, such as P30D or P365D"):
        parse_duration(text)


@pytest.mark.parametrize("given", [10**400, 1e308, float("inf"), LONGEST_WAIT.total_seconds() + 1])
def test_a_number_of_seconds_has_the_same_bound(given: float) -> None:
    with pytest.raises(ValueError, match=r"is longer than ten years$"):
        parse_duration(given, or_seconds=True)


@pytest.mark.parametrize("given", [-1, float("nan"), True, None, [], -(10**400)])
def test_what_is_no_number_of_seconds_is_refused_with_both_ways_to_write_it(given: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration: write it like PT30M, PT2H or P3D, or as seconds$"):
        parse_duration(given, or_seconds=True)


@pytest.mark.parametrize("text", ["P3650DT0.001S", "P522W", "PT" + "9" * 400 + "S", "P" + "9" * 20 + "D"])
def test_longer_than_ten_years_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="longer than ten years"):
        parse_duration(text)


@given(units)
def test_every_combination_of_units_reads_as_their_sum(values: tuple[int | None, ...]) -> None:
    weeks, days, hours, minutes, seconds = values
    date = "".join(f"{value}{unit}" for value, unit in ((weeks, "W"), (days, "D")) if value is not None)
    clock = [(hours, "H"), (minutes, "M"), (seconds, "S")]
    time = "".join(f"{value}{unit}" for value, unit in clock if value is not None)
    text = "P" + date + ("T" + time if time else "")
    wait = timedelta(weeks or 0) * 7 + timedelta(days or 0, seconds or 0, 0, 0, minutes or 0, hours or 0)

    if text == "P" or wait > LONGEST_WAIT:
        with pytest.raises(ValueError):
            parse_duration(text)
    else:
        assert parse_duration(text) == wait


@given(st.timedeltas(timedelta(0), LONGEST_WAIT))
def test_any_wait_written_in_seconds_reads_back(wait: timedelta) -> None:
    text = f"P{wait.days}DT{wait.seconds}.{wait.microseconds:06}S"

    assert parse_duration(text) == wait


@given(st.text(alphabet="PTWDHMSY0123456789.-+ ", max_size=12) | st.text(max_size=12))
def test_whatever_the_text_it_is_a_wait_or_a_value_error(text: str) -> None:
    try:
        wait = parse_duration(text)
    except ValueError:
        return
    assert timedelta() <= wait <= LONGEST_WAIT
    assert text.startswith("P")


@given(st.integers(0, 3650 * 86_400))
def test_a_span_that_is_written_reads_the_same_again(seconds: int) -> None:
    assert parse_duration(format_duration(timedelta(seconds=seconds))) == timedelta(seconds=seconds)


def test_a_span_is_written_shortly() -> None:
    assert format_duration(timedelta(days=1, hours=2)) == "P1DT2H"
    assert format_duration(timedelta(days=3)) == "P3D"
    assert format_duration(timedelta(minutes=90, seconds=5)) == "PT1H30M5S"
    assert format_duration(timedelta()) == "PT0S"
    assert format_duration(timedelta(seconds=1.5)) == "PT1.5S"
    assert format_duration(timedelta(minutes=1, microseconds=250)) == "PT1M0.00025S"
    assert format_duration(timedelta(days=400)) == "P400D"
