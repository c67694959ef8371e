"""The delivery of kernel/flow/deliver.py and kernel/flow/mark.py: windows that are committed, and the calls between
them."""

from collections.abc import Iterator
from itertools import chain, combinations

from tests.model import decisions, guards, world
from tests.model.guards import Wish
from tests.model.states import Budget, Hold, Item, Key, Row, Setting, Stage, State, Step, Variant, Window, Worker
from tests.model.world import with_row, with_worker

ACTIVE: frozenset[Stage] = frozenset({"waiting", "marked", "calling", "landed", "unstarted"})


def begun(setting: Setting, worker: Worker) -> Worker:
    """Have what is due wait for its mark; without any the worker is done."""
    hand = tuple(hold._replace(stage="waiting") if hold and _is_due(hold) else hold for hold in worker.hand)
    return _at_next(setting, worker._replace(hand=hand))


def _is_due(hold: Hold) -> bool:
    return hold.stage == "again" or (hold.stage == "open" and hold.known.retry != "later")


def _at_next(setting: Setting, worker: Worker) -> Worker:
    is_flying = any(hold and hold.stage in ACTIVE for hold in worker.hand)
    return worker._replace(at="deliver") if is_flying else decisions.releasing(setting, worker)


def seen_row(setting: Setting, state: State, worker: Worker) -> Row | None:
    """The row as a guard sees it; without a fence every row looks like ours."""
    if Variant.NO_FENCE in setting.broken and state.row is not None:
        return state.row._replace(fence=worker.fence)
    return state.row


def steps(setting: Setting, place: int, worker: Worker, budget: Budget, keys: tuple[Key, ...]) -> Iterator[Step]:
    """What a worker in the middle of its calls may do, and what may be answered to it."""
    if worker.repeat:
        yield Step("commit", place, window=worker.repeat)
    else:
        for window in _windows(worker):
            yield Step("commit", place, window=window)
            if budget.lost_commits:
                yield Step("commit", place, window=window, answer_lost=True)
        if budget.postponements and not _at(worker, "marked", "calling", "landed", "unstarted"):
            yield Step("postpone", place)
    for item in _at(worker, "marked"):
        yield from _beginnings(setting, place, worker, item)
    for item in _at(worker, "calling"):
        yield from world.provider_steps(setting, place, item, budget, keys[item])


def _at(worker: Worker, *stages: Stage) -> tuple[int, ...]:
    return tuple(place for place, hold in enumerate(worker.hand) if hold and hold.stage in stages)


def _windows(worker: Worker) -> Iterator[Window]:
    waiting, facts, unmarks = _at(worker, "waiting"), _at(worker, "landed"), _at(worker, "unstarted")
    chosen = chain.from_iterable(combinations(waiting, count) for count in range(len(waiting) + 1))
    for marks in chosen:
        for renew in _renewals(worker):
            if marks or facts or unmarks or renew:
                yield Window(marks, facts, unmarks, renew)


def _renewals(worker: Worker) -> tuple[bool, ...]:
    """A renewal matters only to a lease that has run out. The worker may have looked at its clock before that."""
    if not worker.lapsed or not worker.has_lease or not _at(worker, "waiting", "marked", "calling", "unstarted"):
        return (False,)
    return (True,) if _at(worker, "unstarted") else (True, False)


def _beginnings(setting: Setting, place: int, worker: Worker, item: int) -> Iterator[Step]:
    if (worker.has_lease and not worker.lapsed) or Variant.NO_LEASE_MARGIN in setting.broken:
        yield Step("hand_over", place, item)
    else:
        yield Step("refrain", place, item)  # it looked before it began
        yield Step("lease_spent", place, item)  # the provider asked right before it handed over the data


def hand_over(setting: Setting, state: State, step: Step) -> State:
    """The request leaves; from now on nobody can take it back."""
    return _staged(state, step, "calling")


def refrain(setting: Setting, state: State, step: Step) -> State:
    """The lease has run out before the first byte left."""
    if step.what == "refrain":
        return _staged(state, step, "unstarted")
    worker = state.workers[step.worker]
    hand = tuple(
        hold._replace(stage="landed", heard="refused_free") if hold and place == step.item else hold
        for place, hold in enumerate(worker.hand)
    )
    return with_worker(state, step.worker, worker._replace(hand=hand))


def postpone(setting: Setting, state: State, step: Step) -> State:
    """The provider rests, or others use every slot."""
    worker = state.workers[step.worker]
    hand = tuple(hold._replace(stage="postponed") if hold and hold.stage == "waiting" else hold for hold in worker.hand)
    budget = state.budget._replace(postponements=state.budget.postponements - 1)
    releasing = decisions.releasing(setting, worker._replace(hand=hand))
    return with_worker(state._replace(budget=budget), step.worker, releasing)


def _staged(state: State, step: Step, stage: Stage) -> State:
    worker = state.workers[step.worker]
    hand = tuple(
        hold._replace(stage=stage) if hold and place == step.item else hold for place, hold in enumerate(worker.hand)
    )
    return with_worker(state, step.worker, worker._replace(hand=hand))


# The commit of a window


