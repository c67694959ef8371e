"""004's client in its own language: the real supabase-js, installed beside the tree, in a process of Node."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent / "supabase"
HOME = Path(__file__).parents[2] / ".supabase"
ASKED_FOR = "TIDINGS_TEST_SUPABASE"
NODE_MAJOR = 20
INSTALL_SECONDS = 300
ANSWER_SECONDS = 60


class NodeClient:
    """One call at a time, answered with what the client's function returned or the message of what it threw."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def call(self, name: str, *given: object) -> Any:
        """Call one function of the client."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([name, *given]).encode() + b"\n")
        async with asyncio.timeout(ANSWER_SECONDS):
            line = await self._process.stdout.readline()
        said = json.loads(line)
        if "error" in said:
            raise RuntimeError(said["error"])
        return said["answer"]


@asynccontextmanager
async def supabase_client(url: str, key: str) -> AsyncIterator[NodeClient]:
    """The client of a front end that knows this address and key."""
    process = await asyncio.create_subprocess_exec(
        *("node", "main.mjs"),
        cwd=HOME,
        env={**os.environ, "SUPABASE_URL": url, "SUPABASE_ANON_KEY": key},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield NodeClient(process)
    finally:
        assert process.stdin
        process.stdin.close()
        async with asyncio.timeout(ANSWER_SECONDS):
            await process.wait()


def require_supabase() -> None:
    """Install the pinned supabase-js where that was asked for; skip, saying why, where it is not there."""
    reason = _why_not()
    if reason:
        pytest.skip(f"supabase-js was not tried: {reason}")
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, HOME)


def _why_not() -> str | None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            return f"there is no {program} on this machine"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if int(version.lstrip("v").split(".")[0] or 0) < NODE_MAJOR:
        return f"node {version} is too old; it needs {NODE_MAJOR} or newer"
    if _is_installed():
        return None
    if ASKED_FOR not in os.environ:
        return "it is not installed here; 'make test-supabase' installs it, from the network, and tries it"
    return _install()


def _install() -> str | None:
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SCRIPTS / name, HOME)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"npm did not install it within {INSTALL_SECONDS} s"
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line]
        return f"npm could not install it: {(said or [done.stderr.strip() or 'no reason given'])[0]}"
    _stamp().write_text(_lock())
    return None


def _is_installed() -> bool:
    return _stamp().is_file() and _stamp().read_text() == _lock()


def _stamp() -> Path:
    return HOME / ".installed"


def _lock() -> str:
    return hashlib.sha256((SCRIPTS / "package-lock.json").read_bytes()).hexdigest()
