"""Node and npm for tests of the TypeScript client: a copy of it with its tools installed, and its programs run."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
ASKED_FOR = "TIDINGS_TEST_TYPESCRIPT"
NODE_MAJOR = 20
SECONDS = 300
QUIET = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def require_node() -> None:
    """Skip, and say why, where the client's tests are not asked for; where they are, everything they need is there."""
    if ASKED_FOR not in os.environ:
        pytest.skip("the TypeScript client is tried by `make test-typescript`: it needs Node, npm and their registry")
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.fail("the TypeScript client's tests need node and npm: install Node 20 or newer")
    version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    if int(version.lstrip("v").split(".")[0]) < NODE_MAJOR:
        pytest.fail(f"the TypeScript client's tests need Node {NODE_MAJOR} or newer, and this is {version.strip()}")


def copy_client(folder: Path) -> Path:
    """Return a copy of the client with its compiler; npm takes exactly what the lock file names."""
    ours = shutil.ignore_patterns("node_modules", "dist", ".build", "*.tgz")
    copy = Path(shutil.copytree(CLIENT, folder / "client", ignore=ours))
    run(copy, "npm", "ci", *QUIET)
    return copy


def run(folder: Path, *command: str, env: Mapping[str, str] | None = None) -> str:
    """Run a program to its end, and return what it printed; fail with all of it."""
    done = subprocess.run(
        command, check=False, cwd=folder, env=_environment(env), capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


async def run_beside(folder: Path, *command: str, env: Mapping[str, str]) -> str:
    """Run a program that asks the server of this process."""
    return await asyncio.to_thread(run, folder, *command, env=env)


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1", "NODE_OPTIONS": "", **(more or {})}
