"""When a refused call is tried again, and when it is given up."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.flow.outcome import RetryLater
from tidings.domain.flow.retry import CAMPAIGN, GRAPH, RULE, Exhausted, RetryPolicy, TryAgain, after_refusal, earliest

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BUSY = RetryLater("busy")
TOO_FAST = RetryLater("429", uses_attempt=False)

policies = st.builds(
    RetryPolicy,
    attempts=st.integers(1, 50),
    base=st.timedeltas(timedelta(0), timedelta(hours=1)),
    factor=st.floats(1, 10),
    cap=st.timedeltas(timedelta(0), timedelta(days=2)),
    jitter=st.floats(0, 1),
    patience=st.timedeltas(timedelta(minutes=1), timedelta(days=3)),
)
spreads = st.floats(0, 1, exclude_max=True)


def refuse(
    policy: RetryPolicy, outcome: RetryLater, attempts: int, after: timedelta = timedelta(), spread: float = 0.5
) -> TryAgain | Exhausted:
    return after_refusal(policy, outcome, attempts=attempts, first_marked_at=NOW - after, now=NOW, spread=spread)


def minutes(policy: RetryPolicy, attempts: int, spread: float = 0.5) -> list[float]:
    return [policy.wait_after(attempt, spread) / MINUTE for attempt in range(1, attempts + 1)]


def test_a_rule_waits_1_2_4_8_minutes_and_fails_at_the_fifth_attempt() -> None:
    results = [refuse(RULE, BUSY, attempts) for attempts in range(1, 6)]

    assert results[:4] == [TryAgain(NOW + wait * MINUTE) for wait in (1, 2, 4, 8)]
    assert results[4] == Exhausted("gave up after 5 attempts: busy")


def test_a_first_failure_that_is_the_last_speaks_for_itself() -> None:
    assert refuse(replace(RULE, attempts=1), BUSY, 1) == Exhausted("busy")


def test_a_rule_whose_maximum_is_raised_waits_16_and_then_an_hour_at_most() -> None:
    assert minutes(RULE, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_policy_raised_to_hundreds_of_attempts_still_knows_its_wait() -> None:
    assert RULE.wait_after(1000) == RULE.cap


def test_many_attempts_outlast_the_patience_that_is_meant_for_refusals_without_one() -> None:
    long = replace(RULE, attempts=100)

    assert isinstance(refuse(long, BUSY, 40, after=timedelta(days=2)), TryAgain)


def test_graphs_try_three_times_and_campaigns_five() -> None:
    assert isinstance(refuse(GRAPH, BUSY, 2), TryAgain)
    assert isinstance(refuse(GRAPH, BUSY, 3), Exhausted)
    assert isinstance(refuse(CAMPAIGN, BUSY, 4), TryAgain)
    assert isinstance(refuse(CAMPAIGN, BUSY, 5), Exhausted)
    assert [GRAPH.wait_after(attempt).total_seconds() for attempt in (1, 2, 3)] == [10, 20, 40]


def test_a_429_uses_no_attempt_but_patience_bounds_it() -> None:
    almost = RULE.patience - timedelta(microseconds=1)

    assert isinstance(refuse(RULE, TOO_FAST, 5, after=almost), TryAgain)
    assert isinstance(refuse(RULE, TOO_FAST, 500, after=almost), TryAgain)
    assert isinstance(refuse(RULE, TOO_FAST, 0, after=RULE.patience), Exhausted)


def test_a_provider_that_names_its_delay_gets_it() -> None:
    assert refuse(RULE, RetryLater("429", timedelta(seconds=7), uses_attempt=False), 0) == TryAgain(
        NOW + timedelta(seconds=7)
    )
    assert refuse(RULE, RetryLater("busy", timedelta(seconds=7)), 4) == TryAgain(NOW + timedelta(seconds=7))


def test_a_delay_without_end_is_cut_to_the_policy_s_patience() -> None:
    assert refuse(RULE, RetryLater("429", timedelta.max, uses_attempt=False), 0) == TryAgain(NOW + RULE.patience)


@given(policies, st.integers(1, 200), spreads)
def test_jitter_only_takes_off_and_never_all_of_a_wait_below_zero(
    policy: RetryPolicy, attempt: int, spread: float
) -> None:
    full = replace(policy, jitter=0.0).wait_after(attempt, spread)
    wait = policy.wait_after(attempt, spread)

    assert timedelta() <= wait <= full <= policy.cap
    assert wait >= full * (1 - policy.jitter) - timedelta(microseconds=1)


@given(policies, st.integers(1, 100))
def test_without_spread_waits_never_shrink(policy: RetryPolicy, attempt: int) -> None:
    assert policy.wait_after(attempt) <= policy.wait_after(attempt + 1)


@given(
    policies,
    st.integers(0, 60),
    st.timedeltas(timedelta(0), timedelta(days=4)),
    spreads,
    st.none() | st.timedeltas(timedelta(-1), timedelta.max),
    st.booleans(),
)
def test_a_refusal_ends_or_is_tried_again_and_never_in_the_past(
    policy: RetryPolicy,
    attempts: int,
    after: timedelta,
    spread: float,
    delay: timedelta | None,
    uses_attempt: bool,
) -> None:
    result = refuse(policy, RetryLater("no", delay, uses_attempt), attempts, after, spread)

    if isinstance(result, TryAgain):
        assert NOW <= result.at <= NOW + max(policy.patience, timedelta())
        assert attempts < policy.attempts or not uses_attempt
    else:
        assert attempts >= policy.attempts if uses_attempt else after >= policy.patience


@given(policies, st.timedeltas(timedelta(seconds=1), timedelta(hours=5)))
def test_429s_for_ever_end_within_twice_the_patience(policy: RetryPolicy, delay: timedelta) -> None:
    now = NOW
    for _ in range(300_000):
        result = after_refusal(
            policy,
            RetryLater("429", delay, uses_attempt=False),
            attempts=0,
            first_marked_at=NOW,
            now=now,
            spread=0,
        )
        if isinstance(result, Exhausted):
            break
        assert result.at > now
        now = result.at

    assert isinstance(result, Exhausted)
    assert now - NOW <= 2 * policy.patience


def test_the_earliest_of_no_times_is_none() -> None:
    assert earliest([]) is None
    assert earliest([None, None]) is None
    assert earliest([None, NOW + MINUTE, NOW]) == NOW
