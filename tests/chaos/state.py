"""What a soak remembers of its rounds, so that it can be stopped at any time and go on: one fsynced line for each."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.chaos.arena import REPOSITORY
from tests.chaos.plan import Plan, Report, Task

HOME = REPOSITORY / ".chaos"


class Elsewhere(Exception):
    """This seed cannot be worked on like this."""


class State:
    """The directory of one seed."""

    def __init__(self, seed: str, plan: Plan, home: Path = HOME) -> None:
        self.seed = seed
        self.plan = plan
        self.home = home / seed
        self.home.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others off, and refuse a plan that the earlier rounds did not have: they would deal other harms."""
        with (self.home / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Elsewhere(f"another soak works on seed {self.seed}; wait for it or use another seed") from None
            self._check_plan()
            yield

    def _check_plan(self) -> None:
        path = self.home / "plan.json"
        mine = asdict(self.plan)
        if not path.exists():
            path.write_text(json.dumps(mine))
        began = json.loads(path.read_text())
        if began != mine:
            raise Elsewhere(f"seed {self.seed} was begun with {began}, not {mine}; use that or another seed")

    def reports(self) -> list[Report]:
        """The finished rounds; a last line that was cut off by a crash does not count."""
        path = self.home / "rounds.jsonl"
        whole, _, cut_off = path.read_text().rpartition("\n") if path.exists() else ("", "", "")
        if cut_off:
            path.write_text(whole + "\n" * bool(whole))
        return [Report.from_json(json.loads(line)) for line in whole.splitlines()]

    def task(self, number: int, kind: str = "round") -> Task:
        """A round to be done, in an empty directory."""
        directory = self.home / f"{kind}-{number}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        return Task(self.seed, number, self.plan, str(directory))

    def finish(self, task: Task, report: Report) -> None:
        """Write down what came of a round, and drop its files unless they are evidence."""
        if not report.violations:
            shutil.rmtree(task.directory, ignore_errors=True)
        with (self.home / "rounds.jsonl").open("ab") as file:
            file.write(json.dumps(report.to_json()).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
