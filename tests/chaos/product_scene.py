"""A scene whose work is asked of the products: one large campaign from the beginning, and a little of everything."""

import random
from contextlib import AsyncExitStack

from tests.chaos.app import CLASSES, CONCURRENCY
from tests.chaos.arena import Arena
from tests.chaos.audit import Findings
from tests.chaos.plan import Plan
from tests.chaos.products import STEPS, Products, hand_over, open_products
from tests.chaos.scene import SETTLE_SECONDS, TIMING, WORKERS, Scene

LARGE = "blind"
"""The class of the large campaign: the only one that a crash can leave in doubt."""
SHARE_ENROLLED = 0.6
"""Of the sends that are not the large campaign's; the rest comes with each feeding."""
PEOPLE_PER_FEEDING = 60
SECONDS_OF_A_HARM = 4.0
LONGEST_CALL_SECONDS = TIMING.call_seconds / 2


class ProductScene(Scene):
    """What harms act on when the work is the users'."""

    def __init__(self, arena: Arena, draw: random.Random, plan: Plan) -> None:
        super().__init__(arena, draw, plan)
        self._plan = plan
        self._stack = AsyncExitStack()
        self._products: Products | None = None

    @property
    def products(self) -> Products:
        """The user, once the scene is open."""
        if self._products is None:
            raise AssertionError("the scene is not open yet")
        return self._products

    def call_seconds(self, harms: int) -> float:
        """So long that the large campaign is under way until the last harm is done, if it takes all there is."""
        calls_at_once = WORKERS * CONCURRENCY
        return min(LONGEST_CALL_SECONDS, calls_at_once * harms * SECONDS_OF_A_HARM / self._plan.contacts)

    async def open(self) -> None:
        """Begin everything that is large, and then the workers: the whole of it is planned and sent under harm."""
        self._products = await self._stack.enter_async_context(open_products(self.arena))
        await self.products.deploy(LARGE, self._plan.contacts)
        rest = max(0, self._plan.sends - self._plan.contacts)
        await self.products.enroll(max(1, round(SHARE_ENROLLED * rest / len(STEPS))))
        self.workers = await self.arena.start_workers(WORKERS)

    async def feed(self, provider: str | None = None) -> None:
        """A campaign for one class, enrollments and events for all."""
        provider = provider or self.provider
        await self.products.deploy(provider, PEOPLE_PER_FEEDING)
        await self.products.enroll(PEOPLE_PER_FEEDING // 10)
        await self.products.post_events(PEOPLE_PER_FEEDING // 10)
        await self.arena.workload.start_executions(provider, PEOPLE_PER_FEEDING // 10)

    async def hand_over(self) -> None:
        """Pause, new workers, resume."""
        self.workers = await hand_over(self.arena, self.products, self.workers)
        self.arena.faults.hand_overs += 1

    async def kill_api(self) -> None:
        """kill -9 to the API, and start it again."""
        await self.arena.kill_api(self.products.api)

    async def conclude(self) -> Findings:
        """Audit, end all doubt by the ledger's evidence, and audit again: then everybody was reached exactly once."""
        findings = await self.arena.audit()
        await self.products.resolve_by_evidence()
        await self.arena.settle(seconds=SETTLE_SECONDS)
        after = await self.arena.audit()
        left = sum(after.tallies[provider].in_doubt for provider in CLASSES)
        findings.violations += [f"after doubt was ended: {one}" for one in after.violations]
        findings.violations += [f"{left} are in doubt although a person has decided"] * bool(left)
        findings.violations += await self.products.unfinished()
        findings.workloads = after.workloads
        return findings

    async def close(self) -> None:
        """Let the user go; the API is the arena's."""
        await self._stack.aclose()
