"""Which processes use a server: each shares a lock until it ends, by whatever death."""

import fcntl
import os
from pathlib import Path

from tidings.embedded.placement import Site
from tidings.embedded.processes import open_lock, try_lock, until

_joined: dict[Path, int] = {}


async def join(site: Site) -> None:
    """Make this process a user of the server until it departs or ends."""
    if site.home in _joined:
        return
    descriptor = open_lock(site.users)
    try:
        # Held alone only by the keeper, for the moment in which it looks whether it may stop the server.
        await until(lambda: try_lock(descriptor, fcntl.LOCK_SH))
    except BaseException:
        os.close(descriptor)
        raise
    _joined[site.home] = descriptor


def depart(site: Site) -> None:
    """Use the server no more; does nothing if this process does not."""
    descriptor = _joined.pop(site.home, None)
    if descriptor is not None:
        os.close(descriptor)


def is_used(site: Site) -> bool:
    """Tell whether any process uses the server, this one included."""
    descriptor = open_lock(site.users)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)
