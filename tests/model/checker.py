"""Look at every state that can be reached, or at ten thousand ways through too many to look at all.

A violation is a rule with the steps that break it: the fewest there are, or those of a seed, which finds them again.
"""

import gc
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from tests.model import model
from tests.model.invariants import HELD, Rule, broken, is_over
from tests.model.states import Budget, Item, Setting, State, Step
from tests.model.trace import retold
from tests.model.world import FAULTS

MOST_STATES = 400_000
TROUBLE = 0.15
"""The share of a random way's steps that go wrong, while anything may."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold, and how to see it."""

    setting: Setting
    rule: Rule
    steps: Sequence[Step]
    seed: int | None = None

    def __str__(self) -> str:
        seed = "" if self.seed is None else f" (seed {self.seed})"
        return "\n".join([f"broken{seed}: {self.rule}", *retold(self.setting, self.steps)])


@dataclass(slots=True)
class Explored:
    """All that can be reached: each state once, and how it was reached first."""

    setting: Setting
    states: list[State] = field(default_factory=list)
    ids: dict[State, int] = field(default_factory=dict)
    reached: list[tuple[int, Step] | None] = field(default_factory=list)
    before: list[list[int]] = field(default_factory=list)  # by steps that can be relied on
    transitions: int = 0
    violation: Violation | None = None

    def add(self, state: State, reached: tuple[int, Step] | None) -> int | None:
        """Give a new state its number; None if it is known."""
        if state in self.ids:
            return None
        self.ids[state] = number = len(self.states)
        self.states.append(state)
        self.reached.append(reached)
        self.before.append([])
        return number

    def steps_to(self, number: int) -> list[Step]:
        """The fewest steps that lead to a state."""
        steps: list[Step] = []
        while reached := self.reached[number]:
            number, step = reached
            steps.append(step)
        return steps[::-1]

    def fail(self, rule: Rule, steps: Sequence[Step]) -> None:
        """Remember what is broken."""
        self.violation = Violation(self.setting, rule, steps)


def explore(setting: Setting, rules: Collection[Rule] = HELD) -> Explored:
    """Visit every state breadth first, until a rule is broken or none is left."""
    explored = Explored(setting)
    explored.add(normal(setting, setting.start()), None)
    waiting = deque([0])
    with _without_collector():
        while waiting and not explored.violation:
            _expand(explored, waiting, rules)
            if len(explored.states) > MOST_STATES:
                raise AssertionError(f"more than {MOST_STATES} states: choose a smaller setting")
    if not explored.violation and Rule.ENDS in rules:
        _look_for_dead_ends(explored)
    return explored


@contextmanager
def _without_collector() -> Iterator[None]:
    """There are many tuples here and no cycles: the collector would look at them all, again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _expand(explored: Explored, waiting: deque[int], rules: Collection[Rule]) -> None:
    setting, number = explored.setting, waiting.popleft()
    state = explored.states[number]
    for step in model.enabled(setting, state):
        after = model.apply(setting, state, step)
        if rule := broken(setting, state, step, after, rules):
            return explored.fail(rule, [*explored.steps_to(number), step])
        after = normal(setting, after)
        new = explored.add(after, (number, step))
        if new is not None:
            waiting.append(new)
        explored.transitions += 1
        if is_reliable(step):
            explored.before[explored.ids[after]].append(number)
    return None


def is_reliable(step: Step) -> bool:
    """Whether a step happens by itself, sooner or later."""
    return step.what not in FAULTS and not step.answer_lost


def _look_for_dead_ends(explored: Explored) -> None:
    """Go back from every end; a state that is not met has no way there."""
    ends = [number for number, state in enumerate(explored.states) if is_over(explored.setting, state)]
    met = set(ends)
    while ends:
        for earlier in explored.before[ends.pop()]:
            if earlier not in met:
                met.add(earlier)
                ends.append(earlier)
    if len(met) < len(explored.states):
        stuck = next(number for number in range(len(explored.states)) if number not in met)
        explored.fail(Rule.ENDS, explored.steps_to(stuck))


def normal(setting: Setting, state: State) -> State:
    """The same state with small fences, and without what nobody will ever look at again.

    Fences are compared and never counted, so their order is all there is to them.
    """
    fences = {worker.fence for worker in state.workers if worker.at != "idle"}
    if state.row is not None:
        fences.add(state.row.fence)
    if fences and max(fences) != len(fences):
        state = _ranked(state, {fence: place for place, fence in enumerate(sorted(fences), start=1)})
    if state.row is not None and state.row.crashes and not setting.may_die:
        state = state._replace(row=state.row._replace(crashes=0))
    if all(item is None or _is_normal(item, len(fences)) for item in state.items):
        return state
    items = tuple(item and _normal_item(item, len(fences)) for item in state.items)
    posts = tuple(
        post._replace(answered=0) if item and item.status != "queued" else post
        for item, post in zip(items, state.posts, strict=True)
    )
    return state._replace(items=items, posts=posts)


def _ranked(state: State, rank: Mapping[int, int]) -> State:
    row = state.row and state.row._replace(fence=rank[state.row.fence])
    workers = tuple(
        worker if worker.at == "idle" else worker._replace(fence=rank[worker.fence]) for worker in state.workers
    )
    items = tuple(item and item._replace(marked_fence=rank.get(item.marked_fence, 0)) for item in state.items)
    return state._replace(row=row, workers=workers, items=items)


def _is_normal(item: Item, highest: int) -> bool:
    return item.status == "queued" and item.marked_fence <= highest


def _normal_item(item: Item, highest: int) -> Item:
    if item.status != "queued":
        return Item(item.status)
    return item if item.marked_fence <= highest else item._replace(marked_fence=0)


def _chosen(setting: Setting, state: State, random: Random) -> Step | None:
    """Somebody acts; trouble is rare enough for something to happen between two of it."""
    actors = len(state.workers) + 1
    first, wants_trouble = int(random.random() * actors), random.random() < TROUBLE
    for turn in range(actors):
        if possible := model.steps_of(setting, state, (first + turn) % actors + model.WORLD):
            fitting = [step for step in possible if is_reliable(step) is not wants_trouble] or possible
            return fitting[int(random.random() * len(fitting))]
    return None


def _is_quiet(state: State) -> bool:
    """Whether nobody is at work and nothing on its way, so that nothing new can come of it."""
    return all(worker.at == "idle" for worker in state.workers) and not any(post.air for post in state.posts)


def walk(setting: Setting, seed: int, length: int, rules: Collection[Rule] = HELD) -> Violation | None:
    """Go one random way with trouble, then one without any more, which must come to the end."""
    random, state = Random(seed), setting.start()
    steps: list[Step] = []
    for number in range(20 * length):
        if number == length:
            state = state._replace(budget=Budget())
        if (number > length or _is_quiet(state)) and is_over(setting, state):
            return None
        if (step := _chosen(setting, state, random)) is None:
            break
        steps.append(step)
        after = model.apply(setting, state, step)
        if rule := broken(setting, state, step, after, rules):
            return Violation(setting, rule, steps, seed)
        state = after
    return None if Rule.ENDS not in rules or is_over(setting, state) else Violation(setting, Rule.ENDS, steps, seed)


def first_violation(setting: Setting, seeds: Iterable[int], length: int) -> Violation | None:
    """Go the ways of these seeds, until one breaks a rule."""
    with _without_collector():
        return next((found for seed in seeds if (found := walk(setting, seed, length))), None)
