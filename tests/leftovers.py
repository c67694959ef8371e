"""The directory of a whole test run, and what is left in it and around it when everything should be gone."""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tidings.embedded.lifeline import Lifeline
from tidings.embedded.placement import make_site, moved_sites

RUN = "TIDINGS_TEST_RUN"
"""The variable in which worker processes find the directory of their run."""
PATIENCE_SECONDS = 20.0
"""What was killed in a test is cleared away by others, and they may still be at it."""


class Run:
    """Where a run has its server, and where its tests and the processes they start make temporary files.

    All users can enter it, or root's servers would have to keep their files elsewhere. It is removed at the end, and
    also when the run is killed.
    """

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="tidings-tests-"))
        self.directory.chmod(0o1777)
        site, _ = make_site(server_directory(self.directory))
        self._lifeline = Lifeline(site, self.directory)

    def use(self) -> None:
        """Have this process and all that it starts keep temporary files here; pytest's own stay where they were."""
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        os.environ[RUN] = os.environ["TMPDIR"] = tempfile.tempdir = str(self.directory)

    def wait_for_leftovers(self, places: Sequence[Path] = (), patience_seconds: float = PATIENCE_SECONDS) -> list[Path]:
        """Give what is left of servers and temporary files, here and for data directories in other places."""
        deadline = time.monotonic() + patience_seconds
        while (left := self._leftovers(places)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def end(self) -> None:
        """Stop the server and remove everything."""
        self._lifeline.let_go()

    def _leftovers(self, places: Sequence[Path]) -> list[Path]:
        server = server_directory(self.directory)
        here = [path for path in self.directory.iterdir() if path != server]
        owned = [(site.home, owner) for site, owner in moved_sites() if owner != server]
        return here + [home for home, owner in owned if {self.directory, *places} & {*owner.parents}]


def server_directory(run: Path) -> Path:
    """Where the server of a run has its data."""
    return run / "server"
