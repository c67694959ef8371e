"""The harms of a round: a table of what is done and how often, and the deck that is drawn from it.

A new fault is a function on a Scene and a line in HARMS. Crash points are not left to chance: the rounds go through
all points × classes in turn.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice

from tests.chaos.app import CLASSES
from tests.chaos.arena import until
from tests.chaos.plan import Plan
from tests.chaos.product_scene import ProductScene
from tests.chaos.scene import TIMING, Scene
from tests.chaos.vendor_scene import VendorScene
from tidings.kernel.crash_points import POINTS
from tidings.worker.main import EXIT_AT_ONCE

CLIENT_POINT = "before_trigger_commit"
NOT_IN_WORKERS = {CLIENT_POINT, "before_enroll_commit", "after_enroll_chunk"}
TARGETS = [(point, provider) for point in POINTS if point not in NOT_IN_WORKERS for provider in CLASSES]
FREEZING_POINTS = ("before_mark_commit", "after_mark", "after_call", "before_finalize_commit", "after_claim")
FURTHEST_TIME = {"before_call": 60, "after_call": 60}
"""Points that are reached for each item; the others are for each batch."""
TRIGGERS = 40
FLOOD = 4_800
"""Six times what two workers claim before anybody else comes."""
FEW_BESIDE = 3


@dataclass(frozen=True, slots=True)
class Card:
    """One harm to be done, while this class is being fed."""

    name: str
    provider: str
    points: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {', '.join(self.points)} ({self.provider})"


@dataclass(frozen=True, slots=True)
class Harm:
    """What is done, how often in a round of the usual plan, and how many crash points it is dealt."""

    act: Callable[[Scene, Card], Awaitable[None]]
    times: float
    points: int = 0
    is_restart: bool = False

    def times_in(self, plan: Plan) -> float:
        """How often in this plan."""
        usual = Plan()
        return self.times * (plan.restarts / usual.restarts if self.is_restart else plan.kills / usual.kills)


async def crash(scene: Scene, card: Card) -> None:
    """One more worker, which dies at a point."""
    [point] = card.points
    await scene.arena.crash_worker(_armed(scene, point), scene.feed)


async def crash_twice(scene: Scene, card: Card) -> None:
    """Nobody else is left, so what the first one dies with is what the second one finds, and dies with."""
    gone = list(scene.workers)
    for worker in gone:
        await scene.arena.kill(worker)
    for point in card.points:
        await scene.arena.crash_worker(f"{point}:1", scene.feed)
    await scene.replace(*gone)


async def kill(scene: Scene, card: Card) -> None:
    await scene.under_load()
    victim = scene.draw.choice(scene.workers)
    await scene.arena.kill(victim)
    await scene.replace(victim)


async def crash_client(scene: Scene, card: Card) -> None:
    """A client dies between two commits of its triggers, and another triggers all of it again."""
    triggers = scene.arena.workload.triggers(card.provider, TRIGGERS)
    await scene.arena.trigger_elsewhere(
        f"one-{card.provider}", triggers, crash_at=f"{CLIENT_POINT}:{scene.draw.randint(1, 4)}"
    )
    await scene.arena.workload.trigger_again(card.provider, triggers)


async def terminate(scene: Scene, card: Card) -> None:
    await scene.under_load()
    leaver = scene.draw.choice(scene.workers)
    scene.arena.terminate(leaver)
    if await leaver.wait():
        raise AssertionError(f"a drained worker ended with {leaver.code}:\n{leaver.tail()}")
    await scene.replace(leaver)


async def terminate_twice(scene: Scene, card: Card) -> None:
    """The second leaves at once, unless the worker had nothing in the air and is gone already."""
    await scene.under_load()
    leaver = scene.draw.choice(scene.workers)
    scene.arena.terminate(leaver)
    await until("a worker drains", lambda: leaver.code is not None or bool(leaver.events("draining")))
    scene.arena.terminate(leaver)
    code = await leaver.wait()
    if code not in {0, EXIT_AT_ONCE}:
        raise AssertionError(f"a worker told twice ended with {code}:\n{leaver.tail()}")
    scene.arena.faults.kills["second SIGTERM"] += code == EXIT_AT_ONCE
    await scene.replace(leaver)


async def freeze(scene: Scene, card: Card) -> None:
    """About as long as a lease or longer, so that others take over; then on with it."""
    await scene.under_load()
    zombie = scene.draw.choice(scene.workers)
    scene.arena.freeze(zombie)
    await _outlast_a_lease(scene)
    scene.arena.thaw(zombie)


async def freeze_at_point(scene: Scene, card: Card) -> None:
    """The same at a point, where it hurts most."""
    zombie = await scene.arena.start_worker(f"{_armed(scene, scene.draw.choice(FREEZING_POINTS))}:stop")
    await scene.feed()
    await scene.arena.until_frozen(zombie)
    await _outlast_a_lease(scene)
    scene.arena.thaw(zombie)
    scene.arena.terminate(zombie)
    if await zombie.wait():
        raise AssertionError(f"a worker that woke up ended with {zombie.code}:\n{zombie.tail()}")


async def flood(scene: Scene, card: Card) -> None:
    """One tenant floods, others ask for a little now and then, and a worker is killed in between."""
    workload = scene.arena.workload
    name = await workload.start_flood(card.provider, FLOOD)
    await scene.under_load()
    await workload.start_beside(name, card.provider, FEW_BESIDE)
    await kill(scene, card)
    await workload.start_beside(name, card.provider, FEW_BESIDE)
    await until("the others' messages leave", scene.arena.has_marked_others)


async def restart_postgres(scene: Scene, card: Card) -> None:
    await scene.under_load()
    await scene.arena.kill_postgres()


async def hand_over(scene: Scene, card: Card) -> None:
    """Everything is paused, new workers take the place of the old ones, and it is resumed."""
    await scene.under_load()
    await products_of(scene).hand_over()


async def kill_api(scene: Scene, card: Card) -> None:
    """While somebody is asking; they ask again."""
    products = products_of(scene)
    feeding = asyncio.create_task(products.feed(card.provider))
    await asyncio.sleep(scene.draw.uniform(0, 0.3))  # somewhere in it
    await products.kill_api()
    await feeding


async def close_account(scene: Scene, card: Card) -> None:
    """A vendor refuses an account: what it has not taken goes through the next, and what is in doubt does not."""
    if not isinstance(scene, VendorScene):
        raise TypeError("this round has no vendors")
    await scene.close_account(card.provider)


def products_of(scene: Scene) -> ProductScene:
    """The scene of a round of the products: only such a one is dealt their harms."""
    if not isinstance(scene, ProductScene):
        raise TypeError("this round has no products")
    return scene


HARMS: Mapping[str, Harm] = {
    "crash at a point": Harm(crash, 15, points=1),
    "two crashes on the same items": Harm(crash_twice, 1, points=2),
    "kill -9 at random": Harm(kill, 4),
    "client killed": Harm(crash_client, 1),
    "one tenant floods": Harm(flood, 1),
    "SIGTERM twice": Harm(terminate_twice, 1),
    "SIGTERM": Harm(terminate, 2),
    "SIGSTOP beyond the lease": Harm(freeze, 1),
    "SIGSTOP at a point": Harm(freeze_at_point, 1),
    "PostgreSQL kill -9": Harm(restart_postgres, 3, is_restart=True),
}
PRODUCT_HARMS: Mapping[str, Harm] = {
    **HARMS,
    "pause, new workers, resume": Harm(hand_over, 2),
    "API kill -9": Harm(kill_api, 2),
}
VENDOR_HARMS: Mapping[str, Harm] = {
    **{name: harm for name, harm in HARMS.items() if name != "one tenant floods"},
    "account closed, then kill -9": Harm(close_account, 4),
}
"""A tenant that floods has no connections: it would go another way."""
PRODUCTS_EVERY = 4
GENTLE: Mapping[str, Harm] = {"SIGTERM": Harm(terminate, 12)}
"""A round of these leaves nothing in doubt at all."""
GENTLE_EVERY = 8


def is_gentle(number: int) -> bool:
    """Whether a round only asks workers to leave."""
    return number % GENTLE_EVERY == GENTLE_EVERY - 1


def is_of_products(number: int, plan: Plan) -> bool:
    """Whether what a round works on is asked for as users ask: campaigns, enrollments and events."""
    if plan.work == "vendors":
        return False
    return plan.work == "products" or number % PRODUCTS_EVERY == PRODUCTS_EVERY // 2


def harms_of(number: int, plan: Plan) -> Mapping[str, Harm]:
    """What may be dealt to a round."""
    if is_gentle(number):
        return GENTLE
    if plan.work == "vendors":
        return VENDOR_HARMS
    return PRODUCT_HARMS if is_of_products(number, plan) else HARMS


def deck(number: int, plan: Plan, draw: random.Random) -> list[Card]:
    """The harms of one round, class after class, shuffled within each."""
    harms = harms_of(number, plan)
    times = {name: _whole(harm.times_in(plan), draw) for name, harm in harms.items()}
    dealt = sum(times[name] * harm.points for name, harm in harms.items())
    # A gentle round is dealt no point, so it must not be counted either.
    hurt = number - number // GENTLE_EVERY
    targets = [TARGETS[place % len(TARGETS)] for place in range(hurt * dealt, (hurt + 1) * dealt)]
    cards: list[Card] = []
    for name, harm in sorted(harms.items(), key=lambda entry: -entry[1].points):
        providers = islice(cycle(CLASSES), number % len(CLASSES), None)  # each class is the first in its turn
        for _ in range(times[name]):
            mine = _take(targets, harm.points)
            provider = mine[0][1] if mine else next(providers)
            cards.append(Card(name, provider, tuple(point for point, _ in mine)))
    order = draw.sample(list(CLASSES), len(CLASSES))
    draw.shuffle(cards)
    return sorted(cards, key=lambda card: order.index(card.provider))


async def do(scene: Scene, card: Card) -> None:
    """Do one harm while its class is fed, and note its kills under that class."""
    scene.provider = card.provider
    before = scene.arena.faults.kills.copy()
    await {**PRODUCT_HARMS, **VENDOR_HARMS, **GENTLE}[card.name].act(scene, card)
    for how, times in (scene.arena.faults.kills - before).items():
        scene.kills[f"{how} {card.provider}"] += times


def _take(targets: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """The next target, and more of its class: two crashes on the same items are of one class."""
    if not count:
        return []
    provider = targets[0][1]
    taken = [target for target in targets if target[1] == provider][:count]
    for target in taken:
        targets.remove(target)
    return taken


def _whole(times: float, draw: random.Random) -> int:
    """A number of times whose mean is the given one."""
    return int(times) + (draw.random() < times % 1)


def _armed(scene: Scene, point: str) -> str:
    return f"{point}:{scene.draw.randint(1, FURTHEST_TIME.get(point, 3))}"


async def _outlast_a_lease(scene: Scene) -> None:
    thaw_at = time.monotonic() + TIMING.lease_seconds * scene.draw.uniform(0.8, 2)
    await until("the lease is over", lambda: time.monotonic() >= thaw_at)
