"""What happens to workers rather than by them: time, death, the network, the provider, and a person who cancels.

The provider keeps to its class. A keyed one gives the same final answer to the same key; one that can be looked up
knows what it took. The settle time is what it is meant to be: when it is over, nothing is on its way any more.
"""

from collections.abc import Iterator
from typing import TypeVar

from tests.model import guards
from tests.model.states import Budget, Heard, Hold, Item, Key, Post, Row, Setting, State, Step, Worker
from tidings.domain.flow.provider import Keyed, Resolvable

T = TypeVar("T")
FAULTS = frozenset(
    {
        *("crash", "freeze", "cancel", "postpone", "cannot_tell"),
        *("accept_unheard", "vanish", "time_out", "refuse_free", "cannot_begin"),
    }
)
"""What nobody may rely on happening."""


def steps(setting: Setting, state: State) -> Iterator[Step]:
    """What the world may do next."""
    for place, post in enumerate(state.posts):
        if post.air:
            yield from _arrivals(setting, place, post)
        item = state.items[place]
        if item is not None and item.retry == "later" and _may_come_due(setting, state, place, item):
            yield Step("retry_due", item=place)
    if state.row is not None:
        yield from _row_steps(state, state.row)


def _row_steps(state: State, row: Row) -> Iterator[Step]:
    """A lease whose holder is dead runs out by itself; that of a live one only if it freezes."""
    if not row.due and not row.leased:
        yield Step("row_due")
    elif not row.due and not any(is_holder(state, worker) for worker in state.workers):
        yield Step("expire")
    elif not row.due and state.budget.freezes:
        yield Step("freeze")
    if state.budget.cancels and not row.stop and not state.ended:
        yield Step("cancel")


def provider_steps(setting: Setting, worker: int, place: int, budget: Budget, key: Key) -> Iterator[Step]:
    """What may become of a request that a worker waits for."""
    answers = ["accept", "reject", "refuse"]
    if isinstance(setting.provider, Keyed) and key:
        answers = ["accept" if key == "accepted" else "reject"]
    if budget.unknowns:
        answers += ["accept_unheard", "vanish", "time_out"]
    if budget.free_refusals:
        answers += ["refuse_free", "cannot_begin"]
    for answer in answers:
        yield Step(answer, worker, place)


def is_holder(state: State, worker: Worker) -> bool:
    """Whether a live worker has the lease that the row shows."""
    return worker.at != "idle" and state.row is not None and worker.fence == state.row.fence and state.row.leased


def apply(setting: Setting, state: State, step: Step) -> State:
    """The world after one of its steps."""
    if step.what in HEARD:
        return _answered(setting, state, step)
    if step.what == "crash":
        return _crashed(state, step.worker)
    if step.item >= 0:
        return _about_item(setting, state, step)
    if state.row is None:
        raise AssertionError(f"no row to {step.what}")
    return _about_row(state, state.row, step)


def _about_item(setting: Setting, state: State, step: Step) -> State:
    item = state.items[step.item]
    if step.what == "retry_due":
        return with_item(state, step.item, item._replace(retry="due") if item else None)
    return _landed_alone(setting, state, step)


def _about_row(state: State, row: Row, step: Step) -> State:
    budget = state.budget
    match step.what:
        case "row_due":
            return with_row(state, row._replace(due=True))
        case "expire":
            return _expired(state, row)
        case "freeze":
            return _expired(state, row)._replace(budget=budget._replace(freezes=budget.freezes - 1))
        case "cancel":
            return state._replace(row=guards.cancel(row), budget=budget._replace(cancels=budget.cancels - 1))
        case _:
            raise AssertionError(f"nobody knows how to {step.what}")


def with_row(state: State, row: Row | None) -> State:
    """The same, but for the owner's row. Written out, as the next three: most of a search is here."""
    _, ended, items, posts, workers, budget = state
    return State(row, ended, items, posts, workers, budget)


def with_item(state: State, place: int, item: Item | None) -> State:
    """The same, but for one item."""
    row, ended, items, posts, workers, budget = state
    return State(row, ended, put(items, place, item), posts, workers, budget)


