"""A soak goes on where it stopped, does the same again for the same seed, and leaves no crash point to chance."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.harms import TARGETS, Card, deck, is_gentle
from tests.chaos.plan import RESTART, Plan, Report, add_up
from tests.chaos.soak import read_options, replay_command
from tests.chaos.state import Elsewhere, State

PLAN = Plan()


def deal(number: int, seed: str = "1") -> list[Card]:
    return deck(number, PLAN, random.Random(f"{seed}:{number}"))


def report(number: int, *violations: str) -> Report:
    done = Report(number, Counter({"after_call blind": 2}), Counter({RESTART: 1}), violations=list(violations))
    done.tallies["keyed"].sent = 7
    return done


def test_the_same_seed_deals_the_same_harms() -> None:
    assert deal(3) == deal(3)
    assert deal(3) != deal(3, seed="2")


def test_every_point_has_its_turn_with_every_class() -> None:
    cards = [card for number in range(48) for card in deal(number)]

    times = Counter((point, card.provider) for card in cards for point in card.points)

    assert times.keys() == set(TARGETS)
    assert max(times.values()) - min(times.values()) <= 1


def test_a_gentle_round_only_asks_workers_to_leave() -> None:
    gentle = [number for number in range(16) if is_gentle(number)]

    assert len(gentle) == 2
    assert {card.name for number in gentle for card in deal(number)} == {"SIGTERM"}


def test_each_fourth_round_is_of_the_products_or_every_one_if_asked() -> None:
    theirs = {"pause, new workers, resume", "API kill -9"}
    only = replace(PLAN, work="products")

    rounds = {number for number in range(16) if theirs <= {card.name for card in deal(number)}}

    assert rounds == {2, 6, 10, 14}
    assert theirs <= {card.name for card in deck(0, only, random.Random(1))}


def test_rounds_of_vendors_close_accounts_and_flood_nobody() -> None:
    only = replace(PLAN, work="vendors")

    dealt = {card.name for number in range(4) for card in deck(number, only, random.Random(number))}

    assert "account closed, then kill -9" in dealt
    assert not dealt & {"one tenant floods", "API kill -9"}


def test_finished_rounds_are_read_back_and_a_line_that_was_cut_off_is_not(tmp_path: Path) -> None:
    state = State("1", PLAN, tmp_path)
    for number in (0, 1):
        state.finish(state.task(number), report(number))
    with (state.home / "rounds.jsonl").open("a") as file:
        file.write('{"round": 2, "kil')

    found = State("1", PLAN, tmp_path).reports()
    state.finish(state.task(2), report(2))

    assert found == [report(0), report(1)]
    sums = add_up(state.reports())
    assert (sums.kills.total(), sums.restarts, sums.sends) == (6, 3, 21)


def test_only_the_files_of_a_broken_round_are_kept(tmp_path: Path) -> None:
    state = State("1", PLAN, tmp_path)
    clean, broken = state.task(0), state.task(1)

    state.finish(clean, report(0))
    state.finish(broken, report(1, "sent twice"))

    assert not Path(clean.directory).exists()
    assert Path(broken.directory).exists()


def test_a_seed_goes_on_only_with_its_own_plan_and_alone(tmp_path: Path) -> None:
    alone, other = State("1", PLAN, tmp_path), State("1", PLAN, tmp_path)
    with alone.held(), pytest.raises(Elsewhere, match="another soak"), other.held():
        pass
    with pytest.raises(Elsewhere, match="was begun with"), State("1", replace(PLAN, kills=1), tmp_path).held():
        pass


def test_a_replay_names_the_seed_and_what_is_unusual() -> None:
    assert replay_command("7", 3, PLAN).endswith("-m tests.chaos.soak --seed 7 --replay 3")
    assert replay_command("7", 3, replace(PLAN, kills=5)).endswith("--seed 7 --replay 3 --round-kills 5")


def test_options_are_also_read_from_the_environment() -> None:
    options = read_options(["--lanes", "3"], {"CHAOS_KILLS": "9", "CHAOS_LANES": "4", "CHAOS_ROUND_SENDS": "100"})

    assert (options.kills, options.lanes, options.round_sends, options.restarts) == (9, 3, 100, 100)
