"""Notify workers of work, and listen for it; correctness depends on polling alone. Reached from kernel/wake.py."""

import asyncio
from collections.abc import Callable

import asyncpg

from tidings.log import log
from tidings.storage.database import SESSION_SETTINGS, Tx
from tidings.storage.statements import load

_SQL = load("wake")
RECONNECT_SECONDS = 1.0


async def notify(tx: Tx, *, payload: str) -> None:
    """Send one notification."""
    await tx.fetch(_SQL["notify"], payload=payload)


async def listen(dsn: str, heard: Callable[[str], None]) -> None:
    """Call `heard` for each notification, and with an empty string after each new connection: some may be missed."""
    while True:
        try:
            await _listen_once(dsn, heard)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            log.warning("listen_lost", reason=str(error) or type(error).__name__)
        await asyncio.sleep(RECONNECT_SECONDS)


async def _listen_once(dsn: str, heard: Callable[[str], None]) -> None:
    connection = await asyncpg.connect(dsn, server_settings=SESSION_SETTINGS, timeout=10)
    lost = asyncio.Event()
    try:
        connection.add_termination_listener(lambda *_: lost.set())
        await connection.add_listener("tidings", lambda *arguments: heard(str(arguments[-1])))
        heard("")
        await lost.wait()
        log.warning("listen_lost", reason="the connection ended")
    finally:
        connection.terminate()
