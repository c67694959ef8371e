"""What can be stored: places are told, and finding them costs no more than the data is long."""

from time import process_time

from tidings.domain.storable import unstorable_places


def test_every_text_and_name_that_cannot_be_kept_is_found_at_its_place() -> None:
    raw = {"a": ["x", {"b": "\x00"}], "c\x00": {"d": "\ud800"}, "e": ("\x00",)}

    assert list(unstorable_places(raw)) == ["a[1].b", "", "c\x00.d", "e[0]"]
    assert list(unstorable_places(raw["a"], "data")) == ["data[1].b"]


def test_a_long_name_above_many_values_costs_nothing() -> None:
    raw = {"k" * 5_000_000: [["", 0]] * 500_000}
    started = process_time()

    assert list(unstorable_places(raw)) == []
    assert process_time() - started < 20
