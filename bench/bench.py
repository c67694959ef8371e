"""What every measurement is given: the server, the sizes, the screen, and what was seen before it."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.database import Tell
from bench.report import Report
from bench.settings import Settings

Step = Callable[[str, int | None], Tell]
"""Shows what is being done, out of how many; gives what to tell the progress to."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One run of the benchmark."""

    dsn: str
    postmaster: int
    settings: Settings
    report: Report
    step: Step

    def known_rate(self, measurement: str, processes: int) -> float | None:
        """Items a second through the kernel, if this run has measured them."""
        for result in self.report.results:
            if (result.measurement, result.processes) == (measurement, processes) and result.of_ceiling != 1:
                return result.rate
        return None
