"""Who may come in: keys to the API, and the history of what was done with them.

A key is shown once; what is kept is its sha256. Reached from http/ and cli/ through the engine.
"""

import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from heapq import merge
from typing import Protocol
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.ids import Shard, Workspace, bucket_of_id
from tidings.domain.names import problem_of_name
from tidings.domain.paging import ANY_TIME, Created, Span, check_limit, newest_first, page_of
from tidings.domain.roles import Role
from tidings.domain.timing import problem_of_moment
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.resources.names import name_subjects
from tidings.storage import access
from tidings.storage.access import AuditLine, ShownKey
from tidings.storage.database import Tx
from tidings.views.pages import Page

__all__ = ["Access", "AuditLine", "Identity", "NewKey", "ShownKey"]

PREFIX = "tid_"
SHOWN_CHARACTERS = 12
KNOWN_SECONDS = 5.0
"""How long an answer is relied on without asking: a revoked key may work elsewhere for as long."""
MOST_KNOWN = 10_000
USE_NOTED_EVERY = timedelta(minutes=1)
SHORTEST_ADMIN_KEY = 8


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose request this is."""

    workspace: Workspace
    role: Role
    key_id: UUID
    actor: str

    @property
    def caller(self) -> Caller:
        """The same, as those who write the audit log need it."""
        return Caller(self.workspace, self.actor)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key at the only moment when it can be shown."""

    key: ShownKey
    secret: str


class _ListAudit(Protocol):
    async def __call__(self, tx: Tx, *, shard: Shard, tenant: str, span: Span, limit: int) -> list[AuditLine]: ...


