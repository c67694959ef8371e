"""The addresses of a workspace's functions: set, list, forget. Every change is in the audit log; no secret is shown.

storage/directory.py looks an address up for a call. The name `*` is the base address of all functions without one.
"""

import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.hosts import host_rest_name, rests_of
from tidings.domain.flow.ids import Workspace, make_id
from tidings.domain.workflows.function import BASE, Endpoint, check_name
from tidings.domain.workflows.signing import SECRET_BYTES, signing_secret
from tidings.kernel.gate.trials import wake_early
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.storage import connections, functions, resolve, rests
from tidings.storage.acting import for_caller, for_everyone
from tidings.storage.database import Tx
from tidings.storage.directory import place_of, signing_place_of
from tidings.storage.functions import SIGNING, SealedSecret
from tidings.storage.rests import StoredRest
from tidings.storage.sealed import unopened
from tidings.views.functions import FunctionAddress, FunctionHost, NewSigningSecret, SigningSecret

__all__ = ["Functions", "SealedSecret"]

Listed = list[FunctionAddress]
Hosts = list[FunctionHost]
OVERLAP = timedelta(days=1)
LONGEST_OVERLAP = timedelta(days=30)


@for_caller
class Functions:
    """The functions of every workspace."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def set(self, caller: Caller, name: str, url: str, secret: str | None = None) -> FunctionAddress:
        """Set a function's address; without a new secret the old one stays as long as the address does."""
        check_name(name)
        Endpoint(url, secret)  # raises for an address that no call could use
        here = caller.workspace
        sealed = None if secret is None else self._kernel.vault.seal(secret, place_of(here, name))
        now = await self._kernel.clock.now()
        entry = self._entry(here, name, now)

        async def write(tx: Tx) -> FunctionAddress:
            written = await functions.upsert_function(tx, workspace=here, name=name, url=url, sealed=sealed, now=now)
            await self._audit(tx, entry, caller, name, "set", {"name": name, "url": url, "secret": bool(secret)}, now)
            return written

        return await self._kernel.db.persist(write)

    async def list(self, workspace: Workspace) -> Listed:
        """Return every function of a workspace, by name, and until when its host is left alone."""
        found = await self._kernel.db.persist(partial(functions.list_functions, workspace=workspace), alone=True)
        resting = {one.host: one.rests_until for one in await self.hosts(workspace)} if found else {}
        return [replace(one, rests_until=resting.get(Endpoint(one.url).host)) for one in found]

    async def delete(self, caller: Caller, name: str) -> None:
        """Forget a function's address and its secret."""
        here, now = caller.workspace, await self._kernel.clock.now()
        entry = self._entry(here, name, now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=self._kernel.shard_of(entry), ids=[entry]):
                return  # done already, by a commit whose answer was lost
            if not await functions.delete_function(tx, workspace=here, name=name):
                raise NotFound(f"there is no function {name!r}")
            await self._audit(tx, entry, caller, name, "deleted", {"name": name}, now)

        await self._kernel.db.persist(write)

    @for_everyone
    async def unopened(self) -> Sequence[SealedSecret]:
        """Return every secret, of all workspaces, that none of this engine's keys opens."""
        if not self._kernel.vault.has_key:
            raise ConfigInvalid("without a key no secret opens: set TIDINGS_SECRET_KEY to the key to use from now on")
        return await unopened(self._kernel.db, self._kernel.vault, most=sys.maxsize)

    @for_everyone
    async def forget_unopened(self, actor: str) -> Sequence[SealedSecret]:
        """Remove every secret that none of this engine's keys opens; return what was removed."""
        return [one for one in await self.unopened() if await self._forget(one, actor)]

    async def _forget(self, secret: SealedSecret, actor: str) -> bool:
        caller, name = Caller(secret.workspace, actor), secret.function
        now = await self._kernel.clock.now()
        entry = self._entry(caller.workspace, name, now)

        async def write(tx: Tx) -> bool:
            if await resolve.find_audit(tx, shard=self._kernel.shard_of(entry), ids=[entry]):
                return True  # done already, by a commit whose answer was lost
            if not await _forgotten(tx, secret, now):
                return False
            await self._audit(tx, entry, caller, name, "secret_forgotten", {"name": name}, now)
            return True

        return await self._kernel.db.persist(write)

    async def signing_secret(self, workspace: Workspace) -> SigningSecret:
        """Return since when a workspace's calls are signed with a secret; never the secret."""
        now = await self._kernel.clock.now()
        read = partial(functions.read_signing_secret, workspace=workspace, now=now)
        found = await self._kernel.db.persist(read, alone=True)
        if found is None:
            raise NotFound("the calls of this workspace are not signed: make a secret")
        return found

    async def rotate_signing_secret(self, caller: Caller, overlap: timedelta = OVERLAP) -> NewSigningSecret:
        """Make a secret that signs the workspace's calls, and return it this once; the one before stays valid a while.

        Until `overlap` is over calls carry a signature of each, so that those who are called can change over.
        """
        if not timedelta() <= overlap <= LONGEST_OVERLAP:
            days = LONGEST_OVERLAP.days
            raise FieldsInvalid([Problem("overlapSeconds", f"must be from 0 to {days} days")])
        now = await self._kernel.clock.now()
        here, secret = caller.workspace, signing_secret(secrets.token_bytes(SECRET_BYTES))
        sealed = self._kernel.vault.seal(secret, signing_place_of(here))
        until = now + overlap if overlap else None
        entry = self._entry(here, BASE, now)

        async def write(tx: Tx) -> NewSigningSecret:
            await functions.put_signing_secret(tx, workspace=here, sealed=sealed, before_until=until, now=now)
            found = await functions.read_signing_secret(tx, workspace=here, now=now)
            await self._audit(tx, entry, caller, BASE, "signing_secret_made", {}, now)
            return NewSigningSecret(
                created_at=now, previous_until=found.previous_until if found else None, secret=secret
            )

        return await self._kernel.db.persist(write)

    async def hosts(self, workspace: Workspace) -> Hosts:
        """Return the hosts of a workspace's functions that do not answer, by name."""
        prefix, now = rests_of(workspace), await self._kernel.clock.now()
        found = await self._kernel.db.persist(partial(rests.list_host_rests, prefix=prefix), alone=True)
        return [_host(one, prefix, now) for one in found if one.since]

    async def reset_host(self, caller: Caller, host: str) -> None:
        """Let a host be called again, whatever it has not answered; what waits for it is due at once."""
        here, now = caller.workspace, await self._kernel.clock.now()
        name, entry = host_rest_name(here, host), self._entry(here, BASE, now)
        ended: list[datetime] = []

        async def write(tx: Tx) -> None:
            if until := await rests.forget_rest(tx, provider=name):
                ended.append(until)  # remembered past a commit whose answer is lost
                await self._audit(tx, entry, caller, BASE, "host_reset", {"host": host}, now)

        await self._kernel.db.persist(write)
        self._kernel.host_rests.forget_all()
        if not ended:
            raise NotFound(f"there is no host {host!r} that rests; `tidings functions hosts` lists those that do")
        await wake_early(self._kernel, ended[-1], now)

    def _entry(self, workspace: Workspace, name: str, now: datetime) -> UUID:
        return self._kernel.new_id(workspace.bucket_of(name), now)

    async def _audit(
        self,
        tx: Tx,
        entry: UUID,
        caller: Caller,
        name: str,
        event: str,
        detail: "dict[str, object]",
        now: datetime,
    ) -> None:
        audit_entry = AuditEntry("function", subject_of(caller.workspace, name), event, detail, entry)
        await write_audit(self._kernel, tx, caller, [audit_entry], now)


def _host(rest: StoredRest, prefix: str, now: datetime) -> FunctionHost:
    return FunctionHost(
        host=rest.provider.removeprefix(prefix),
        since=rest.since or now,
        rests_until=rest.until if rest.until > now else None,
        failures=rest.times,
        reason=rest.reason,
    )


async def _forgotten(tx: Tx, one: SealedSecret, now: datetime) -> bool:
    if one.connection:
        version = await connections.take_connection_version(tx)
        return bool(
            await connections.forget_credentials(
                tx, workspace=one.workspace, id=one.connection, sealed=one.sealed, version=version, now=now
            )
        )
    if one.function == SIGNING:
        forgotten = await functions.forget_signing_secret(tx, workspace=one.workspace, secret=one.sealed)
    else:
        forgotten = await functions.forget_secret(
            tx, workspace=one.workspace, name=one.function, secret=one.sealed, now=now
        )
    return forgotten is not None


def subject_of(workspace: Workspace, name: str) -> UUID:
    """Return the id under which the audit log knows a function, which has only a name."""
    bits = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return make_id(workspace.bucket_of(name), datetime.fromtimestamp(0, UTC), bits)
