"""The addresses of a workspace's functions: set, list, forget. Every change is in the audit log; no secret is shown.

storage/directory.py looks an address up for a call. The name `*` is the base address of all functions without one.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, NotFound
from tidings.domain.flow.ids import Workspace, make_id
from tidings.domain.workflows.function import Endpoint, check_name
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.storage import functions, resolve
from tidings.storage.database import Tx
from tidings.storage.directory import place_of
from tidings.storage.functions import SealedSecret
from tidings.storage.sealed import unopened
from tidings.views.functions import FunctionAddress

__all__ = ["Functions", "SealedSecret"]

Listed = list[FunctionAddress]


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
        """Return every function of a workspace, by name."""
        return await self._kernel.db.persist(partial(functions.list_functions, workspace=workspace), alone=True)

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

    async def unopened(self) -> Sequence[SealedSecret]:
        """Return every secret, of all workspaces, that none of this engine's keys opens."""
        if not self._kernel.vault.has_key:
            raise ConfigInvalid("without a key no secret opens: set TIDINGS_SECRET_KEY to the key to use from now on")
        return await unopened(self._kernel.db, self._kernel.vault, most=sys.maxsize)

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
            if not await functions.forget_secret(
                tx, workspace=secret.workspace, name=name, secret=secret.sealed, now=now
            ):
                return False
            await self._audit(tx, entry, caller, name, "secret_forgotten", {"name": name}, now)
            return True

        return await self._kernel.db.persist(write)

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


def subject_of(workspace: Workspace, name: str) -> UUID:
    """Return the id under which the audit log knows a function, which has only a name."""
    bits = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return make_id(workspace.bucket_of(name), datetime.fromtimestamp(0, UTC), bits)