def with_post(state: State, place: int, post: Post) -> State:
    """The same, but for what the provider knows of one item."""
    row, ended, items, posts, workers, budget = state
    return State(row, ended, items, put(posts, place, post), workers, budget)


def with_worker(state: State, place: int, worker: Worker) -> State:
    """The same, but for one worker."""
    row, ended, items, posts, workers, budget = state
    return State(row, ended, items, posts, put(workers, place, worker), budget)


def put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    """A tuple with one place changed."""
    return (*values[:place], value, *values[place + 1 :])


def _arrivals(setting: Setting, place: int, post: Post) -> Iterator[Step]:
    yield Step("arrive", item=place)
    yield Step("drop", item=place)
    if isinstance(setting.provider, Keyed) and not post.key:
        yield Step("reject_unheard", item=place)


def _may_come_due(setting: Setting, state: State, place: int, item: Item) -> bool:
    """A settle time outlasts every request that was begun before the doubt; other times come when they like."""
    if not item.in_doubt or not isinstance(setting.provider, Resolvable):
        return True
    held = (worker.hand[place] for worker in state.workers if worker.hand)
    return not state.posts[place].air and not any(hold and hold.stage == "calling" for hold in held)


def _expired(state: State, row: Row) -> State:
    """The lease runs out, and whoever has it can see that by its own clock, whenever it looks again."""
    workers = tuple(worker._replace(lapsed=True) if is_holder(state, worker) else worker for worker in state.workers)
    return state._replace(row=row._replace(due=True), workers=workers)


def _crashed(state: State, place: int) -> State:
    """All that a worker knew is gone; its requests are still on their way."""
    hand = state.workers[place].hand
    posts = tuple(
        post._replace(air=post.air + 1) if hand and (hold := hand[number]) and hold.stage == "calling" else post
        for number, post in enumerate(state.posts)
    )
    budget = state.budget._replace(crashes=state.budget.crashes - 1)
    return with_worker(state._replace(posts=posts, budget=budget), place, Worker())


def _taken(setting: Setting, post: Post) -> Post:
    """The provider accepts; a keyed one takes the same key only once."""
    if not isinstance(setting.provider, Keyed):
        return post._replace(effective=post.effective + 1)
    return post if post.key else post._replace(effective=post.effective + 1, key="accepted")


def _refused_for_good(setting: Setting, post: Post) -> Post:
    return post._replace(key=post.key or "rejected") if isinstance(setting.provider, Keyed) else post


def _landed_alone(setting: Setting, state: State, step: Step) -> State:
    post = state.posts[step.item]
    post = post._replace(air=post.air - 1)
    if step.what == "arrive":
        post = _taken(setting, post)
    elif step.what == "reject_unheard":
        post = _refused_for_good(setting, post)
    return with_post(state, step.item, post)


HEARD: dict[str, Heard] = {
    "accept": "accepted",
    "reject": "rejected",
    "refuse": "refused",
    "refuse_free": "refused_free",
    "cannot_begin": "unavailable",
    "accept_unheard": "unknown",
    "vanish": "unknown",
    "time_out": "unknown",
}


def _answered(setting: Setting, state: State, step: Step) -> State:
    post, worker = state.posts[step.item], state.workers[step.worker]
    if step.what in {"accept", "accept_unheard"}:
        post = _taken(setting, post)
    elif step.what == "reject":
        post = _refused_for_good(setting, post)
    elif step.what == "time_out":
        post = post._replace(air=post.air + 1)
    hold = worker.hand[step.item]
    if hold is None:
        raise AssertionError(f"nobody waits for an answer: {step}")
    landed: Hold = hold._replace(stage="landed", heard=HEARD[step.what])
    budget = _spent(state.budget, HEARD[step.what])
    state = with_post(state._replace(budget=budget), step.item, post)
    return with_worker(state, step.worker, worker._replace(hand=put(worker.hand, step.item, landed)))


def _spent(budget: Budget, heard: Heard) -> Budget:
    if heard == "unknown":
        return budget._replace(unknowns=budget.unknowns - 1)
    if heard in {"refused_free", "unavailable"}:
        return budget._replace(free_refusals=budget.free_refusals - 1)
    return budget
