"""The flow of kernel/flow/executions.py as steps: each is one commit, one call, or one answer, as the code makes them.

`enabled` says what can happen next and `apply` does it. What the statements allow is in guards.py, what the code
decides in decisions.py, the calls in delivery.py, and what happens to workers in world.py. What a worker alone can see
is part of the step before it.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from tests.model import decisions, delivery, guards, world
from tests.model.states import (
    Budget,
    Fact,
    Hold,
    Item,
    Key,
    Place,
    Setting,
    Stage,
    State,
    Status,
    Step,
    Variant,
    Worker,
)
from tests.model.world import put, with_row, with_worker
from tidings.domain.flow.provider import Blind, Resolvable

TO_DO: tuple[tuple[Place, frozenset[Stage]], ...] = (
    ("record", frozenset({"give_up"})),
    ("ask", frozenset({"ask"})),
    ("record", frozenset({"found", "spent"})),
    ("clear", frozenset({"absent"})),
    ("schedule", frozenset({"ask_later", "ask_never", "hold"})),
)
"""The order of face_doubt in kernel/flow/doubt.py."""


WORLD = -1
"""The place of who is no worker."""


def enabled(setting: Setting, state: State) -> list[Step]:
    """Everything that can happen next."""
    actors = range(WORLD, len(state.workers))
    return [step for actor in actors for step in steps_of(setting, state, actor)]


def steps_of(setting: Setting, state: State, actor: int) -> list[Step]:
    """What one worker, or the world, can do next. Idle workers are all alike, so only the first of them claims."""
    if actor == WORLD:
        return list(world.steps(setting, state))
    worker = state.workers[actor]
    if worker.at != "idle":
        keys = tuple([post.key for post in state.posts])
        return _steps_at_work(setting, actor, worker, _whether(state.budget), keys)
    is_due = state.row is not None and state.row.due
    if not is_due or any(other.at == "idle" for other in state.workers[:actor]):
        return []
    return _twice(state.budget, Step("claim", actor))


@cache
def _whether(budget: Budget) -> Budget:
    """How much is left of each trouble does not matter to what can happen next."""
    return Budget(*(min(left, 1) for left in budget))


@cache
def _steps_at_work(setting: Setting, actor: int, worker: Worker, budget: Budget, keys: tuple[Key, ...]) -> list[Step]:
    steps = list(_worker_steps(setting, actor, worker, budget, keys))
    return [*steps, Step("crash", actor)] if budget.crashes else steps


def apply(setting: Setting, state: State, step: Step) -> State:
    """The state after a step."""
    if step.answer_lost:
        lost = state.budget.lost_commits - 1
        state = state._replace(budget=state.budget._replace(lost_commits=lost))
    act = ACTS.get(step.what, world.apply)
    return act(setting, state, step)


def _worker_steps(
    setting: Setting, place: int, worker: Worker, budget: Budget, keys: tuple[Key, ...]
) -> Iterator[Step]:
    match worker.at:
        case "deliver":
            yield from delivery.steps(setting, place, worker, budget, keys)
        case "ask":
            yield Step("ask", place)
            if budget.unknowns:
                yield Step("cannot_tell", place)
        case "reserve":
            yield from _twice(budget, Step("reserve", place))
            if Variant.MARK_AFTER_SEND not in setting.broken:
                yield from _twice(budget, Step("reserve_marked", place))
        case at:
            yield Step(at, place)


def _twice(budget: Budget, step: Step) -> list[Step]:
    """A commit whose answer comes, and one whose answer is lost."""
    return [step, step._replace(answer_lost=True)] if budget.lost_commits else [step]


def _onward(setting: Setting, worker: Worker) -> Worker:
    """Where a worker goes next: to the first thing that is left to do."""
    hand = worker.hand
    stages = {hold.stage for hold in hand if hold}
    if "orphan" in stages:
        return worker._replace(at="admit")
    if "doubt" in stages:
        hand = tuple(_judged(setting, hold) if hold and hold.stage == "doubt" else hold for hold in hand)
        worker, stages = worker._replace(hand=hand), {hold.stage for hold in hand if hold}
    for place, wanted in TO_DO:
        if stages & wanted:
            return worker._replace(at=place)
    if worker.stop or decisions.is_dead(setting, worker.crashes):
        return worker._replace(at="settle") if "open" in stages else decisions.releasing(setting, worker)
    if None in hand and not worker.ended:
        return worker._replace(at="reserve")
    return delivery.begun(setting, worker)


def _judged(setting: Setting, hold: Hold) -> Hold:
    if hold.known.retry == "later":
        return hold._replace(stage="left")
    stage = decisions.verdict_on(setting, hold.known)
    if Variant.BLIND_REPEAT_AFTER_CRASH in setting.broken and isinstance(setting.provider, Blind):
        stage = "again"
    if stage == "again":
        return Hold(decisions.doubted(hold.known, "due"), "again")
    return hold._replace(stage="left" if stage == "hold" and hold.known.retry == "none" else stage)


# Claim and load


def _claim(setting: Setting, state: State, step: Step) -> State:
    row = guards.claim(state.row)
    if row is None:
        raise AssertionError("nothing is due")
    at: Place = "reread" if step.answer_lost else "load"
    worker = Worker(at, row.fence, row.stop, row.crashes if setting.may_die else 0)
    return with_worker(with_row(state, row), step.worker, worker)


def _reread(setting: Setting, state: State, step: Step) -> State:
    worker = state.workers[step.worker]
    found = guards.reread(state.row, worker.fence)
    return with_worker(state, step.worker, worker._replace(at="load") if found else Worker())


def _load(setting: Setting, state: State, step: Step) -> State:
    worker = state.workers[step.worker]._replace(ended=state.ended, hand=tuple(map(_read, state.items)))
    return with_worker(state, step.worker, _onward(setting, worker))


def _read(item: Item | None) -> Hold | None:
    if item is None:
        return None
    if item.status != "queued":
        return Hold(Item(item.status), "done")
    known = item._replace(marked_fence=0)  # nobody reads it
    return Hold(known, "orphan" if item.marked else "doubt" if item.in_doubt else "open")


# What a crash left behind


def _admit(setting: Setting, state: State, step: Step) -> State:
    def admit(worker: Worker, hold: Hold, item: Item) -> tuple[Item, Hold]:
        known = decisions.orphaned(hold.known)
        if Variant.EXPIRY_MEANS_NOT_SENT in setting.broken:
            fresh = item._replace(marked=False, attempts=max(item.attempts - 1, 0))
            return fresh, Hold(known._replace(in_doubt=False), "open")
        row = delivery.seen_row(setting, state, worker)
        doubted = guards.doubt(row, item, worker.fence, hold.known.marked_attempt)
        if doubted == item:
            return item, hold._replace(stage="left")  # its worker has spoken since: it is read again at the next claim
        if Variant.COUNT_CRASH_AS_ATTEMPT in setting.broken:
            used = hold.known.attempts
            return doubted._replace(attempts=item.attempts), Hold(known._replace(attempts=used), "doubt")
        return doubted, Hold(known, "doubt")

    return _on_items(setting, state, step, frozenset({"orphan"}), admit)


def _ask(setting: Setting, state: State, step: Step) -> State:
    worker = state.workers[step.worker]
    hand = tuple(
        hold._replace(stage=_evidence(setting, state, place, hold, step)) if hold and hold.stage == "ask" else hold
        for place, hold in enumerate(worker.hand)
    )
    if step.what == "cannot_tell":
        state = state._replace(budget=state.budget._replace(unknowns=state.budget.unknowns - 1))
    return with_worker(state, step.worker, _onward(setting, worker._replace(hand=hand)))


def _evidence(setting: Setting, state: State, place: int, hold: Hold, step: Step) -> Stage:
    """As _ask in kernel/flow/doubt.py takes what the provider says."""
    if step.what == "cannot_tell":
        return "ask_later"
    if state.posts[place].effective:
        return "found"
    if not isinstance(setting.provider, Resolvable) or not setting.provider.authoritative:
        return "ask_never"
    if hold.known.retry == "none" and Variant.NO_SETTLE_TIME not in setting.broken:
        return "ask_later"
    return "absent" if hold.known.attempts < setting.attempts else "spent"


def _record(setting: Setting, state: State, step: Step) -> State:
    worker = state.workers[step.worker]
    hand = worker.hand
    for place, hold in enumerate(hand):
        if hold and hold.stage in {"give_up", "found", "spent"}:
            status: Status = "sent" if hold.stage == "found" else "failed"
            state = _with_fact(state, place, Fact(worker.fence, hold.known.marked_attempt, status))
            hand = put(hand, place, Hold(Item(status), "done"))
    return with_worker(state, step.worker, _onward(setting, worker._replace(hand=hand)))


def _with_fact(state: State, place: int, fact: Fact) -> State:
    item = state.items[place]
    if item is None:
        return state
    row, item = guards.finalize(state.row, item, fact)
    return world.with_item(with_row(state, row), place, item)


def _clear(setting: Setting, state: State, step: Step) -> State:
    def clear(worker: Worker, hold: Hold, item: Item) -> tuple[Item, Hold]:
        row = delivery.seen_row(setting, state, worker)
        cleared = guards.clear(row, item, worker.fence, hold.known.marked_attempt)
        return cleared, Hold(decisions.cleared(hold.known), "open")

    return _on_items(setting, state, step, frozenset({"absent"}), clear)


def _schedule(setting: Setting, state: State, step: Step) -> State:
    def schedule(worker: Worker, hold: Hold, item: Item) -> tuple[Item, Hold]:
        retry = guards.LATER if hold.stage == "ask_later" else guards.NEVER
        row = delivery.seen_row(setting, state, worker)
        return guards.schedule(row, item, worker.fence, retry), Hold(decisions.doubted(hold.known, retry), "left")

    return _on_items(setting, state, step, frozenset({"ask_later", "ask_never", "hold"}), schedule)


def _settle(setting: Setting, state: State, step: Step) -> State:
    def settle(worker: Worker, hold: Hold, item: Item) -> tuple[Item, Hold]:
        status: Status = "skipped" if worker.stop else "failed"
        settled = guards.settle(item, status)
        is_settled = settled.status == status
        return settled, Hold(decisions.settled(hold.known, status), "done") if is_settled else hold

    return _on_items(setting, state, step, frozenset({"open"}), settle, decisions.releasing)


def _on_items(
    setting: Setting,
    state: State,
    step: Step,
    stages: frozenset[Stage],
    change: Callable[[Worker, Hold, Item], tuple[Item, Hold]],
    onward: Callable[[Setting, Worker], Worker] = _onward,
) -> State:
    """One commit about the items of a hand that are at these stages."""
    worker = state.workers[step.worker]
    items, hand = state.items, worker.hand
    for place, hold in enumerate(worker.hand):
        item = items[place]
        if hold and item and hold.stage in stages:
            item, hold = change(worker, hold, item)  # noqa: PLW2901 – the pair moves together
            items, hand = put(items, place, item), put(hand, place, hold)
    return with_worker(state._replace(items=items), step.worker, onward(setting, worker._replace(hand=hand)))


# Reserve and release


def _reserve(setting: Setting, state: State, step: Step) -> State:
    """What exists already is the plan: it is read, whoever wrote it. What has room for its call is marked at once."""
    worker = state.workers[step.worker]
    row, wish = delivery.seen_row(setting, state, worker), step.what == "reserve_marked"
    state = state._replace(items=tuple(guards.reserve(row, item, worker.fence, wish=wish) for item in state.items))
    if step.answer_lost:
        return state

    def taken(item: Item | None) -> Hold | None:
        is_ours = item is not None and item.marked and guards.reread_reserved(row, item, worker.fence)
        return Hold(Item(), "marked", attempt=1) if is_ours else _taken(item)

    hand = tuple(taken(item) if hold is None else hold for hold, item in zip(worker.hand, state.items, strict=True))
    return with_worker(state, step.worker, delivery.begun(setting, worker._replace(hand=hand)))


def _taken(item: Item | None) -> Hold | None:
    """As _take_existing in kernel/flow/reserve.py does: doubt found here is faced at the next claim."""
    hold = _read(item)
    return hold._replace(stage="left" if hold.stage == "doubt" else "open") if hold and hold.stage != "done" else hold


def _release(setting: Setting, state: State, step: Step) -> State:
    worker = state.workers[step.worker]
    move, fence = worker.move, worker.fence
    if move is None:
        raise AssertionError("a release that goes nowhere")
    if Variant.NO_FENCE in setting.broken and state.row is not None:
        fence = state.row.fence
    row, moved = guards.release(state.row, fence, move.due, stop=worker.stop)
    state = state._replace(row=row, ended=move.ended if moved else state.ended)
    return with_worker(state, step.worker, Worker())


ACTS: Mapping[str, Callable[[Setting, State, Step], State]] = {
    "claim": _claim,
    "reread": _reread,
    "load": _load,
    "admit": _admit,
    "ask": _ask,
    "cannot_tell": _ask,
    "record": _record,
    "clear": _clear,
    "schedule": _schedule,
    "settle": _settle,
    "reserve": _reserve,
    "reserve_marked": _reserve,
    "release": _release,
    "commit": delivery.commit,
    "postpone": delivery.postpone,
    "hand_over": delivery.hand_over,
    "refrain": delivery.refrain,
    "lease_spent": delivery.refrain,
}
