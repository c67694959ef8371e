"""The checker finds what is wrong with each tempting way to write it, and tells how it comes about."""

from dataclasses import dataclass, replace

import pytest

from tests.model.checker import Violation, explore, walk
from tests.model.invariants import HELD, PEOPLE, Rule
from tests.model.settings import BLIND, EVERY, KEYED, RESOLVABLE
from tests.model.states import Budget, Setting, Variant
from tidings.domain.flow.doubt import DoubtPolicy


@dataclass(frozen=True)
class Case:
    """A variant, where it hurts, and the rule that people see broken."""

    variant: Variant
    setting: Setting
    rule: Rule


CASES = [
    Case(Variant.NO_FENCE, EVERY["resolvable: freeze and crash"], Rule.ONCE),
    Case(Variant.MARK_AFTER_SEND, Setting(BLIND, budget=Budget(crashes=1)), Rule.ONCE),
    Case(Variant.EXPIRY_MEANS_NOT_SENT, Setting(BLIND, budget=Budget(crashes=1)), Rule.ONCE),
    Case(Variant.NO_LEASE_MARGIN, Setting(RESOLVABLE, budget=Budget(freezes=1)), Rule.ONCE),
    Case(Variant.BLIND_REPEAT_AFTER_CRASH, Setting(BLIND, budget=Budget(crashes=1)), Rule.ONCE),
    Case(Variant.NO_SETTLE_TIME, Setting(RESOLVABLE, budget=Budget(crashes=1)), Rule.ONCE),
    Case(Variant.COUNT_CRASH_AS_ATTEMPT, Setting(KEYED, budget=Budget(crashes=2)), Rule.ENDS),
    Case(Variant.UNKNOWN_KEEPS_MARK, Setting(KEYED, budget=Budget(unknowns=1)), Rule.BOUNDED),
    Case(Variant.REFUSAL_ENDS_DOUBT, Setting(BLIND, DoubtPolicy.RESEND, budget=Budget(crashes=1)), Rule.NOT_SENT),
    Case(Variant.UNMARK_ENDS_DOUBT, EVERY["blind, resend: freeze and crash"], Rule.NOT_SENT),
    Case(Variant.FACT_NEEDS_LEASE, Setting(BLIND, budget=Budget(freezes=1)), Rule.FACTS),
]
OTHERS = [case for case in CASES if case.setting not in EVERY.values()]  # test_model.py searches the rest


def found(case: Case) -> Violation:
    broken = replace(case.setting, broken=frozenset({case.variant}))
    violation = explore(broken, PEOPLE | {case.rule}).violation
    assert violation is not None, f"not found: {case.variant}"
    return violation


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.variant.name)
def test_what_is_broken_is_found_and_told(case: Case) -> None:
    violation = found(case)

    assert violation.rule is case.rule
    story = str(violation).splitlines()
    assert story[0] == f"broken: {case.rule}"
    assert any(line.startswith(f"{len(violation.steps):3}. ") for line in story)


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.variant.name)
def test_the_same_without_the_variant_is_not_broken(case: Case) -> None:
    assert explore(case.setting, HELD).violation is None


def test_every_variant_has_its_case() -> None:
    assert {case.variant for case in CASES} == set(Variant)


def test_random_ways_find_it_too_and_their_seed_finds_it_again() -> None:
    setting = Setting(BLIND, budget=Budget(crashes=2), broken=frozenset({Variant.EXPIRY_MEANS_NOT_SENT}))
    violation = next(found for seed in range(10_000) if (found := walk(setting, seed, 30, {Rule.ONCE})))

    assert violation.rule is Rule.ONCE
    assert violation.seed is not None
    assert f"(seed {violation.seed})" in str(violation)
    again = walk(setting, violation.seed, 30, {Rule.ONCE})
    assert again is not None
    assert again.steps == violation.steps