def commit(setting: Setting, state: State, step: Step) -> State:
    """Facts, marks taken back, the lease renewed, new marks: in this order, in one transaction."""
    worker, window = state.workers[step.worker], step.window
    if window is None:
        raise AssertionError("a commit without a window")
    for place in window.facts:
        state = _with_fact(setting, state, worker, place)
    for place in window.unmarks:
        state = _without_mark(setting, state, worker, place)
    if window.renew:
        state, worker = _renewed(setting, state, worker)
    marked = frozenset(place for place in window.marks if _may_mark(setting, state, worker, place))
    for place in marked:
        state = _with_mark(setting, state, worker, place)
    if step.answer_lost:
        return with_worker(state, step.worker, worker._replace(repeat=window))
    hand = tuple(
        _told(setting, worker, place, hold, window, marked) if hold else None for place, hold in enumerate(worker.hand)
    )
    return with_worker(state, step.worker, _at_next(setting, worker._replace(hand=hand, repeat=None)))


def _held(worker: Worker, state: State, place: int) -> tuple[Hold, Item]:
    hold, item = worker.hand[place], state.items[place]
    if hold is None or item is None:
        raise AssertionError("a window about an item that is not there")
    return hold, item


def wish_of(worker: Worker, hold: Hold) -> Wish:
    """As mark_items in storage/outbox.py puts it of an Outgoing."""
    return Wish(worker.fence, hold.known.marked_attempt + 1, hold.known.attempts + 1, hold.known.in_doubt)


def _may_mark(setting: Setting, state: State, worker: Worker, place: int) -> bool:
    hold, item = _held(worker, state, place)
    return guards.may_mark(seen_row(setting, state, worker), item, wish_of(worker, hold))


def _with_mark(setting: Setting, state: State, worker: Worker, place: int) -> State:
    if Variant.MARK_AFTER_SEND in setting.broken:
        return state
    hold, item = _held(worker, state, place)
    return world.with_item(state, place, guards.written_mark(item, wish_of(worker, hold)))


def _with_fact(setting: Setting, state: State, worker: Worker, place: int) -> State:
    hold, item = _held(worker, state, place)
    fact = decisions.fact_of(setting, hold, worker.fence)
    if Variant.FACT_NEEDS_LEASE in setting.broken and not guards.holds(state.row, worker.fence):
        return state
    if Variant.MARK_AFTER_SEND in setting.broken:
        item = guards.mark(state.row, item, wish_of(worker, hold))
    is_taken = guards.takes_fact(item, fact)
    row, finalized = guards.finalize(state.row, item, fact)
    if is_taken and fact.status == "queued":
        finalized = _finalized_wrongly(setting, item, finalized, unknown=fact.unknown)
        if fact.uses_attempt:
            post = state.posts[place]
            state = world.with_post(state, place, post._replace(answered=post.answered + 1))
    return world.with_item(with_row(state, row), place, finalized)


def _finalized_wrongly(setting: Setting, before: Item, finalized: Item, *, unknown: bool) -> Item:
    if Variant.UNKNOWN_KEEPS_MARK in setting.broken and unknown:
        return finalized._replace(marked=before.marked)
    if Variant.REFUSAL_ENDS_DOUBT in setting.broken and not unknown:
        return finalized._replace(in_doubt=False)
    return finalized


def _without_mark(setting: Setting, state: State, worker: Worker, place: int) -> State:
    hold, item = _held(worker, state, place)
    doubtful = hold.known.in_doubt and Variant.UNMARK_ENDS_DOUBT not in setting.broken
    row, unmarked = guards.unmark(state.row, item, worker.fence, hold.attempt, doubtful=doubtful)
    return world.with_item(with_row(state, row), place, unmarked)


def _renewed(setting: Setting, state: State, worker: Worker) -> tuple[State, Worker]:
    """A renewal that is repeated asks for the expiry it asked for at first, which may have passed by now."""
    row = guards.renew(state.row, state.row.fence if _is_unfenced(setting, state) and state.row else worker.fence)
    if row is None:
        return state, worker._replace(has_lease=False)
    if worker.repeat and worker.lapsed:
        return state, worker
    return with_row(state, row), worker._replace(lapsed=False)


def _is_unfenced(setting: Setting, state: State) -> bool:
    return Variant.NO_FENCE in setting.broken and state.row is not None


def _told(setting: Setting, worker: Worker, place: int, hold: Hold, window: Window, marked: frozenset[int]) -> Hold:
    """What the worker makes of a commit whose answer it has."""
    if place in window.facts:
        learned = decisions.learned(setting, hold, worker.fence)
        waits = hold.heard == "unavailable" and learned.status == "queued"
        return Hold(learned, "postponed" if waits else "done")
    if place in window.unmarks:
        fresh = hold.known._replace(marked_attempt=hold.attempt, marked=False)
        return Hold(fresh, "waiting" if worker.has_lease else "done")
    if place in window.marks:
        attempt = hold.known.marked_attempt + 1
        return hold._replace(stage="marked", attempt=attempt) if place in marked else hold._replace(stage="done")
    # Without the lease nothing more is marked; _keep_only in kernel/flow/deliver.py lets it go.
    return hold._replace(stage="done") if hold.stage == "waiting" and not worker.has_lease else hold
