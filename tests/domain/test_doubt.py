"""The whole table of what to do about an item in doubt."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from tidings.domain.flow.doubt import (
    RETENTION_MARGIN,
    AskProvider,
    CallAgain,
    DoubtPolicy,
    GiveUp,
    Hold,
    Spent,
    Verdict,
    judge,
)
from tidings.domain.flow.provider import Blind, Keyed, ProviderClass, Resolvable

FIRST = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SAFE = DAY * (1 - RETENTION_MARGIN)
MICROSECOND = timedelta(microseconds=1)
AS_BLIND: dict[tuple[DoubtPolicy, bool], Verdict] = {
    (DoubtPolicy.HOLD, True): Hold(),
    (DoubtPolicy.HOLD, False): Hold(),
    (DoubtPolicy.RESEND, True): CallAgain(),
    (DoubtPolicy.RESEND, False): Hold(),
    (DoubtPolicy.GIVE_UP, True): GiveUp(),
    (DoubtPolicy.GIVE_UP, False): GiveUp(),
}
CASES = list(product(DoubtPolicy, (True, False)))


def verdict(
    provider_class: ProviderClass,
    policy: DoubtPolicy,
    attempts_left: bool,
    age: timedelta = timedelta(),
    resends_left: bool | None = None,
) -> Verdict:
    return judge(
        provider_class,
        policy,
        attempts_left=attempts_left,
        resends_left=attempts_left if resends_left is None else resends_left,
        first_marked_at=FIRST,
        now=FIRST + age,
    )


def test_a_repeat_under_a_key_waits_as_long_as_the_provider_needs_to_know_it() -> None:
    minute = timedelta(minutes=1)

    assert verdict(Keyed(DAY, settle=minute), DoubtPolicy.HOLD, True) == CallAgain(minute)
    assert verdict(Keyed(DAY, settle=minute), DoubtPolicy.HOLD, True, DAY) == Hold()


def test_the_table_is_complete() -> None:
    assert set(AS_BLIND) == set(CASES)


@pytest.mark.parametrize(("policy", "attempts_left"), CASES)
def test_a_blind_provider_leaves_it_to_the_policy(policy: DoubtPolicy, attempts_left: bool) -> None:
    for age in (timedelta(), DAY, 100 * DAY):
        assert verdict(Blind(), policy, attempts_left, age) == AS_BLIND[policy, attempts_left]


@pytest.mark.parametrize("policy", DoubtPolicy)
def test_a_key_still_kept_means_the_call_is_repeated(policy: DoubtPolicy) -> None:
    for age in (timedelta(), SAFE - MICROSECOND):
        assert verdict(Keyed(DAY), policy, True, age) == CallAgain()


@pytest.mark.parametrize(("policy", "attempts_left"), CASES)
def test_a_key_that_may_be_forgotten_counts_as_blind(policy: DoubtPolicy, attempts_left: bool) -> None:
    for age in (SAFE, DAY, 9 * DAY):
        assert verdict(Keyed(DAY), policy, attempts_left, age) == AS_BLIND[policy, attempts_left]


@pytest.mark.parametrize("policy", DoubtPolicy)
def test_a_key_is_not_used_once_attempts_are_spent(policy: DoubtPolicy) -> None:
    assert verdict(Keyed(DAY), policy, False) == AS_BLIND[policy, False]


@pytest.mark.parametrize(("policy", "attempts_left"), CASES)
@pytest.mark.parametrize("authoritative", [True, False])
def test_a_provider_that_can_tell_is_asked_whatever_the_policy(
    policy: DoubtPolicy, attempts_left: bool, authoritative: bool
) -> None:
    settle = timedelta(minutes=5)
    asked = verdict(Resolvable(authoritative, settle), policy, attempts_left, DAY)

    assert asked == AskProvider(settle, authoritative)


@pytest.mark.parametrize("provider_class", [Blind(), Keyed(timedelta())])
def test_crashes_use_no_attempt_but_do_use_up_resends(provider_class: ProviderClass) -> None:
    assert verdict(provider_class, DoubtPolicy.RESEND, True, DAY, resends_left=False) == Hold()
    assert verdict(Keyed(DAY), DoubtPolicy.HOLD, True, resends_left=False) == CallAgain()


@pytest.mark.parametrize("policy", DoubtPolicy)
def test_an_idempotent_function_is_called_again_and_at_its_last_attempt_has_failed(policy: DoubtPolicy) -> None:
    def of_function(provider_class: ProviderClass, attempts_left: bool, age: timedelta = timedelta()) -> Verdict:
        return judge(
            provider_class,
            policy,
            attempts_left=attempts_left,
            resends_left=attempts_left,
            first_marked_at=FIRST,
            now=FIRST + age,
            is_function=True,
        )

    assert (of_function(Keyed(DAY), True), of_function(Keyed(DAY), False)) == (CallAgain(), Spent())
    assert of_function(Keyed(DAY), True, DAY) == AS_BLIND[policy, True]
    assert of_function(Blind(), False) == AS_BLIND[policy, False]
