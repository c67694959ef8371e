"""Learn which connections workspaces have, and make the providers of those that this process is about to call.

Reached from readiness.py, before anything is planned, marked or judged. A process asks for changes about once a second
while it works, and at once when it is told of one. It makes a provider when work first needs it, and another one when
the connection changes; the old one is closed when its last call must have ended, and that of a removed one forgotten.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial

import msgspec

from tidings.domain.connections.connection import WorkspaceConnection
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Outcome, Unavailable
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful, Evidence, MayStart, Provider
from tidings.kernel.kernel import Kernel
from tidings.log import log
from tidings.storage import connections
from tidings.storage.acting import EVERYONE, act_for
from tidings.storage.connections import SealedConnection, place_of_credentials
from tidings.storage.vault import Vault

Credentials = dict[str, str]


async def know_connections(kernel: Kernel, now: datetime) -> None:
    """Ask which connections have changed, if the last answer is too old."""
    if kernel.connections.is_stale(now):
        await read_connections(kernel, now)


async def read_connections(kernel: Kernel, now: datetime) -> None:
    """Ask which connections have changed; replace the providers of those that this process serves."""
    read = partial(connections.list_changed_connections, after=kernel.connections.version)
    with act_for(EVERYONE):  # the table is the whole process's
        changed = await kernel.db.persist(read, alone=True)
    kernel.connections.update(changed, now)
    for one in changed:
        if one.provider in kernel.providers:
            _serve(kernel, one)


async def serve_connections(kernel: Kernel, providers: Iterable[str], now: datetime) -> None:
    """Make the providers of these names that stand for connections, and of those that may be taken instead of them."""
    await know_connections(kernel, now)
    for name in providers:
        if connection := kernel.connections.find(name):
            others = kernel.connections.in_use(connection.workspace, connection.channel)
            for one in (connection, *others):
                if one.provider not in kernel.providers:
                    _serve(kernel, one)


def _serve(kernel: Kernel, connection: SealedConnection) -> None:
    if kernel.connections.is_unfit(connection):
        return
    try:
        provider = _make(kernel, connection)
    except Exception as error:  # of a vendor's file that cannot use what it was told: its text may quote a secret
        said = str(error) if isinstance(error, ConfigInvalid) else type(error).__name__
        log.error("connection_not_served", connection=connection.provider, name=connection.name, reason=said)
        kernel.connections.note_unfit(connection)
        return
    kernel.use.forget(connection.provider)
    replaced = kernel.serve(provider, connection.limits.concurrency)
    if replaced:
        _close_later(kernel, replaced)
    if connection.is_removed:
        _let_go_later(kernel, provider)


def _make(kernel: Kernel, connection: SealedConnection) -> Provider:
    if connection.is_removed:
        return RemovedConnection(connection.provider)
    if connection.kind not in kernel.vendors.kinds:
        raise ConfigInvalid(f"this process knows no provider {connection.kind!r}: start it with the same version")
    provider = kernel.vendors.make(connection, open_credentials(kernel.vault, connection))
    kernel.limits.require_lease_for([provider])
    return provider


def open_credentials(vault: Vault, connection: SealedConnection) -> Credentials:
    """Return what a connection's credentials say; raise ConfigInvalid when no key of ours opens them."""
    if connection.sealed is None:
        return {}
    opened = vault.open(connection.sealed, place_of_credentials(connection.workspace, str(connection.id)))
    return msgspec.json.decode(opened, type=Credentials)


def seal_credentials(vault: Vault, connection: WorkspaceConnection, credentials: Credentials) -> bytes | None:
    """Return a connection's credentials fit to be stored at its place; None when there are none."""
    if not credentials:
        return None
    text = msgspec.json.encode(credentials).decode()
    return vault.seal(text, place_of_credentials(connection.workspace, str(connection.id)))


def _close_later(kernel: Kernel, provider: Provider) -> None:
    """Close a provider that begins no more calls, once those under way must have ended."""

    async def close() -> None:
        ends_after: timedelta = provider.call_deadline + kernel.limits.lease_margin
        await asyncio.sleep(ends_after.total_seconds())
        await provider.close()

    kernel.connections.keep_until_closed(asyncio.create_task(close()), provider)


def _let_go_later(kernel: Kernel, provider: Provider) -> None:
    """Forget what stands for a removed connection once no batch that knows it is at work; another makes it anew."""

    async def let_go() -> None:
        await asyncio.sleep((kernel.limits.lease + kernel.limits.lease_margin).total_seconds())
        kernel.let_go(provider)

    kernel.connections.keep_until_closed(asyncio.create_task(let_go()), provider)


class RemovedConnection:
    """Stands for a connection that was removed: nothing is called, and what is in doubt is for a person to decide."""

    provider_class = Blind()
    concurrency = 1
    call_deadline = timedelta(seconds=1)

    def __init__(self, name: str) -> None:
        self.name = name

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:  # noqa: ARG002
        """Refuse: the gate lets nothing through to here."""
        return Unavailable("the connection was removed", is_refused=True)

    async def look_up(self, item: Doubtful) -> Evidence:  # noqa: ARG002
        """Know nothing."""
        return CannotTell("the connection was removed")

    async def close(self) -> None:
        """Close nothing."""
