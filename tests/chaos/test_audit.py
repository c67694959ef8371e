"""The judge sees what it is there for."""

from collections.abc import Collection

from tests.chaos.audit import Findings, check_order
from tests.chaos.book import Intended
from tests.chaos.ledger import Line, Mode


def call(recipient: str, at: float) -> Line:
    return Line(at, "00", recipient, "blind", "", 1, 1, Mode.ACK, taken=True, effective=True, row="queued marked")


def judge(intended: Intended, *calls: Line, passed: Collection[str] = ()) -> list[str]:
    findings = Findings()
    check_order(findings, intended, {line.recipient: [line] for line in calls}, passed)
    return findings.violations


def test_a_step_that_came_before_the_one_in_front_of_it_is_a_violation() -> None:
    walk = Intended(walks=[["one", "two", "three"]])

    assert judge(walk, call("one", 1), call("two", 2), call("three", 3)) == []
    [wrong] = judge(walk, call("one", 1), call("two", 3), call("three", 2))
    assert wrong.startswith("three came before two")


def test_what_a_person_had_sent_again_comes_when_it_comes() -> None:
    walk = Intended(walks=[["one", "two", "three"]], resent={"two"})

    assert judge(walk, call("one", 1), call("two", 9), call("three", 3)) == []
    assert judge(walk, call("one", 4), call("three", 3))


def test_what_was_passed_in_doubt_may_come_after_the_next_step_and_nothing_else_may() -> None:
    walk = Intended(walks=[["one", "two", "three"]])

    assert judge(walk, call("one", 3), call("two", 2), call("three", 4), passed={"one"}) == []
    assert judge(walk, call("one", 1), call("two", 3), call("three", 2), passed={"one"})
