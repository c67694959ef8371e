"""Kill workers and PostgreSQL for an hour or so and count what was sent: `make chaos`, `python -m tests.chaos.soak`.

A round is a process of its own with its own PostgreSQL, ledger and workers, so rounds run side by side. Finished ones
are written down: the same seed again goes on where it stopped. Ends when enough was done, when the time is up, or when
a promise was broken; the exit status is 0 only if enough was done and nothing was broken.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from rich.console import Console

from tests.chaos.arena import REPOSITORY
from tests.chaos.plan import WORK, Plan, Report, add_up
from tests.chaos.runner import RoundProcess
from tests.chaos.screen import Screen, summary
from tests.chaos.state import HOME, Elsewhere, State

SHOW_SECONDS = 0.5
MOST_SHOWN = 20

console = Console(width=None if sys.stdout.isatty() else 110)


class Soak:
    """Rounds side by side until there are enough."""

    def __init__(self, state: State, options: argparse.Namespace) -> None:
        self._state = state
        self._options = options
        self._targets = {"kills": options.kills, "restarts": options.restarts, "sends": options.sends}
        self._done = state.reports()
        self._running: dict[int, RoundProcess] = {}
        self._stop_at = time.monotonic() + options.minutes * 60
        self._told_to_stop = False

    @property
    def sums(self) -> Report:
        """What the finished rounds came to."""
        return add_up(self._done)

    @property
    def rounds(self) -> int:
        """How many are finished."""
        return len(self._done)

    def is_enough(self) -> bool:
        """Whether the finished rounds reach every target."""
        sums = self.sums
        return all(self._count(sums, name) >= target for name, target in self._targets.items())

    async def run(self) -> None:
        """Work in lanes until nothing more is to be begun."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        with Screen(console, self._targets) as screen:
            showing = asyncio.create_task(self._show_for_ever(screen))
            try:
                async with asyncio.TaskGroup() as lanes:
                    for _ in range(self._options.lanes):
                        lanes.create_task(self._work(screen))
            finally:
                showing.cancel()

    def _stop(self) -> None:
        """Told to leave: rounds under way are given up, and done again when this seed goes on."""
        self._told_to_stop = True
        for running in self._running.values():
            running.stop()

    async def _work(self, screen: Screen) -> None:
        while (number := self._next()) is not None:
            task = self._state.task(number)
            self._running[number] = RoundProcess(task)
            report = await self._running[number].run()
            del self._running[number]
            if report is None:
                return
            self._done.append(report)
            self._state.finish(task, report)
            screen.say(
                f"round {number}: {report.kills.total()} kills, {report.restarts} restarts, {report.sends:,} sends, "
                f"{report.seconds:.0f} s" + (f", {len(report.violations)} violations" if report.violations else "")
            )

    def _next(self) -> int | None:
        """The number of the round to be begun now, if one is."""
        if self._told_to_stop or time.monotonic() > self._stop_at or self._is_promised():
            return None
        if self.sums.violations and not self._options.keep_going:
            return None
        taken = {report.round for report in self._done} | self._running.keys()
        return next(number for number in range(len(taken) + 1) if number not in taken)

    def _is_promised(self) -> bool:
        """Whether those under way will make it enough."""
        sums, plan = self.sums, self._state.plan
        each = {"kills": plan.kills, "restarts": plan.restarts, "sends": plan.sends}
        return all(
            self._count(sums, name) + len(self._running) * each[name] >= target
            for name, target in self._targets.items()
        )

    @staticmethod
    def _count(sums: Report, name: str) -> int:
        return {"kills": sums.kills.total(), "restarts": sums.restarts, "sends": sums.sends}[name]

    async def _show_for_ever(self, screen: Screen) -> None:
        while True:
            sums = self.sums
            running = self._running.values()
            now = {name: self._count(sums, name) + sum(one.progress[name] for one in running) for name in self._targets}
            screen.show(now, sums, self.rounds)
            await asyncio.sleep(SHOW_SECONDS)


def replay_command(seed: str, number: int, plan: Plan) -> str:
    """What does the same round again."""
    usual = Plan()
    differing = [each.name for each in fields(Plan) if getattr(plan, each.name) != getattr(usual, each.name)]
    options = "".join(f" --round-{name} {getattr(plan, name)}" for name in differing)
    return (
        f"{Path(sys.executable).relative_to(REPOSITORY)} -m tests.chaos.soak --seed {seed} --replay {number}{options}"
    )


