"""Who may use the API: its keys, and the audit log of what was done with them.

A key is shown once; only its sha256 is stored. http/ and cli/ use this through the engine.
"""

import asyncio
import math
import re
import secrets
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from uuid import UUID

from msgspec.structs import asdict, replace

from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id, workspace_of
from tidings.domain.key_strength import problem_of_chosen_key
from tidings.domain.messages import quoted
from tidings.domain.names import problem_of_name
from tidings.domain.paging import ANY_TIME, Created, newest_first
from tidings.domain.roles import Role
from tidings.domain.timing import problem_of_moment
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.resources.identity import Identity
from tidings.resources.names import name_subjects
from tidings.resources.pages import newest, newest_in_shards
from tidings.storage import access
from tidings.storage.acting import act_for, for_caller, for_everyone, for_tenant, own_tenant
from tidings.storage.database import Tx
from tidings.views.keys import ApiKey, AuditLine, CreatedKey
from tidings.views.pages import Page

PREFIX = "tid_"
PUBLISHABLE_PREFIX = "tid_pub_"
"""How a key begins that may be in a web page, so that people and scanners can tell it from one that must not be."""
SHOWN_CHARACTERS = 12
KNOWN_SECONDS = 5.0
"""How long a process relies on a key it has looked up: a revoked key may work in another process for as long."""
MOST_KNOWN = 10_000
LISTED_SECONDS = 5.0
MOST_LISTED = 100_000
USE_NOTED_EVERY = timedelta(minutes=1)
_ORIGIN = re.compile(r"https?://([a-z0-9.-]{1,253}|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


@for_caller
class Access:
    """Creates, lists, revokes and recognises keys, and reads the audit log."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._known: dict[bytes, tuple[float, Identity]] = {}
        self._live: frozenset[bytes] = frozenset()
        self._listed_at = -math.inf
        self._listing = asyncio.Lock()
        self._origins: tuple[float, frozenset[str]] = (0.0, frozenset())

    @for_tenant
    async def create_key(
        self,
        caller: Caller,
        name: str,
        role: Role,
        *,
        tenant: str | None = None,
        workspace: str | None = None,
        expires_at: datetime | None = None,
        workflows: Sequence[str] = (),
        origins: Sequence[str] = (),
    ) -> CreatedKey:
        """Create a key and return it; its secret is in no other answer.

        The edge decides who may name an operator's role or another tenant.
        """
        now = await self._kernel.clock.now()
        _check_names(name, tenant, workspace)
        _check_expiry(expires_at, now)
        _check_publishable(role, workflows, origins)
        home = Workspace(tenant or caller.workspace.tenant, workspace or caller.workspace.name)
        prefix = PUBLISHABLE_PREFIX if role is Role.PUBLISHABLE else PREFIX
        secret = prefix + secrets.token_urlsafe(32)
        key = self._new_key(home, role, name, secret, now, caller.actor, expires_at)
        named = [_lowered_origin(one) for one in origins]
        key = replace(key, workflows=list(dict.fromkeys(workflows)), origins=list(dict.fromkeys(named)))
        with act_for(own_tenant(home)):  # an operator's caller may be of another tenant
            await self._kernel.db.persist(partial(self._insert, key=key, digest=_digest(secret), actor=caller.actor))
        self.list_anew()  # whoever comes with it is let in at once
        return CreatedKey(**asdict(key), secret=secret)

    @for_tenant
    async def list_keys(
        self, caller: Caller, *, limit: int = 50, created: Created = ANY_TIME, cursor: str | None = None
    ) -> Page[ApiKey]:
        """Return the keys of the caller's tenant, newest first."""
        find = partial(access.list_keys, tenant=caller.workspace.tenant)
        return await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)

    @for_tenant
    async def get_key(self, caller: Caller, id: UUID) -> ApiKey:
        """Return one key of the caller's tenant."""
        tenant = caller.workspace.tenant
        key = await self._kernel.db.persist(lambda tx: access.read_key(tx, tenant=tenant, id=id), alone=True)
        if key is None:
            raise NotFound(f"there is no key {id}")
        return key

    @for_tenant
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
        self._known = {digest: known for digest, known in self._known.items() if known[1].id != id}

    @for_everyone
    async def authenticate(self, secret: str) -> Identity | None:
        """Return the identity of a key, or None when the key is unknown, revoked or expired."""
        digest = _digest(secret)
        if identity := self.recall(secret):
            return identity
        self._known.pop(digest, None)
        key = await self._kernel.db.persist(lambda tx: access.find_key(tx, digest=digest), alone=True)
        now = await self._kernel.clock.now()
        if key is None or key.revoked_at or (key.expires_at and key.expires_at <= now):
            return None
        await self._note_use(key, now)
        allowed = (frozenset(key.workflows), frozenset(key.origins))
        identity = Identity(_home_of(key), frozenset([Role(key.role)]), key.id, f"key:{key.name}", *allowed)
        self._remember(digest, identity, key, now)
        return identity

    def recall(self, secret: str) -> Identity | None:
        """Return the identity of a key that was looked up a moment ago; ask nobody."""
        until, identity = self._known.get(_digest(secret), (0.0, None))
        return identity if until > time.monotonic() else None

    @for_everyone
    async def may_be_live(self, secret: str) -> bool:
        """Return whether a key was among the live ones some seconds ago: they are read once for all who ask."""
        if time.monotonic() - self._listed_at >= LISTED_SECONDS:
            async with self._listing:
                if time.monotonic() - self._listed_at >= LISTED_SECONDS:
                    await self._list_live()
        return _digest(secret) in self._live

    def list_anew(self) -> None:
        """Have the live ones read again before somebody is refused: there is a new one."""
        self._listed_at = -math.inf

    @for_everyone
    async def _list_live(self) -> None:
        now = await self._kernel.clock.now()
        read = partial(access.list_live_hashes, now=now, limit=MOST_LISTED)
        self._live = frozenset(await self._kernel.db.persist(read, alone=True))
        self._listed_at = time.monotonic()

    @for_everyone
    async def origins(self) -> frozenset[str]:
        """Return the web pages from which some publishable key may be used, as they were a few seconds ago."""
        until, found = self._origins
        if until <= time.monotonic():
            now = await self._kernel.clock.now()
            found = frozenset(await self._kernel.db.persist(partial(access.list_origins, now=now), alone=True))
            self._origins = (time.monotonic() + KNOWN_SECONDS, found)
        return found

    @for_everyone
    async def ensure_admin_key(self, given: str | None) -> str | None:
        """Ensure that an operator has a key: the given one, or a new one, returned the first time to be shown."""
        _check_chosen(given)
        secret = given or PREFIX + secrets.token_urlsafe(32)
        now = await self._kernel.clock.now()
        key = self._new_key(Workspace(), Role.OPERATOR, "first operator", secret, now, "tidings", None)

        async def write(tx: Tx) -> bool:
            await access.lock_admin_key(tx)
            found = await access.find_key(tx, digest=_digest(secret))
            if found:
                _require_live(found, now)
                return found.id == key.id
            if given is None and await access.count_live_operators(tx, now=now):
                return False
            await self._insert(tx, key=key, digest=_digest(secret), actor="tidings")
            return True

        made = await self._kernel.db.persist(write)
        return secret if made and given is None else None

    @for_tenant
    async def audit(
        self,
        caller: Caller,
        *,
        subject: UUID | None = None,
        subject_kind: str | None = None,
        actor: str | None = None,
        limit: int = 50,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[AuditLine]:
        """Return what was done in the caller's tenant, newest first; `actor` is a part of who did it."""
        kernel, tenant, span = self._kernel, caller.workspace.tenant, newest_first(cursor, created)
        if subject is None:
            of_tenant = partial(access.list_tenant_audit, tenant=tenant, actor=actor, subject_kind=subject_kind)
            page = await newest_in_shards(kernel, kernel.every_shard(), of_tenant, span=span, limit=limit)
        else:
            of_subject = partial(
                access.list_subject_audit, tenant=tenant, subject_id=subject, actor=actor, subject_kind=subject_kind
            )
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
            workflows=key.workflows,
            origins=key.origins,
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


def _check_names(name: str, tenant: str | None, workspace: str | None) -> None:
    given = {"name": name, "tenant": tenant, "workspace": workspace}
    found = {place: problem_of_name(one) for place, one in given.items() if one is not None}
    if problems := [Problem(place, wrong) for place, wrong in found.items() if wrong]:
        raise FieldsInvalid(problems)


def _check_publishable(role: Role, workflows: Sequence[str], origins: Sequence[str]) -> None:
    """Refuse a publishable key that names no workflow, and another key that names any."""
    problems = [
        Problem(f"workflows[{place}]", wrong)
        for place, name in enumerate(workflows)
        if (wrong := problem_of_name(name))
    ]
    if role is Role.PUBLISHABLE and not workflows:
        problems.append(Problem("workflows", f"a {role} key names the workflows that it may start; give at least one"))
    if role is not Role.PUBLISHABLE and (workflows or origins):
        given = "workflows" if workflows else "origins"
        problems.append(
            Problem(given, f"a key of role {role} is not limited so; leave them out, or make it publishable")
        )
    problems += [
        Problem(f"origins[{place}]", f"{quoted(one)} is no origin; write it like https://example.com")
        for place, one in enumerate(origins)
        if not _ORIGIN.fullmatch(_lowered_origin(one))
    ]
    if problems:
        raise FieldsInvalid(problems)


def _lowered_origin(origin: str) -> str:
    """Return an origin as browsers write it."""
    return origin.lower().removesuffix("/")


def _check_expiry(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is None:
        return
    wrong = problem_of_moment(expires_at)
    if not wrong and expires_at <= now:
        wrong = f"{expires_at.isoformat()} is past; give a later time or none"
    if wrong:
        raise FieldsInvalid([Problem("expiresAt", wrong)])


def _check_chosen(key: str | None) -> None:
    if key is not None and (wrong := problem_of_chosen_key(key)):
        raise ConfigInvalid(
            f"TIDINGS_ADMIN_KEY can be guessed: it {wrong}; make one with `openssl rand -base64 32`, or leave it out:"
            " the first key is then made and printed"
        )


def _require_live(key: ApiKey, now: datetime) -> None:
    if key.revoked_at or (key.expires_at and key.expires_at <= now):
        raise ConfigInvalid("TIDINGS_ADMIN_KEY is a key that was revoked or has expired; set another")
