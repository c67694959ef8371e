"""Who may use the API: its keys, and the audit log of what was done with them.

A key is shown once; only its sha256 is stored. http/ and cli/ use this through the engine.
"""

import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from uuid import UUID

from msgspec.structs import asdict

from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id, workspace_of
from tidings.domain.names import problem_of_name
from tidings.domain.paging import ANY_TIME, Created, newest_first
from tidings.domain.roles import Role
from tidings.domain.timing import problem_of_moment
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.resources.names import name_subjects
from tidings.resources.pages import newest, newest_in_shards
from tidings.storage import access
from tidings.storage.database import Tx
from tidings.views.keys import ApiKey, AuditLine, CreatedKey
from tidings.views.pages import Page

PREFIX = "tid_"
SHOWN_CHARACTERS = 12
KNOWN_SECONDS = 5.0
"""How long a process relies on a key it has looked up: a revoked key may work in another process for as long."""
MOST_KNOWN = 10_000
USE_NOTED_EVERY = timedelta(minutes=1)
SHORTEST_ADMIN_KEY = 8


@dataclass(frozen=True, slots=True)
class Identity:
    """The key behind a request, with its tenant, workspace and role."""

    workspace: Workspace
    role: Role
    key_id: UUID
    actor: str

    @property
    def caller(self) -> Caller:
        """Return the caller as the audit log records it."""
        return Caller(self.workspace, self.actor)


class Access:
    """Creates, lists, revokes and recognises keys, and reads the audit log."""

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
    ) -> CreatedKey:
        """Create a key for a workspace of the caller's tenant and return it; its secret is in no other answer."""
        now = await self._kernel.clock.now()
        _check_names(name, workspace)
        _check_expiry(expires_at, now)
        home = Workspace(caller.workspace.tenant, workspace or caller.workspace.name)
        secret = PREFIX + secrets.token_urlsafe(32)
        key = self._new_key(home, role, name, secret, now, caller.actor, expires_at)
        await self._kernel.db.persist(partial(self._insert, key=key, digest=_digest(secret), actor=caller.actor))
        return CreatedKey(**asdict(key), secret=secret)

    async def list_keys(
        self, caller: Caller, *, limit: int = 50, created: Created = ANY_TIME, cursor: str | None = None
    ) -> Page[ApiKey]:
        """Return the keys of the caller's tenant, newest first."""
        find = partial(access.list_keys, tenant=caller.workspace.tenant)
        return await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)

    async def revoke_key(self, caller: Caller, id: UUID) -> None:
        """Revoke a key: at once in this process, after a few seconds in others."""
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
        """Return the identity of a key, or None when the key is unknown, revoked or expired."""
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
        identity = Identity(_home_of(key), Role(key.role), key.id, f"key:{key.name}")
        self._remember(digest, identity, key, now)
        return identity

    async def ensure_admin_key(self, given: str | None) -> str | None:
        """Ensure that an administrator has a key: the given one, or a new one, returned the first time to be shown."""
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
        """Return what was done in the caller's tenant, newest first."""
        kernel, tenant, span = self._kernel, caller.workspace.tenant, newest_first(cursor, created)
        if subject is None:
            of_tenant = partial(access.list_tenant_audit, tenant=tenant)
            page = await newest_in_shards(kernel, kernel.every_shard(), of_tenant, span=span, limit=limit)
        else:
            of_subject = partial(access.list_subject_audit, tenant=tenant, subject_id=subject)
            page = await newest_in_shards(kernel, [kernel.shard_of(subject)], of_subject, span=span, limit=limit)
        return Page(await name_subjects(kernel, tenant, page.items), page.next_cursor)

    def _new_key(
        self,
        workspace: Workspace,
        role: Role,
        name: str,
        secret: str,
        now: datetime,
        actor: str,
        expires_at: datetime | None,
    ) -> ApiKey:
        return ApiKey(
            id=self._kernel.new_id(workspace.bucket_of(name), now),
            name=name,
            role=role,
            tenant=workspace.tenant,
            workspace=workspace.name,
            prefix=secret[: min(SHOWN_CHARACTERS, len(secret) // 3)],
            created_at=now,
            created_by=actor,
            expires_at=expires_at,
        )

    async def _insert(self, tx: Tx, *, key: ApiKey, digest: bytes, actor: str) -> None:
        await access.insert_key(
            tx,
            id=key.id,
            workspace=_home_of(key),
            role=Role(key.role),
            name=key.name,
            digest=digest,
            prefix=key.prefix,
            now=key.created_at,
            created_by=key.created_by,
            expires_at=key.expires_at,
        )
        await self._audit(tx, key.id, key, "created", actor, key.created_at)

    async def _audit(self, tx: Tx, entry: UUID, key: ApiKey, event: str, actor: str, now: datetime) -> None:
        audit_entry = AuditEntry("api_key", key.id, event, {"name": key.name, "role": key.role}, entry)
        await write_audit(self._kernel, tx, Caller(_home_of(key), actor), [audit_entry], now)

    async def _note_use(self, key: ApiKey, now: datetime) -> None:
        before = now - USE_NOTED_EVERY
        if key.last_used_at is None or key.last_used_at < before:
            await self._kernel.db.persist(
                lambda tx: access.touch_key(tx, id=key.id, now=now, before=before), alone=True
            )

    def _remember(self, digest: bytes, identity: Identity, key: ApiKey, now: datetime) -> None:
        seconds = KNOWN_SECONDS
        if key.expires_at:
            seconds = min(seconds, (key.expires_at - now).total_seconds())
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[digest] = (time.monotonic() + seconds, identity)


def _home_of(key: ApiKey) -> Workspace:
    return workspace_of(key.tenant, key.workspace)


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


def _require_live(key: ApiKey, now: datetime) -> None:
    if key.revoked_at or (key.expires_at and key.expires_at <= now):
        raise ConfigInvalid("TIDINGS_ADMIN_KEY is a key that was revoked or has expired; set another")
