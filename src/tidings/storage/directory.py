"""Finds the address of a function: its own, its workspace's base, or the base that the settings define for all.

Each has its own secret, and a secret goes nowhere else: a function with an address of its own is never sent the token
of a base.
"""

import time
from collections.abc import Callable, Mapping

from tidings.domain.flow.ids import Workspace
from tidings.domain.workflows.function import BASE, Endpoint
from tidings.storage.database import Database
from tidings.storage.functions import FoundFunction, find_function
from tidings.storage.vault import Vault

KEPT_SECONDS = 5.0
MOST_KEPT = 10_000


class FunctionDirectory:
    """Looks functions up, and remembers each for a few seconds."""

    def __init__(
        self,
        base: Endpoint | None = None,
        own: Mapping[str, Endpoint] | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._base = base
        self._own = own or {}  # of the host application, the same in every workspace
        self._monotonic = monotonic
        self._source: tuple[Database, Vault] | None = None
        self._kept: dict[tuple[Workspace, str], tuple[float, Endpoint | None]] = {}

    def connect(self, db: Database, vault: Vault) -> None:
        """Set the database that holds the workspaces' own addresses, once it is open."""
        self._source = (db, vault)

    async def find(self, workspace: Workspace, name: str) -> Endpoint | None:
        """Return where to call a function; raise ConfigInvalid when its secret cannot be opened."""
        if name in self._own:
            return self._own[name]
        now = self._monotonic()
        until, endpoint = self._kept.get((workspace, name), (now, None))
        if until > now:
            return endpoint
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        endpoint = await self._look_up(workspace, name)
        self._kept[workspace, name] = (now + KEPT_SECONDS, endpoint)
        return endpoint

    async def _look_up(self, workspace: Workspace, name: str) -> Endpoint | None:
        if self._source is not None:
            db, vault = self._source
            async with db.autocommit() as tx:
                found = await find_function(tx, workspace=workspace, name=name)
            if found is not None:
                return _endpoint_of(found, vault, workspace, name)
        return self._base.of_function(name) if self._base else None


def _endpoint_of(found: FoundFunction, vault: Vault, workspace: Workspace, name: str) -> Endpoint:
    secret = None if found.sealed is None else vault.open(found.sealed, place_of(workspace, found.name))
    endpoint = Endpoint(found.url, secret)
    return endpoint.of_function(name) if found.name == BASE else endpoint


def place_of(workspace: Workspace, name: str) -> tuple[str, ...]:
    """The place that a function's secret is sealed for."""
    return ("function", workspace.tenant, workspace.name, name)
