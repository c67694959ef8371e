"""One round of the soak as a process of its own: `python -m tests.chaos.rounds '{"seed": …}'`.

Feeds, does the harms of its deck, lets everything settle with the faults off, and audits all that was ever intended.
Prints one JSON line each second on how far it is, and at the end one with what came of it.
"""

import asyncio
import ctypes
import json
import logging
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from tests.chaos.arena import Arena, Overdue, open_arena
from tests.chaos.evidence import keep_evidence
from tests.chaos.harms import Card, deck, do, is_gentle, is_of_products
from tests.chaos.plan import Report, Task
from tests.chaos.product_scene import ProductScene
from tests.chaos.scene import SETTLE_SECONDS, TIMING, Scene
from tests.chaos.vendor_scene import VendorScene

PROGRESS_SECONDS = 1.0
LONGEST_VIOLATION = 600  # the whole of it is with the evidence
FAULTS = {
    "drop": 0.004,
    "half": 0.002,
    "hang": 0.002,
    "error": 0.003,
    "broken": 0.002,
    "cut": 0.002,
    "throttle": 0.0005,
}
"""The share of calls that the provider handles badly while the faults are on; after a 429 it rests for everyone."""


class Round:
    """One task under way."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.report = Report(round=task.number)
        self._began = time.monotonic()

    async def run(self) -> Report:
        """Do the whole round; whatever keeps it from its end is a violation too."""
        with self._phase("open"):
            opening = open_arena(self.task.name, TIMING, directory=Path(self.task.directory))
            arena = await opening.__aenter__()
        try:
            await self._live(arena)
        finally:
            with self._phase("close"):
                await opening.__aexit__(None, None, None)
            self.report.seconds = time.monotonic() - self._began
        return self.report

    async def _live(self, arena: Arena) -> None:
        scene = scene_of(self.task)(arena, random.Random(self.task.name), self.task.plan)
        telling = asyncio.create_task(self._tell_for_ever(scene))
        try:
            async with asyncio.timeout(self.task.plan.minutes * 60):
                await self._hurt(scene)
                await self._prove(scene)
        except Exception as error:
            traceback.print_exc()
            self.report.violations.append(f"the round broke off: {type(error).__name__}: {error}")
        finally:
            telling.cancel()
            await scene.close()
            self.report.kills, self.report.others = scene.kills, scene.others()
        if self.report.violations:
            await keep_evidence(arena, self.report.violations)
            self.report.violations = [shorten(one, LONGEST_VIOLATION) for one in self.report.violations]

    async def _hurt(self, scene: Scene) -> None:
        with self._phase("harm"):
            cards = deck(self.task.number, self.task.plan, scene.draw)
            weights = {} if is_gentle(self.task.number) else FAULTS
            await scene.arena.order(weights=weights, delay_seconds=scene.call_seconds(len(cards)))
            await scene.open()
            feeding = asyncio.create_task(scene.keep_feeding())
            try:
                for place, card in enumerate(cards, start=1):
                    scene.share_done = place / len(cards)
                    await self._do(scene, card)
            finally:
                scene.is_over = True  # not cancelled: half a trigger would be intended and not asked for
                await feeding
        with self._phase("rest"):
            await scene.arena.order()
            await scene.feed_the_rest()

    async def _do(self, scene: Scene, card: Card) -> None:
        began = time.monotonic()
        print(f"{began - self._began:7.1f} {card}", file=sys.stderr, flush=True)
        with self._phase(f"harm: {card.name}"):
            await do(scene, card)

    async def _prove(self, scene: Scene) -> None:
        with self._phase("settle"):
            try:
                await scene.arena.settle(seconds=SETTLE_SECONDS)
            except Overdue as error:  # the audit can still say what is left
                self.report.violations.append(str(error))
                await scene.arena.send_home()
        with self._phase("audit"):
            findings = await scene.conclude()
        self.report.workloads = findings.workloads
        self.report.tallies = findings.tallies
        self.report.violations += findings.violations
        self.report.unwitnessed = findings.unwitnessed
        self.report.fairness = findings.fairness

    async def _tell_for_ever(self, scene: Scene) -> None:
        while True:
            sends = await scene.arena.taken()
            restarts = scene.arena.faults.postgres
            tell({"progress": {"kills": scene.kills.total(), "restarts": restarts, "sends": sends}})
            await asyncio.sleep(PROGRESS_SECONDS)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            self.report.phases[name] = round(self.report.phases.get(name, 0.0) + took, 2)


def scene_of(task: Task) -> type[Scene]:
    """What a round's harms act on."""
    if task.plan.work == "vendors":
        return VendorScene
    return ProductScene if is_of_products(task.number, task.plan) else Scene


def shorten(text: str, length: int) -> str:
    """The beginning of a text."""
    return text if len(text) <= length else f"{text[:length]} …"


def tell(line: Mapping[str, object]) -> None:
    """Say something to the soak."""
    print(json.dumps(line), flush=True)


async def main(task: Task) -> None:
    """Run the round, unless told to stop."""
    this = asyncio.current_task()
    if this is None:
        raise AssertionError("main runs as a task")
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, this.cancel)
    report = await Round(task).run()
    tell({"report": report.to_json()})


if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: without its soak it clears up and goes
    # The engine in this process says much while PostgreSQL is down; what matters is in the audit.
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with suppress(asyncio.CancelledError):
        asyncio.run(main(Task.from_json(json.loads(sys.argv[1]))))
