"""Connections: the providers that a workspace sends through, in the order in which they are tried.

Credentials are written and never read back: an answer says which are set. Every change is audited, and workers have it
within seconds. What the operator has set up for every workspace is listed with them where it is what is used.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.connections.connection import WorkspaceConnection, provider_name
from tidings.domain.connections.form import ConnectionDraft, left_after, names_after, read_connection
from tidings.domain.errors import ConfigInvalid, Conflict, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.hosts import connection_hosts
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.messages import did_you_mean, quoted
from tidings.kernel.connecting import Credentials, open_credentials, seal_credentials
from tidings.kernel.gate.trials import wake_early
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.readiness import live_staff
from tidings.resources.connection_activity import read_activity
from tidings.resources.connection_shown import Look, shown_kind
from tidings.resources.connection_trials import ConnectionTrials
from tidings.resources.runs import Runs
from tidings.storage import connections, resolve, rests, routes
from tidings.storage.acting import for_caller
from tidings.storage.connections import ListedConnection, SealedConnection
from tidings.storage.database import Tx
from tidings.views.connections import ConnectionTest, ProviderConnection, ProviderKindView

__all__ = ["Connections"]

MOST = 100
"""The most connections of a workspace."""
Given = Mapping[str, object]
Shown = list[ProviderConnection]
Kinds = list[ProviderKindView]


@for_caller
class Connections:
    """The connections of every workspace; one of another workspace is not found."""

    def __init__(self, kernel: Kernel, runs: Runs) -> None:
        self._kernel = kernel
        self._trials = ConnectionTrials(kernel, runs)

    async def create(self, caller: Caller, given: Given) -> ProviderConnection:
        """Add a connection, last in the order unless it says otherwise; raise Conflict if its name is taken."""
        draft = read_connection(given, self._kernel.vendors.kinds)
        there = await self._list(caller.workspace)
        _require_room(there, draft)
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(draft.name), now)
        made = _made(caller.workspace, id, draft, there)
        credentials = left_after({}, draft.credentials)
        await self._try_out(made, credentials)
        sealed = seal_credentials(self._kernel.vault, made, credentials)

        async def write(tx: Tx) -> None:
            version = await connections.take_connection_version(tx)
            await connections.insert_connection(tx, connection=_sealed(made, sealed, version), now=now)

        await self._persist(caller, id, "created", {"name": draft.name, "provider": made.kind}, now, write)
        return await self.get(caller.workspace, id)

    async def declare(self, caller: Caller, name: str, given: Given) -> None:
        """Have a connection be as the settings say: add it, change it, or leave it where it is so already."""
        there = next((one for one in await self._list(caller.workspace) if one.name == name), None)
        if there is None:
            try:
                await self.create(caller, {**given, "name": name})
            except Conflict:  # another process starts with the same settings
                return
        elif not await self._is_as(caller.workspace, there, given):
            await self.update(caller, there.id, {key: value for key, value in given.items() if key != "channel"})

    async def _is_as(self, workspace: Workspace, one: ListedConnection, given: Given) -> bool:
        draft = read_connection(given, self._kernel.vendors.kinds, one)
        stored = await self._kernel.db.persist(
            partial(connections.lock_connection, workspace=workspace, id=one.id), alone=True
        )
        if stored is None or _with(stored, draft) != stored:
            return False
        known = open_credentials(self._kernel.vault, stored)
        return left_after(known, draft.credentials) == known

    async def update(self, caller: Caller, id: UUID, given: Given) -> ProviderConnection:
        """Change what is given; a setting or a credential that is null is taken away."""
        read_connection(given, self._kernel.vendors.kinds, await self._listed(caller.workspace, id))
        now = await self._kernel.clock.now()
        before = await self._kernel.db.persist(
            partial(connections.lock_connection, workspace=caller.workspace, id=id), alone=True
        )
        if before is None:
            raise _not_found(id)
        changed = await self._changed(before, given, now)

        async def write(tx: Tx) -> None:
            found = await connections.lock_connection(tx, workspace=caller.workspace, id=id)
            if found is None or found.version != before.version:
                raise Conflict(f"connection {before.name!r} was changed by somebody else just now; try again")
            version = await connections.take_connection_version(tx)
            await connections.change_connection(tx, connection=replace(changed, version=version), now=now)

        detail = {"name": changed.name, "fields": sorted(given)}
        await self._persist(caller, id, "updated", detail, now, write)
        return await self.get(caller.workspace, id)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Take a connection out of use for good and forget its credentials; what waits for it takes another."""
        shown, now = await self._listed(caller.workspace, id), await self._kernel.clock.now()

        async def write(tx: Tx) -> None:
            version = await connections.take_connection_version(tx)
            removed = await connections.remove_connection(
                tx, workspace=caller.workspace, id=id, version=version, now=now
            )
            if removed is None:
                raise _not_found(id)

        await self._persist(caller, id, "deleted", {"name": shown.name}, now, write)

    async def reset(self, caller: Caller, id: UUID) -> ProviderConnection:
        """Let a connection be called again at once, whatever it has answered; what waits for it is due."""
        one, now = await self._listed(caller.workspace, id), await self._kernel.clock.now()
        ended: list[datetime] = []

        async def write(tx: Tx) -> None:
            if until := await rests.forget_rest(tx, provider=one.provider):
                ended.append(until)  # remembered past a commit whose answer is lost
            ended.extend(await rests.forget_host_rests(tx, prefix=connection_hosts(one.provider)))

        await self._persist(caller, id, "reset", {"name": one.name}, now, write)
        self._kernel.rests.forget(one.provider)
        self._kernel.host_rests.forget_all()
        for until in sorted(set(ended)):
            await wake_early(self._kernel, until, now)
        return await self.get(caller.workspace, id)

    async def test(
        self, caller: Caller, id: UUID, to: str, content: Given | None = None, *, wait: timedelta = timedelta()
    ) -> ConnectionTest:
        """Send one real message through a connection; return what became of it, after a wait for that."""
        one = await self._listed(caller.workspace, id)
        if not one.is_enabled:
            raise Conflict(f"connection {one.name!r} is disabled: enable it first")
        return await self._trials.start(caller, one, to, content, wait)

    async def get(self, workspace: Workspace, id: UUID) -> ProviderConnection:
        """Return one connection, or raise NotFound."""
        for one in await self.list(workspace):
            if one.id == id:
                return await self._with_activity(workspace, one)
        raise _not_found(id)

    async def find(self, workspace: Workspace, name: str) -> ProviderConnection:
        """Return one connection by its name, or raise NotFound."""
        listed = await self.list(workspace)
        for one in listed:
            if one.name == name:
                return await self._with_activity(workspace, one)
        meant = did_you_mean(name, [one.name for one in listed])
        raise NotFound(f"there is no connection {quoted(name)}{meant}; `tidings connections list` shows what is")

    async def list(self, workspace: Workspace) -> Shown:
        """Return a workspace's connections by channel, as they are tried, and what the operator offers beside them."""
        listed, looked = await self._list(workspace), await self._look()
        own = {one.channel for one in listed if one.is_enabled}
        read = partial(routes.list_own_routes, workspace=workspace)
        offered = [one for one in await self._kernel.db.persist(read) if one.channel not in own]
        return [*map(looked.shown, listed), *map(looked.shown_route, offered)]

    def kinds(self) -> Kinds:
        """Return what can be connected, by name."""
        return [shown_kind(kind) for _, kind in sorted(self._kernel.vendors.kinds.items())]

    async def _changed(self, before: SealedConnection, given: Given, now: datetime) -> SealedConnection:
        """Return a connection as it is to be, tried out where its credentials can be opened."""
        draft = read_connection(given, self._kernel.vendors.kinds, before)
        changed = _with(before, draft)
        if not draft.credentials and changed.settings == before.settings:
            return changed
        stored = open_credentials(self._kernel.vault, before)
        credentials = left_after(stored, draft.credentials)
        await self._try_out(changed, credentials)
        if credentials != stored or changed.settings != before.settings:
            changed = replace(changed, set_up_anew_at=now)
        if draft.credentials:
            changed = replace(changed, sealed=seal_credentials(self._kernel.vault, changed, credentials))
        return changed

    async def _try_out(self, connection: WorkspaceConnection, credentials: Credentials) -> None:
        """Refuse values of which no provider can be made, before anything is stored."""
        try:
            provider = self._kernel.vendors.make(connection, credentials)
        except ConfigInvalid as error:
            raise FieldsInvalid([Problem("", str(error))]) from error
        except Exception as error:  # of a library that cannot read a key: its text may quote it
            what = f"cannot be used ({type(error).__name__}): look at the settings and credentials again"
            raise FieldsInvalid([Problem("credentials", what)]) from None
        await provider.close()

    async def _persist(
        self,
        caller: Caller,
        id: UUID,
        event: str,
        detail: Mapping[str, object],
        now: datetime,
        write: Callable[[Tx], Awaitable[None]],
    ) -> None:
        """Make a change with its audit entry, once; have this process read it before its next use."""
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def both(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=self._kernel.shard_of(id), ids=[entry]):
                return  # done already, by a commit whose answer was lost
            await write(tx)
            audit_entry = AuditEntry("connection", id, event, detail, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(both)
        await self._kernel.notifier.tell_connections_changed()

    async def _list(self, workspace: Workspace) -> "Sequence[ListedConnection]":
        read = partial(connections.list_connections, workspace=workspace)
        return await self._kernel.db.persist(read, alone=True)

    async def _listed(self, workspace: Workspace, id: UUID) -> ListedConnection:
        """Return one that the workspace itself has set up, and may change."""
        for one in await self._list(workspace):
            if one.id == id:
                return one
        raise _not_found(id)

    async def _with_activity(self, workspace: Workspace, one: ProviderConnection) -> ProviderConnection:
        if one.operators:
            return one
        activity = await read_activity(self._kernel, workspace, provider_name(one.provider, one.id))
        return replace(one, activity=activity)

    async def _look(self) -> Look:
        now, staff = await self._kernel.clock.now(), await live_staff(self._kernel)
        resting = await self._kernel.db.persist(lambda tx: rests.load_rests(tx, now=now), alone=True)
        return Look(now, staff, resting)


def _not_found(id: UUID) -> NotFound:
    return NotFound(f"there is no connection {id}; `tidings connections list` shows what is")


def _require_room(there: Sequence[WorkspaceConnection], draft: ConnectionDraft) -> None:
    if any(one.name == draft.name for one in there):
        raise Conflict(f"there is a connection {draft.name!r} already: change it, or give this one another name")
    if len(there) >= MOST:
        raise Conflict(f"a workspace has at most {MOST} connections: remove one first")


def _made(
    workspace: Workspace, id: UUID, draft: ConnectionDraft, there: Iterable[WorkspaceConnection]
) -> WorkspaceConnection:
    last = max((one.position for one in there if one.channel is draft.channel), default=0)
    return WorkspaceConnection(
        id=id,
        workspace=workspace,
        name=draft.name,
        channel=draft.channel,
        kind=draft.kind.name,
        settings=draft.settings,
        credential_names=names_after((), draft.credentials),
        limits=draft.limits,
        position=draft.position or min(last + 1, 1_000),
        weight=draft.weight,
        is_sticky=draft.is_sticky,
        is_enabled=draft.is_enabled,
        is_removed=False,
        version=0,
    )


def _sealed(made: WorkspaceConnection, sealed: bytes | None, version: int) -> SealedConnection:
    fields = {name: getattr(made, name) for name in WorkspaceConnection.__struct_fields__}
    return SealedConnection(**{**fields, "version": version}, sealed=sealed)


def _with(before: SealedConnection, draft: ConnectionDraft) -> SealedConnection:
    return replace(
        before,
        name=draft.name,
        settings=draft.settings,
        credential_names=names_after(before.credential_names, draft.credentials),
        limits=draft.limits,
        position=draft.position or before.position,
        weight=draft.weight,
        is_sticky=draft.is_sticky,
        is_enabled=draft.is_enabled,
    )
