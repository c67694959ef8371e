"""The connections of all workspaces, as this process has last read them. connecting.py reads; kernel.py holds one."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.channels import Channel
from tidings.domain.connections.connection import WorkspaceConnection, connection_id
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.provider import Provider
from tidings.storage.connections import SealedConnection


class ConnectionTable:
    """Every connection by its id, and those in use by workspace and channel."""

    STALE_AFTER = timedelta(seconds=1)

    def __init__(self) -> None:
        self.version = 0
        self._by_id: dict[UUID, SealedConnection] = {}
        self._in_use: dict[tuple[Workspace, Channel], Sequence[SealedConnection]] = {}
        self._read_at: datetime | None = None
        self._unfit: dict[UUID, int] = {}  # the versions of which no provider could be made here
        self._leaving: dict[asyncio.Task[None], Provider] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no workspace has or had a connection, as far as is known."""
        return not self._by_id

    def is_stale(self, now: datetime) -> bool:
        """Whether it is time to ask for changes; a clock that was set back must not stop that."""
        return self._read_at is None or not timedelta() <= now - self._read_at < self.STALE_AFTER

    def forget(self) -> None:
        """Have changes asked for before the next use: something has changed."""
        self._read_at = None

    def update(self, changed: Iterable[SealedConnection], now: datetime) -> None:
        """Take over what has changed."""
        self._read_at = now
        for one in changed:
            if (known := self._by_id.get(one.id)) and known.version > one.version:
                continue  # another task has read a later change meanwhile
            self.version = max(self.version, one.version)
            self._by_id[one.id] = one
            place = (one.workspace, one.channel)
            others = [other for other in self._in_use.get(place, ()) if other.id != one.id]
            self._in_use[place] = [*others, one] if one.is_usable else others

    def note_unfit(self, connection: WorkspaceConnection) -> None:
        """Note that no provider could be made of a connection as it is now."""
        self._unfit[connection.id] = connection.version

    def is_unfit(self, connection: WorkspaceConnection) -> bool:
        """Whether that is known of a connection as it is now: trying again would only repeat the log line."""
        return self._unfit.get(connection.id) == connection.version

    def keep_until_closed(self, closing: "asyncio.Task[None]", provider: Provider) -> None:
        """Remember a provider that was replaced, until the task that closes it has ended."""
        self._leaving[closing] = provider
        closing.add_done_callback(lambda done: self._leaving.pop(done, None))

    async def close(self) -> None:
        """Close at once what was replaced and waits for its last calls."""
        leaving = dict(self._leaving)
        for closing, provider in leaving.items():
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            await provider.close()

    def find(self, provider: str) -> SealedConnection | None:
        """The connection that a provider's name stands for; None when it is none, or of another database."""
        id = connection_id(provider)
        return self._by_id.get(id) if id else None

    def in_use(self, workspace: Workspace, channel: Channel) -> Sequence[SealedConnection]:
        """The connections through which a workspace's messages of a channel may leave, in no order."""
        return self._in_use.get((workspace, channel), ())
