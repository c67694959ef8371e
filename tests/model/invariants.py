"""What must hold: in every state, over every step, and at the end. A trace is headed with the name of its rule."""

from collections.abc import Collection, Iterator
from enum import StrEnum

from tests.model import decisions
from tests.model.guards import takes_fact
from tests.model.states import Hold, Item, Post, Setting, State, Step, Worker
from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.provider import Blind, Keyed, Resolvable


class Rule(StrEnum):
    """The promises, and what they rest on."""

    ONCE = "nobody is written to twice"
    SENT = "what is sent has reached the provider"
    NOT_SENT = "what failed or was skipped has not"
    MARKED = "a call begins only with its own mark committed"
    FENCED = "a stale fence marks nothing"
    FENCES_GROW = "fences only grow"
    EXCLUSIVE = "one worker at a time has a lease that lasts"
    FACTS = "what a live worker was told is never lost"
    CRASHES_FREE = "a crash uses no attempt"
    BOUNDED = "an item is called no more often than its attempts and its troubles explain"
    ENDS = "from everywhere there is a way to the end"
    COUNTED = "an answer that used an attempt stays counted"
    REFUSAL = "a late refusal ends the doubt about its own call"


PEOPLE = frozenset({Rule.ONCE, Rule.SENT, Rule.NOT_SENT, Rule.BOUNDED, Rule.ENDS})
"""What people can see, whatever it takes to get there."""

WANTED = frozenset({Rule.REFUSAL})
"""What the code does not keep yet when a worker freezes; tests/model/test_found.py has the trace."""

HELD = frozenset(Rule) - WANTED


def broken(setting: Setting, before: State, step: Step, after: State, rules: Collection[Rule]) -> Rule | None:
    """The first of the rules that a step breaks, or the state it leads to, of one that breaks none."""
    if rule := _broken_step(setting, before, step, after, rules):
        return rule
    if after.items is not before.items or after.posts is not before.posts:
        for item, post in zip(after.items, after.posts, strict=True):
            for rule in _broken_by(setting, item, post) if item else ():
                if rule in rules:
                    return rule
    if step.what in {"claim", "commit"} and Rule.EXCLUSIVE in rules and _lasting(after) > 1:
        return Rule.EXCLUSIVE
    return None


def _lasting(state: State) -> int:
    return sum(worker.at != "idle" and worker.has_lease and not worker.lapsed for worker in state.workers)


def _broken_by(setting: Setting, item: Item, post: Post) -> Iterator[Rule]:
    if post.effective > 1 and post.effective > (setting.attempts if is_at_own_risk(setting) else 1):
        yield Rule.ONCE
    if item.marked_attempt > setting.attempts and item.marked_attempt > most_calls(setting):
        yield Rule.BOUNDED
    if item.status == "queued":
        counted = post.answered + item.marked
        if item.attempts != counted:
            yield Rule.CRASHES_FREE if item.attempts > counted else Rule.COUNTED
    elif item.status == "sent":
        if not post.effective:
            yield Rule.SENT
    elif post.effective and setting.policy is not DoubtPolicy.GIVE_UP:
        yield Rule.NOT_SENT


def most_calls(setting: Setting) -> int:
    """Attempts, and marks that used none: of dead workers, of refusals that are free, and two for each that froze."""
    budget = setting.budget
    return setting.attempts + budget.crashes + budget.free_refusals + 2 * budget.freezes


def is_at_own_risk(setting: Setting) -> bool:
    """Whether the workspace wants a second message rather than none; then only the number of calls is bounded."""
    return isinstance(setting.provider, Blind) and setting.policy is DoubtPolicy.RESEND


def _broken_step(setting: Setting, before: State, step: Step, after: State, rules: Collection[Rule]) -> Rule | None:
    """The first of the rules that a step breaks."""
    if step.what == "hand_over":
        broken = _broken_by_call(before, step)
    elif step.what == "commit":
        broken = _broken_by_commit(setting, before, step, after)
    elif before.row and after.row and after.row.fence < before.row.fence + (step.what == "claim"):
        broken = iter([Rule.FENCES_GROW])
    else:
        return None
    return next((rule for rule in broken if rule in rules), None)


def _broken_by_call(before: State, step: Step) -> Iterator[Rule]:
    worker, item = before.workers[step.worker], before.items[step.item]
    hold = worker.hand[step.item]
    is_open = hold and item and item.status == "queued" and item.marked
    if not is_open or not item or not hold or (item.marked_attempt, item.marked_fence) != (hold.attempt, worker.fence):
        yield Rule.MARKED


def _broken_by_commit(setting: Setting, before: State, step: Step, after: State) -> Iterator[Rule]:
    worker, window = before.workers[step.worker], step.window
    is_stale = before.row is None or before.row.fence != worker.fence
    for place, (was, item) in enumerate(zip(before.items, after.items, strict=True)):
        hold = worker.hand[place]
        if was is None or item is None or hold is None or window is None:
            continue
        if is_stale and item.marked_attempt > was.marked_attempt:
            yield Rule.FENCED
        if place in window.facts:
            yield from _lost_facts(setting, worker, hold, was, item)


def _lost_facts(setting: Setting, worker: Worker, hold: Hold, was: Item, item: Item) -> Iterator[Rule]:
    if takes_fact(was, decisions.fact_of(setting, hold, worker.fence)) and item == was:
        yield Rule.FACTS
    is_last_call = was.status == "queued" and was.marked_attempt == hold.attempt
    says_no = hold.heard in {"refused", "refused_free", "unavailable"} and not hold.known.in_doubt
    if is_last_call and says_no and item.in_doubt:
        yield Rule.REFUSAL


def is_over(setting: Setting, state: State) -> bool:
    """Whether every item has come to its end: terminal, or held for a person where that may be."""
    for item, post in zip(state.items, state.posts, strict=True):
        if item is None:
            if not state.ended:
                return False
        elif item.status == "queued" and not (_is_held(state, item) and may_be_held(setting, state, post)):
            return False
    return True


def _is_held(state: State, item: Item) -> bool:
    """Whether only a fact or a person can move it; a cancelled owner that has left the queue looks no more either."""
    return item.in_doubt and not item.marked and (item.retry == "none" or state.row is None)


def may_be_held(setting: Setting, state: State, post: Post) -> bool:
    """Crashes alone leave nothing to a person where the provider knows keys or can be asked.

    Other answers use attempts, and a keyed item without any is held. What was cancelled is not called again.
    """
    if state.ended:
        return True
    match setting.provider:
        case Keyed():
            return post.answered > 0
        case Resolvable(authoritative):
            return not authoritative
        case Blind():
            return True
