"""Whom the sink refuses and puts off."""

import pytest

from tidings.domain.errors import InputInvalid
from tidings.sink.arrivals import Answer
from tidings.sink.chance import Chance, read_share

PEOPLE = [f"person{number}@example.com" for number in range(4_000)]


def test_the_shares_are_those_that_were_asked_for() -> None:
    chance = Chance(refuse=0.05, defer=0.1, seed=1)

    answers = [chance.answer(one, 1) for one in PEOPLE]

    assert 150 <= answers.count(Answer.REFUSED) <= 250
    assert 300 <= answers.count(Answer.DEFERRED) <= 460


def test_nobody_is_refused_unless_asked_for_and_everybody_is_at_a_hundred_percent() -> None:
    assert {Chance().answer(one, 1) for one in PEOPLE} == {Answer.TAKEN}
    assert {Chance(refuse=1).answer(one, 1) for one in PEOPLE} == {Answer.REFUSED}
    assert {Chance(defer=1).answer(one, 1) for one in PEOPLE} == {Answer.DEFERRED}


def test_who_is_refused_stays_refused_and_who_is_put_off_gets_through_in_the_end() -> None:
    chance = Chance(refuse=0.2, defer=0.5, seed=3)
    first = {one: chance.answer(one, 1) for one in PEOPLE}

    for one, answer in first.items():
        later = [chance.answer(one, attempt) for attempt in range(2, 40)]
        assert (set(later) == {Answer.REFUSED}) is (answer is Answer.REFUSED)
        assert answer is Answer.REFUSED or Answer.TAKEN in later


def test_the_seed_decides() -> None:
    answers = [[Chance(0.3, 0.3, seed).answer(one, 1) for one in PEOPLE] for seed in (1, 1, 2)]

    assert answers[0] == answers[1] != answers[2]


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0%", 0), ("100%", 1), ("0.5 %", 0.005), (" 7% ", 0.07)])
def test_a_share_is_a_percentage(text: str, share: float) -> None:
    assert read_share("--refuse", text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["5", "0.05", "101%", "-1%", "five", "", "1e3%", "٥%"])
def test_what_is_no_share_is_refused_with_its_value(text: str) -> None:
    with pytest.raises(InputInvalid, match=r"--defer .* is no share: write it like 5%"):
        read_share("--defer", text)
