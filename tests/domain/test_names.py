"""What things may be called."""

import pytest

from tidings.domain.names import problem_of_name


@pytest.mark.parametrize("name", ["a", "Frühling 2026", "顧客", "أهلا", "x" * 200, "🏴󠁧󠁢󠁥󠁮󠁧󠁿 league", "نمی‌خواهم"])
def test_a_name_in_any_writing_is_taken(name: str) -> None:
    assert problem_of_name(name) is None


@pytest.mark.parametrize("name", ["", " ", "\t \n", "\u00a0", "\u200b", "\u2060\ufeff", "\u202e"])
def test_a_name_that_shows_nothing_is_refused(name: str) -> None:
    assert "use at least one character that can be seen" in str(problem_of_name(name))


@pytest.mark.parametrize(
    "bad", ["\n", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\u202a", "\u202e", "\u2066", "\u2069"]
)
def test_a_character_that_spoils_a_list_is_refused_and_named(bad: str) -> None:
    told = str(problem_of_name(f"ma{bad}in"))

    assert f"holds {bad!a}" in told
    assert told.endswith("leave it out")
    assert told.isascii()


@pytest.mark.parametrize("given", [None, 5, [], {}, True])
def test_what_is_no_string_is_no_name(given: object) -> None:
    assert problem_of_name(given) == f"{given!r} is not a name: use a string of 1 to 200 characters"


def test_a_name_has_a_longest_length() -> None:
    assert problem_of_name("x" * 1_201) == "has 1,201 characters: use at most 200"


@pytest.mark.parametrize("name", ["a\ud800", "\udfff"])
def test_half_of_a_surrogate_pair_is_refused(name: str) -> None:
    assert "cannot be stored" in str(problem_of_name(name))