class Access:
    """Makes, lists, revokes and recognises keys; reads the audit log."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._known: dict[bytes, tuple[float, Identity]] = {}

    async def create_key(
        self,
        caller: Caller,
        name: str,
        role: Role,
        *,
        workspace: str | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make a key for a workspace of the caller's tenant; the answer is the only place that holds it."""
        now = await self._kernel.clock.now()
        _check_names(name, workspace)
        _check_expiry(expires_at, now)
        home = Workspace(caller.workspace.tenant, workspace or caller.workspace.name)
        secret = PREFIX + secrets.token_urlsafe(32)
        key = self._new_key(home, role, name, secret, now, caller.actor, expires_at)
        await self._kernel.db.persist(partial(self._insert, key=key, digest=_digest(secret), actor=caller.actor))
        return NewKey(key, secret)

    async def list_keys(
        self, caller: Caller, *, limit: int = 50, created: Created = ANY_TIME, cursor: str | None = None
    ) -> Page[ShownKey]:
        """The keys of the caller's tenant, newest first."""
        check_limit(limit)
        span = newest_first(cursor, created)
        found = await self._kernel.db.persist(
            lambda tx: access.list_keys(tx, tenant=caller.workspace.tenant, span=span, limit=limit + 1), alone=True
        )
        return page_of(found, limit, lambda key: key.id)

    async def revoke_key(self, caller: Caller, id: UUID) -> None:
        """End a key: here at once, in other processes after a few seconds."""
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            key = await access.read_key(tx, tenant=caller.workspace.tenant, id=id)
            if key is None:
                raise NotFound(f"there is no key {id}")
            if await access.revoke_key(tx, id=id, now=now):
                await self._audit(tx, entry, key, "revoked", caller.actor, now)

        await self._kernel.db.persist(write)
        self._known = {digest: known for digest, known in self._known.items() if known[1].key_id != id}

    async def authenticate(self, secret: str) -> Identity | None:
        """Whose key this is; None when it is nobody's, revoked or expired."""
        digest = _digest(secret)
        until, identity = self._known.get(digest, (0.0, None))
        if identity and until > time.monotonic():
            return identity
        self._known.pop(digest, None)
        key = await self._kernel.db.persist(lambda tx: access.find_key(tx, digest=digest), alone=True)
        now = await self._kernel.clock.now()
        if key is None or key.revoked_at or (key.expires_at and key.expires_at <= now):
            return None
        await self._note_use(key, now)
        identity = Identity(key.workspace, key.role, key.id, f"key:{key.name}")
        self._remember(digest, identity, key, now)
        return identity

    async def ensure_admin_key(self, given: str | None) -> str | None:
        """Let an administrator in: by the given key, or by one that is made the first time, to be shown once."""
        if given is not None and len(given) < SHORTEST_ADMIN_KEY:
            raise ConfigInvalid(f"TIDINGS_ADMIN_KEY is too short; use {SHORTEST_ADMIN_KEY} characters or more")
        secret = given or PREFIX + secrets.token_urlsafe(32)
        now = await self._kernel.clock.now()
        key = self._new_key(Workspace(), Role.SYSTEM_ADMIN, "first administrator", secret, now, "tidings", None)

        async def write(tx: Tx) -> bool:
            await access.lock_admin_key(tx)
            found = await access.find_key(tx, digest=_digest(secret))
            if found:
                _require_live(found, now)
                return found.id == key.id
            if given is None and await access.count_admin_keys(tx):
                return False
            await self._insert(tx, key=key, digest=_digest(secret), actor="tidings")
            return True

        made = await self._kernel.db.persist(write)
        return secret if made and given is None else None

    async def audit(
        self,
        caller: Caller,
        *,
        subject: UUID | None = None,
        limit: int = 50,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[AuditLine]:
        """What was done in the caller's tenant, newest first."""
        check_limit(limit)
        list_in_shard: _ListAudit = access.list_tenant_audit
        shards = self._kernel.every_shard()
        if subject:
            list_in_shard = partial(access.list_subject_audit, subject_id=subject)
            shards = [self._kernel.shard_of(subject)]
        find = partial(
            list_in_shard, tenant=caller.workspace.tenant, span=newest_first(cursor, created), limit=limit + 1
        )
        found = [await self._kernel.db.persist(partial(find, shard=shard), alone=True) for shard in shards]
        page = page_of(list(merge(*found, key=_id_of, reverse=True)), limit, _id_of)
        return Page(await name_subjects(self._kernel, caller.workspace.tenant, page.items), page.next_cursor)

    def _new_key(
        self,
        workspace: Workspace,
        role: Role,
        name: str,
        secret: str,
        now: datetime,
        actor: str,
        expires_at: datetime | None,
    ) -> ShownKey:
        return ShownKey(
            id=self._kernel.new_id(workspace.bucket_of(name), now),
            workspace=workspace,
            role=role,
            name=name,
            prefix=secret[: min(SHOWN_CHARACTERS, len(secret) // 3)],
            created_at=now,
            created_by=actor,
            expires_at=expires_at,
            last_used_at=None,
            revoked_at=None,
        )

    async def _insert(self, tx: Tx, *, key: ShownKey, digest: bytes, actor: str) -> None:
        await access.insert_key(
            tx,
            id=key.id,
            workspace=key.workspace,
            role=key.role,
            name=key.name,
            digest=digest,
            prefix=key.prefix,
            now=key.created_at,
            created_by=key.created_by,
            expires_at=key.expires_at,
        )
        await self._audit(tx, key.id, key, "created", actor, key.created_at)

    async def _audit(self, tx: Tx, entry: UUID, key: ShownKey, event: str, actor: str, now: datetime) -> None:
        audit_entry = AuditEntry("api_key", key.id, event, {"name": key.name, "role": key.role}, entry)
        await write_audit(self._kernel, tx, Caller(key.workspace, actor), [audit_entry], now)

    async def _note_use(self, key: ShownKey, now: datetime) -> None:
        before = now - USE_NOTED_EVERY
        if key.last_used_at is None or key.last_used_at < before:
            await self._kernel.db.persist(
                lambda tx: access.touch_key(tx, id=key.id, now=now, before=before), alone=True
            )

    def _remember(self, digest: bytes, identity: Identity, key: ShownKey, now: datetime) -> None:
        seconds = KNOWN_SECONDS
        if key.expires_at:
            seconds = min(seconds, (key.expires_at - now).total_seconds())
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[digest] = (time.monotonic() + seconds, identity)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode(errors="replace")).digest()


def _check_names(name: str, workspace: str | None) -> None:
    given = {"name": name} | ({} if workspace is None else {"workspace": workspace})
    found = {place: problem_of_name(one) for place, one in given.items()}
    if problems := [Problem(place, wrong) for place, wrong in found.items() if wrong]:
        raise FieldsInvalid(problems)


def _check_expiry(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is None:
        return
    wrong = problem_of_moment(expires_at)
    if not wrong and expires_at <= now:
        wrong = f"{expires_at.isoformat()} is past; give a later time or none"
    if wrong:
        raise FieldsInvalid([Problem("expiresAt", wrong)])


def _require_live(key: ShownKey, now: datetime) -> None:
    if key.revoked_at or (key.expires_at and key.expires_at <= now):
        raise ConfigInvalid("TIDINGS_ADMIN_KEY is a key that was revoked or has expired; set another")


def _id_of(line: AuditLine) -> UUID:
    return line.id
