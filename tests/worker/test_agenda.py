from datetime import UTC, datetime, timedelta

from tidings.domain.flow.ids import Shard
from tidings.domain.flow.queue import Lane
from tidings.worker.agenda import Agenda

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
POLL = timedelta(seconds=5)
ONE, TWO = Shard(0), Shard(1)
BULK, FAST = Lane.CAMPAIGNS, Lane.TRANSACTIONAL


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def informed(*shards: Shard) -> Agenda:
    """An agenda that has just been told that there is nothing."""
    agenda = Agenda(shards, [BULK, FAST], POLL)
    for shard in shards:
        agenda.learn(shard, {}, NOW)
    return agenda


def test_at_first_every_shard_is_asked_at_once() -> None:
    agenda = Agenda([ONE, TWO], [BULK], POLL)

    assert agenda.shards_to_ask(NOW) == [ONE, TWO]
    assert agenda.next_time([], NOW) is None


def test_an_idle_shard_is_asked_again_after_the_poll_interval() -> None:
    agenda = informed(ONE)

    assert agenda.due_places(NOW) == []
    assert agenda.next_time([], NOW) == NOW + POLL
    assert agenda.shards_to_ask(NOW + seconds(4.9)) == []
    assert agenda.shards_to_ask(NOW + POLL) == [ONE]


def test_a_known_due_time_ends_the_sleep() -> None:
    agenda = informed(ONE)
    agenda.learn(ONE, {FAST: NOW + seconds(2)}, NOW)

    assert agenda.next_time([], NOW) == NOW + seconds(2)
    assert agenda.due_places(NOW + seconds(1)) == []
    assert agenda.due_places(NOW + seconds(2)) == [(ONE, FAST)]


def test_a_place_is_due_from_its_time_on() -> None:
    agenda = informed(ONE)
    agenda.learn(ONE, {FAST: NOW + seconds(2)}, NOW)

    assert not agenda.is_due((ONE, BULK), NOW)
    assert not agenda.is_due((ONE, FAST), NOW + seconds(1))
    assert agenda.is_due((ONE, FAST), NOW + seconds(2))


def test_what_is_due_longest_comes_first() -> None:
    agenda = informed(ONE, TWO)
    agenda.learn(ONE, {BULK: NOW - seconds(1), FAST: NOW - seconds(3)}, NOW)
    agenda.learn(TWO, {FAST: NOW - seconds(2)}, NOW)

    assert agenda.due_places(NOW) == [(ONE, FAST), (TWO, FAST), (ONE, BULK)]


def test_what_is_heard_of_a_place_does_not_cost_it_its_turn() -> None:
    agenda = informed(ONE, TWO)
    agenda.learn(ONE, {FAST: NOW - seconds(1)}, NOW)
    agenda.learn(TWO, {FAST: NOW - seconds(2), BULK: NOW + seconds(1)}, NOW)

    agenda.hear([(TWO, FAST), (TWO, BULK)], NOW)

    assert agenda.due_places(NOW) == [(TWO, FAST), (ONE, FAST), (TWO, BULK)]


def test_where_a_claim_took_some_the_rest_goes_behind_what_has_waited_longer() -> None:
    agenda = informed(ONE, TWO)
    agenda.learn(ONE, {FAST: NOW - seconds(3), BULK: NOW + seconds(1)}, NOW)
    agenda.learn(TWO, {FAST: NOW - seconds(2)}, NOW)

    agenda.took_some((ONE, FAST), NOW)
    agenda.took_some((ONE, BULK), NOW)  # what is not known to be due does not become so

    assert agenda.due_places(NOW) == [(TWO, FAST), (ONE, FAST)]


def test_what_the_database_says_replaces_what_was_known() -> None:
    agenda = informed(ONE)
    agenda.learn(ONE, {FAST: NOW}, NOW)

    agenda.learn(ONE, {BULK: NOW}, NOW)

    assert agenda.due_places(NOW) == [(ONE, BULK)]


def test_what_is_heard_is_due_now() -> None:
    agenda = informed(ONE, TWO)

    agenda.hear([(TWO, FAST)], NOW)

    assert agenda.due_places(NOW) == [(TWO, FAST)]
    assert agenda.next_time([], NOW) == NOW


def test_lanes_and_shards_of_others_are_not_heard_of() -> None:
    agenda = informed(ONE)
    agenda.hear([(ONE, Lane.RUNS), (Shard(7), FAST)], NOW)
    agenda.learn(ONE, {Lane.RUNS: NOW}, NOW)

    assert agenda.due_places(NOW) == []


def test_a_lane_that_can_take_no_more_wakes_nobody() -> None:
    agenda = informed(ONE)
    agenda.learn(ONE, {BULK: NOW, FAST: NOW}, NOW)

    assert agenda.next_time([BULK, FAST], NOW) == NOW + POLL


def test_what_comes_due_in_a_full_lane_may_be_somebody_else_s() -> None:
    agenda = informed(ONE)
    agenda.learn(ONE, {BULK: NOW, FAST: NOW + seconds(1)}, NOW)

    assert agenda.next_time([BULK, FAST], NOW) == NOW + seconds(1)


def test_a_claim_that_found_nothing_asks_the_shard_soon() -> None:
    agenda = informed(ONE, TWO)
    agenda.hear([(ONE, FAST)], NOW)

    agenda.found_nothing((ONE, FAST), NOW + seconds(0.02))

    assert agenda.due_places(NOW) == []
    assert agenda.next_time([], NOW) == NOW + seconds(0.02)
    assert agenda.shards_to_ask(NOW + seconds(0.02)) == [ONE]


def test_a_shard_where_something_changed_is_asked_at_once() -> None:
    agenda = informed(ONE, TWO)

    agenda.ask_soon([TWO])

    assert agenda.next_time([], NOW) is None
    assert agenda.shards_to_ask(NOW) == [TWO]
