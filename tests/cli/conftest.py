"""The command as a user runs it: a process of its own, in an empty directory with an empty home.

It is forked from one that has imported what commands need (tests/warm.py), and simulates on the tests' own server. A
test that is marked `own_process` starts `python -m tidings` instead, for then the start belongs to what it shows; a
simulation then starts a server of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.databases import execute
from tests.warm import SIMULATE_ON, Call, Warm

LONGEST_COMMAND_SECONDS = 60


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line that an error is."""
        [line] = self.err.strip().splitlines()
        assert line.startswith("tidings: ")
        assert self.out == ""
        assert self.status == 1
        return line


@dataclass
class Command:
    """Runs `tidings` with settings of its own and none of ours."""

    directory: Path
    warm: Warm | None
    settings: dict[str, str] = field(default_factory=dict)
    server: str | None = None
    """Where forked commands simulate; without one, and in processes of their own, they start a server for it."""

    def __call__(self, *arguments: str, typed: str = "", **settings: str) -> Ended:
        if self.warm:
            return Ended(*self.warm.run(self.call(*arguments, **settings), typed, LONGEST_COMMAND_SECONDS))
        ended = subprocess.run(
            [sys.executable, "-m", "tidings", *arguments],
            cwd=self.directory,
            env=self.environment(settings),
            input=typed,
            capture_output=True,
            text=True,
            timeout=LONGEST_COMMAND_SECONDS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def call(self, *arguments: str, **settings: str) -> Call:
        simulating = {SIMULATE_ON: self.server} if self.server else {}
        return Call(arguments, self.directory, self.environment(settings) | simulating)

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("TIDINGS_", "DATABASE_"))}
        return ours | {"HOME": str(self.directory), "COLUMNS": "200"} | self.settings | dict(settings)


@pytest.fixture
def warm(forked: Warm, request: pytest.FixtureRequest) -> Warm | None:
    """How this test starts its commands."""
    return None if request.node.get_closest_marker("own_process") else forked


@pytest.fixture
def anywhere(tmp_path: Path, warm: Warm | None) -> Command:
    """The command without a database; whatever it would start stays in its own directory."""
    return Command(tmp_path, warm, {"TIDINGS_DATA_DIR": str(tmp_path / "data")})


PRINTING = """
insert into tidings.routes (tenant_id, workspace_id, channel, provider, source, since)
select '', '', channel, 'console-' || channel, 'settings', now()
  from unnest(array['email', 'sms', 'whatsapp', 'push', 'voice', 'social', 'chat', 'webhook']) as channel
    on conflict do nothing
"""


@pytest.fixture
async def bare(tmp_path: Path, warm: Warm | None, dsn: str, owner_dsn: str, server: str) -> Command:
    """The command on a fresh database that nobody has started anything on; the tests' server runs without fsync."""
    roles = {"DATABASE_URL": dsn, "TIDINGS_OWNER_DATABASE_URL": owner_dsn}
    return Command(tmp_path, warm, {**roles, "TIDINGS_ALLOW_UNSAFE_STORAGE": "true"}, server)


@pytest.fixture
async def tidings(bare: Command, dsn: str) -> Command:
    """The same where `tidings up --print` was started once: every channel is ready, and prints."""
    await execute(dsn, PRINTING)
    return replace(bare, settings={**bare.settings, "TIDINGS_PRINT": "1"})
