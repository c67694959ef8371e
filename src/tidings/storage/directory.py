"""Finds the address of a function: its own, its workspace's base, or the operator's, for those it serves.

Each has its own secret, and a secret goes nowhere else: a function with an address of its own is never sent the token
of a base. What a workspace's own address may reach inside the network is the workspace's; what the operator's may, the
operator's.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace
from tidings.domain.private_addresses import NO_PRIVATE_ADDRESSES, PrivateAddresses, private_addresses
from tidings.domain.workflows.function import BASE, Endpoint
from tidings.domain.workspace_patterns import WorkspacePatterns
from tidings.storage.clock import Clock
from tidings.storage.database import Database
from tidings.storage.functions import FoundFunction, find_function
from tidings.storage.vault import Vault
from tidings.storage.workspaces import read_workspace_settings

KEPT_SECONDS = 5.0
MOST_KEPT = 10_000
OPERATORS_OWN = Workspace()
"""The workspace of the first key: where one workspace is all there is, it is this one."""


@dataclass(frozen=True, slots=True)
class OperatorsFunctions:
    """What the settings say of functions: a base and whom it serves, what signs its calls, and what it may reach.

    `own` are addresses that the host application gives, by name; they are the same in every workspace.
    """

    base: Endpoint | None = None
    serves: WorkspacePatterns = field(default_factory=WorkspacePatterns)
    own: Mapping[str, Endpoint] = field(default_factory=dict)
    signing: str | None = field(default=None, repr=False)
    private: PrivateAddresses = NO_PRIVATE_ADDRESSES

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no answer of any function may repeat."""
        key = self.base.secret if self.base else None
        signing = (self.signing, self.signing.partition("_")[2]) if self.signing else ()
        return (key, *signing) if key else signing


class FunctionDirectory:
    """Looks functions up, and remembers each for a few seconds."""

    def __init__(
        self, operators: OperatorsFunctions | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._operators = operators or OperatorsFunctions()
        self._monotonic = monotonic
        self._source: tuple[Database, Vault, Clock] | None = None
        self._kept: dict[tuple[Workspace, str], tuple[float, Endpoint | None]] = {}

    def connect(self, db: Database, vault: Vault, clock: Clock) -> None:
        """Set the database that holds the workspaces' own addresses, once it is open."""
        self._source = (db, vault, clock)

    async def private_addresses(self, workspace: Workspace) -> PrivateAddresses:
        """Return the private addresses that a workspace's own URLs may have."""
        if self._source is None:
            return self._private_of(workspace, [])
        async with self._source[0].autocommit() as tx:
            stored = await read_workspace_settings(tx, workspace=workspace)
        return self._private_of(workspace, stored.private_addresses)

    def _private_of(self, workspace: Workspace, entries: Sequence[str]) -> PrivateAddresses:
        """Return what a workspace's entries open; the operator's own workspace also has the installation's switch."""
        return self._operators.private if self._is_open_to(workspace) else private_addresses(entries)

    def _is_open_to(self, workspace: Workspace) -> bool:
        return self._operators.private.everything and workspace == OPERATORS_OWN

    async def find(self, workspace: Workspace, name: str) -> Endpoint | None:
        """Return where to call a function; raise ConfigInvalid when its secret cannot be opened, InputInvalid when the
        operator's base does not serve the workspace."""
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
        found = FoundFunction(None, None, None, [], None, None)
        if self._source is not None:
            db, vault, clock = self._source
            now = await clock.now()
            async with db.autocommit() as tx:
                found = await find_function(tx, workspace=workspace, name=name, now=now)
            signing = _signing_secrets(found, vault, workspace)
            if found.url is not None and name not in self._operators.own:
                private = self._private_of(workspace, found.private_addresses)
                endpoint = replace(_endpoint_of(found, vault, workspace, name), private=private)
                return replace(endpoint, signing=signing, hidden=self._operators.secrets)
        else:
            signing = ()
        return self._operators_own(workspace, name, signing)

    def _operators_own(self, workspace: Workspace, name: str, signing: tuple[str, ...]) -> Endpoint | None:
        """Return the host application's address of a name, or the operator's base for those it serves."""
        operators = self._operators
        endpoint = operators.own.get(name)
        if endpoint is None and operators.base is not None:
            if not operators.serves.include(workspace):
                raise InputInvalid(
                    f"there is no function {name!r}: set its URL, or a base for this workspace, with `tidings functions"
                    f" set`, or let the operator name {workspace.tenant}/{workspace.name} in TIDINGS_FUNCTIONS_FOR"
                )
            endpoint = operators.base.of_function(name)
        if endpoint is None:
            return None
        signed_with = (operators.signing,) if operators.signing else signing
        return replace(endpoint, private=operators.private, signing=signed_with, hidden=operators.secrets)


def _endpoint_of(found: FoundFunction, vault: Vault, workspace: Workspace, name: str) -> Endpoint:
    row = found.name or name
    secret = None if found.sealed is None else vault.open(found.sealed, place_of(workspace, row))
    endpoint = Endpoint(found.url or "", secret)
    return endpoint.of_function(name) if row == BASE else endpoint


def _signing_secrets(found: FoundFunction, vault: Vault, workspace: Workspace) -> tuple[str, ...]:
    """Return what signs a workspace's calls now, the newest first: two while one replaces the other."""
    sealed = (found.signing, found.signing_before)
    return tuple(vault.open(one, signing_place_of(workspace)) for one in sealed if one is not None)


def place_of(workspace: Workspace, name: str) -> tuple[str, ...]:
    """The place that a function's secret is sealed for."""
    return ("function", workspace.tenant, workspace.name, name)


def signing_place_of(workspace: Workspace) -> tuple[str, ...]:
    """The place that a workspace's signing secret is sealed for."""
    return ("signing", workspace.tenant, workspace.name)
