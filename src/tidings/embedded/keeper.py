"""Stops a server after its last user: a small process of its own, which outlives every one of them.

It waits for the lock that all users share (users.py), so it learns of their end even if they are killed.
"""

import asyncio
import fcntl
import os
import sys
import time
from pathlib import Path

from tidings.embedded.placement import Account, Site, find_site, run_as
from tidings.embedded.processes import POLL_SECONDS, open_lock, try_lock


def spawn_keeper(site: Site, data_dir: Path) -> None:
    """Start the keeper of a server, unless it has one."""
    lock = open_lock(site.keeper)
    try:
        if not try_lock(lock):
            return
        path = os.pathsep.join(os.path.abspath(one) for one in sys.path if one)
        ourselves = Account(os.geteuid(), os.getegid(), "")
        command = [sys.executable, "-m", __name__, str(data_dir.resolve()), str(lock)]
        # It inherits the lock, and is no child of ours: its end leaves nothing to wait for.
        script = 'PYTHONPATH=$1; export PYTHONPATH; shift; "$@" </dev/null >/dev/null 2>&1 &'
        run_as(ourselves, ["sh", "-c", script, "sh", path, *command], pass_fds=[lock])
    finally:
        os.close(lock)


def keep(data_dir: Path, lock: int) -> None:
    """Wait for the end of the last user, then stop the server; `lock` is the keeper's own, taken already."""
    site = find_site(data_dir)
    users = open_lock(site.users)
    while True:
        fcntl.flock(users, fcntl.LOCK_EX)
        if _stop_in_turn(site, lock):
            return
        # A process that has the turn is about to become a user, and waits for this lock.
        fcntl.flock(users, fcntl.LOCK_UN)
        time.sleep(POLL_SECONDS)


def _stop_in_turn(site: Site, lock: int) -> bool:
    """Stop the server, unless another process is starting or stopping it."""
    from tidings.embedded.server import stop_completely  # noqa: PLC0415 – it spawns us

    turn = open_lock(site.turn)
    try:
        if not try_lock(turn):
            return False
        asyncio.run(stop_completely(site))
        os.close(lock)  # before the turn: the next to start the server must see that it has no keeper
        return True
    finally:
        os.close(turn)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
