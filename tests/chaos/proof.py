"""What the tests of chaos share: the seed, work of every kind, and the proof at the end."""

import os

from tests.chaos.arena import Arena
from tests.chaos.audit import Findings
from tests.chaos.waiting import DEADLINE_SECONDS

SEED = os.environ.get("CHAOS_SEED") or os.environ.get("PYTEST_XDIST_TESTRUNUID", "1")[:8]


async def prove(arena: Arena, seconds: float = DEADLINE_SECONDS, workers: int = 2) -> Findings:
    """Settle and audit; a violation names the seed and how to see it again."""
    await arena.settle(workers, seconds)
    findings = await arena.audit()
    print(f"\nseed {SEED}: {arena.faults}, {dict(arena.troubles)}\n{findings}")
    assert not findings.violations, f"seed {SEED}; again: CHAOS_SEED={SEED} pytest tests/chaos\n{findings}"
    return findings


async def feed(arena: Arena, provider: str) -> None:
    """Work of every kind for one provider."""
    await arena.workload.start_executions(provider, 20)
    await arena.workload.start_run(provider, 40)
    await arena.workload.start_walks(2)