def conclude(state: State, soak: Soak) -> int:
    """Print the table and how to go on; give the exit status."""
    show_results(state, state.reports())
    if soak.sums.violations:
        return 1
    if not soak.is_enough():
        say(f"Not finished; go on with: CHAOS_SEED={state.seed} make chaos")
        return 2
    say("Nothing sent twice, nothing lost.")
    return 0


def show_results(state: State, reports: Sequence[Report], directory: str = "round") -> None:
    """Print what was done, what came of it, and for each broken promise how to see it again."""
    console.print(summary(add_up(reports), len(reports), state.seed))
    for report in (one for one in reports if one.violations):
        say(f"Round {report.round} broke a promise:", *report.violations[:MOST_SHOWN])
        say(f"Evidence: {(state.home / f'{directory}-{report.round}').relative_to(REPOSITORY)}")
        say(f"Again: {replay_command(state.seed, report.round, state.plan)}")


def say(*lines: str) -> None:
    """Print lines as they are."""
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


async def replay(state: State, number: int) -> int:
    """Do one round again beside those that count; give the exit status."""
    running = RoundProcess(state.task(number, "replay"))
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, running.stop)
    report = await running.run()
    if report is None:
        return 2
    show_results(state, [report], "replay")
    return 1 if report.violations else 0


def read_options(arguments: Sequence[str], environ: Mapping[str, str]) -> argparse.Namespace:
    """The options; each may be given as CHAOS_… in the environment, too."""
    parser = argparse.ArgumentParser(prog="tests.chaos.soak", description=__doc__)
    usual = Plan()
    values: dict[str, int | float | str] = {f"round-{each.name}": getattr(usual, each.name) for each in fields(Plan)}
    values |= {"kills": 1000, "restarts": 100, "sends": 1_000_000, "minutes": 90.0, "lanes": 2}
    for name, default in values.items():
        given = environ.get(f"CHAOS_{name.upper().replace('-', '_')}") or default
        choices = WORK if name == "round-work" else None
        parser.add_argument(
            f"--{name}", type=type(default), default=type(default)(given), choices=choices, help=f"[{default}]"
        )
    parser.add_argument("--seed", default=environ.get("CHAOS_SEED") or None, help="what is drawn; again to go on")
    parser.add_argument("--resume", nargs="?", const="", help="go on with this directory's seed, or the latest one's")
    parser.add_argument("--replay", type=int, metavar="ROUND", help="do only this round of the seed, again")
    keep_going = bool(environ.get("CHAOS_KEEP_GOING"))
    parser.add_argument("--keep-going", action="store_true", default=keep_going, help="after a broken promise, too")
    background = bool(environ.get("CHAOS_BACKGROUND"))
    parser.add_argument("--background", action="store_true", default=background, help="leave the terminal")
    return parser.parse_args(arguments)


def choose_seed(options: argparse.Namespace) -> str:
    """The seed that was asked for, or a new one."""
    if options.resume is not None:
        latest = max(HOME.glob("*/plan.json"), key=lambda path: path.stat().st_mtime, default=None)
        home = Path(options.resume) if options.resume else latest and latest.parent
        if home is None:
            raise Elsewhere("there is no soak to go on with")
        return home.resolve().name
    return str(options.seed or random.SystemRandom().randrange(10**6))


def leave_terminal(state: State, arguments: Sequence[str]) -> int:
    """Go on in a session of its own, with the output in a file."""
    log = state.home / "soak.log"
    kept = [one for one in arguments if one != "--background"]
    environ = {**os.environ, "CHAOS_SEED": state.seed, "CHAOS_BACKGROUND": ""}
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.soak", *kept],
            cwd=REPOSITORY,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    say(f"Process {process.pid}; see {log.relative_to(REPOSITORY)}")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Read the options and soak."""
    options = read_options(arguments, os.environ)
    plan = Plan(**{each.name: getattr(options, f"round_{each.name}") for each in fields(Plan)})
    try:
        state = State(choose_seed(options), plan)
        if options.background:
            return leave_terminal(state, arguments)
        if options.replay is not None:
            return asyncio.run(replay(state, options.replay))
        say(f"CHAOS_SEED={state.seed}")
        with state.held():
            soak = Soak(state, options)
            asyncio.run(soak.run())
            return conclude(state, soak)
    except Elsewhere as problem:
        say(str(problem))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
