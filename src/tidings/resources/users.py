"""The people of a tenant: invited, given roles in workspaces, and let in by one-time links.

A link is shown once, to whoever asked for it, and handed over by them; only its sha256 is stored. http/ and cli/ decide
who may manage whom.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, FieldsInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.messages import quoted
from tidings.domain.names import problem_of_name
from tidings.domain.paging import ANY_TIME, Created, newest_first
from tidings.domain.people.users import Roles, problems_of_roles, read_user_email
from tidings.domain.roles import Role
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.resources.pages import newest
from tidings.resources.session_memory import SessionMemory, digest_of
from tidings.storage import sessions, users
from tidings.storage.acting import for_caller, for_everyone, for_tenant
from tidings.storage.database import Tx
from tidings.views.pages import Page
from tidings.views.users import User, WorkspaceRoles

LINK_LASTS = timedelta(days=3)
FIRST_LINK_LASTS = timedelta(hours=1)
FIRST = "operator"
"""The name of the first person, until they give their own."""
MADE_BY_START = "tidings"
FIRST_WORKSPACE = Workspace().name
Write = Callable[[Tx], Awaitable[User]]


@dataclass(frozen=True, slots=True)
class LinkedUser:
    """A person with a new one-time link, which is in no other answer."""

    user: User
    token: str = field(repr=False)
    expires_at: datetime


@for_caller
class Users:
    """Invites, lists, changes and removes the people of a tenant."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.memory = SessionMemory()

    @for_tenant
    async def invite(self, caller: Caller, email: str, name: str, workspaces: Roles) -> LinkedUser:
        """Make a person, and a link that lets them in; raise Conflict if the address is taken."""
        address = _check(email, name, workspaces) or email
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(address), now)
        token, ends = secrets.token_urlsafe(32), now + LINK_LASTS
        tenant, entry = caller.workspace.tenant, self._entry(id, "invited", {"email": address, "name": name}, now)

        async def write(tx: Tx) -> User:
            if await users.read_user(tx, tenant=tenant, id=id, now=now) is None:  # else this is a repeat
                by = caller.actor
                made = users.insert_user(tx, id=id, tenant=tenant, email=address, name=name, now=now, created_by=by)
                if await made is None:
                    raise Conflict(f"there is a person with the address {quoted(address)} already")
            await _put_roles(tx, tenant, id, workspaces)
            await users.set_link(tx, tenant=tenant, id=id, digest=digest_of(token), expires_at=ends)
            await write_audit(self._kernel, tx, caller, [entry], now)
            return await _shown(tx, tenant, id, now)

        return LinkedUser(await self._kernel.db.persist(write), token, ends)

    @for_tenant
    async def list(
        self, caller: Caller, *, limit: int = 50, created: Created = ANY_TIME, cursor: str | None = None
    ) -> Page[User]:
        """Return the people of the caller's tenant, newest first."""
        tenant, now = caller.workspace.tenant, await self._kernel.clock.now()
        find = partial(users.list_users, tenant=tenant, now=now)
        page = await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)
        read = partial(users.list_memberships, tenant=tenant, user_ids=[one.id for one in page.items])
        roles = await self._kernel.db.persist(read, alone=True)
        return Page([_with_roles(one, roles) for one in page.items], page.next_cursor)

    @for_tenant
    async def get(self, caller: Caller, id: UUID) -> User:
        """Return one person of the caller's tenant, or raise NotFound."""
        tenant, now = caller.workspace.tenant, await self._kernel.clock.now()
        return await self._kernel.db.persist(partial(_shown, tenant=tenant, id=id, now=now))

    @for_tenant
    async def find(self, caller: Caller, email: str) -> User:
        """Return the person of the caller's tenant with this address, or raise NotFound."""
        tenant, now = caller.workspace.tenant, await self._kernel.clock.now()
        try:
            address = read_user_email(email)
        except ValueError as error:
            raise FieldsInvalid([Problem("email", str(error))]) from error
        read = partial(users.find_user, tenant=tenant, email=address, now=now)
        found = await self._kernel.db.persist(read, alone=True)
        if found is None:
            raise NotFound(f"there is no person with the address {quoted(address)}")
        return await self.get(caller, found.id)

    @for_tenant
    async def update(
        self,
        caller: Caller,
        id: UUID,
        *,
        email: str | None = None,
        name: str | None = None,
        workspaces: Roles | None = None,
        disabled: bool | None = None,
    ) -> User:
        """Change what is given; `workspaces` is the whole list. Who is disabled is signed out everywhere at once.

        Who becomes an operator is signed out, too, and loses an open link: somebody less may know of either.
        """
        address = _check(email, name, workspaces or {})
        tenant, now = caller.workspace.tenant, await self._kernel.clock.now()
        given = {"email": address, "name": name, "workspaces": workspaces, "disabled": disabled}
        detail = {key: one for key, one in given.items() if one is not None}
        entry = self._entry(id, "updated", detail, now)

        async def write(tx: Tx) -> User:
            before = await _shown(tx, tenant, id, now)
            await _require_free(tx, tenant, id, address, now)
            await users.change_user(tx, tenant=tenant, id=id, email=address, name=name)
            if workspaces is not None:
                await _put_roles(tx, tenant, id, workspaces)
            if disabled is not None and disabled is not (before.disabled_at is not None):
                await users.set_disabled(tx, tenant=tenant, id=id, disabled_at=now if disabled else None)
            if disabled or (_operates(workspaces) and not is_operator(before)):
                await sessions.end_sessions(tx, tenant=tenant, user_id=id)
                await users.drop_link(tx, tenant=tenant, id=id)
            await write_audit(self._kernel, tx, caller, [entry], now)
            return await _shown(tx, tenant, id, now)

        return await self._changed(write)

    @for_tenant
    async def link(self, caller: Caller, id: UUID) -> LinkedUser:
        """Make a one-time link that lets a person in, in place of the one before; raise Conflict if disabled."""
        now = await self._kernel.clock.now()
        token, ends = secrets.token_urlsafe(32), now + LINK_LASTS
        tenant, entry = caller.workspace.tenant, self._entry(id, "linked", {}, now)

        async def write(tx: Tx) -> User:
            found = await _shown(tx, tenant, id, now)
            if await users.set_link(tx, tenant=tenant, id=id, digest=digest_of(token), expires_at=ends) is None:
                raise Conflict(f"{found.email or found.name} is disabled; enable them first")
            await write_audit(self._kernel, tx, caller, [entry], now)
            return await _shown(tx, tenant, id, now)

        return LinkedUser(await self._kernel.db.persist(write), token, ends)

    @for_tenant
    async def sign_out(self, caller: Caller, id: UUID) -> None:
        """End every session of a person: at once in this process, after a few seconds in others."""
        tenant, now = caller.workspace.tenant, await self._kernel.clock.now()
        entry = self._entry(id, "signedOut", {"everywhere": True}, now)

        async def write(tx: Tx) -> User:
            found = await _shown(tx, tenant, id, now)
            await sessions.end_sessions(tx, tenant=tenant, user_id=id)
            await write_audit(self._kernel, tx, caller, [entry], now)
            return found

        await self._changed(write)

    @for_tenant
    async def remove(self, caller: Caller, id: UUID) -> None:
        """Remove a person with all sessions; what they did stays in the audit log."""
        tenant, now = caller.workspace.tenant, await self._kernel.clock.now()
        entry = self._entry(id, "removed", {}, now)

        async def write(tx: Tx) -> User:
            found = await _shown(tx, tenant, id, now)
            await users.remove_user(tx, tenant=tenant, id=id)
            await write_audit(self._kernel, tx, caller, [entry], now)
            return found

        await self._changed(write)

    @for_everyone
    async def admit(self, tenant: str, email: str, name: str, by: str, workspaces: Roles) -> None:
        """Make a person whose address somebody trusted has verified; nothing where there is one with this address."""
        address, now = read_user_email(email), await self._kernel.clock.now()
        shown = name if problem_of_name(name) is None else address
        home = Workspace(tenant, next(iter(workspaces), FIRST_WORKSPACE))
        id = self._kernel.new_id(home.bucket_of(address), now)
        entry = self._entry(id, "invited", {"email": address, "name": shown}, now)

        async def write(tx: Tx) -> None:
            if await users.find_user(tx, tenant=tenant, email=address, now=now):
                return
            await users.insert_user(tx, id=id, tenant=tenant, email=address, name=shown, now=now, created_by=by)
            await _put_roles(tx, tenant, id, workspaces)
            await write_audit(self._kernel, tx, Caller(home, by), [entry], now)

        await self._kernel.db.persist(write)

    @for_everyone
    async def first_link(self) -> LinkedUser | None:
        """Return a link for the first operator, whom it makes if need be; None once anybody has a password."""
        now, home = await self._kernel.clock.now(), Workspace()
        new = self._kernel.new_id(home.bucket_of(FIRST), now)
        token, ends = secrets.token_urlsafe(32), now + FIRST_LINK_LASTS

        async def write(tx: Tx) -> User | None:
            await users.lock_first_user(tx)
            if await users.has_password_user(tx):
                return None
            id = await users.find_first_user(tx, tenant=home.tenant, created_by=MADE_BY_START)
            if id is None:
                id = new
                await self._make_first(tx, id, home, now)
            await users.set_link(tx, tenant=home.tenant, id=id, digest=digest_of(token), expires_at=ends)
            return await _shown(tx, home.tenant, id, now)

        found = await self._kernel.db.persist(write)
        return LinkedUser(found, token, ends) if found else None

    async def _make_first(self, tx: Tx, id: UUID, home: Workspace, now: datetime) -> None:
        tenant, by = home.tenant, MADE_BY_START
        await users.insert_user(tx, id=id, tenant=tenant, email=None, name=FIRST, now=now, created_by=by)
        await _put_roles(tx, tenant, id, {home.name: [Role.OPERATOR]})
        entry = self._entry(id, "invited", {"name": FIRST}, now)
        await write_audit(self._kernel, tx, Caller(home, by), [entry], now)

    async def _changed(self, write: Write) -> User:
        found = await self._kernel.db.persist(write)
        self.memory.forget()
        return found

    def _entry(self, id: UUID, event: str, detail: Mapping[str, object], now: datetime) -> AuditEntry:
        # The id of the line is made before the transaction: a repeat after a lost answer writes the same line.
        return AuditEntry("user", id, event, detail, self._kernel.new_id(bucket_of_id(id), now))


def is_operator(user: User) -> bool:
    """Whether a person runs the installation, in any workspace."""
    return any(Role.OPERATOR in one.roles for one in user.workspaces)


def roles_of(user: User) -> set[Role]:
    """Return every role that a person has anywhere."""
    return {Role(role) for one in user.workspaces for role in one.roles}


def _operates(workspaces: Roles | None) -> bool:
    return any(Role.OPERATOR in roles for roles in (workspaces or {}).values())


def _check(email: str | None, name: str | None, workspaces: Roles) -> str | None:
    """Return the address as it is stored; raise with everything that is wrong."""
    problems, address = problems_of_roles(workspaces), None
    if name is not None and (wrong := problem_of_name(name)):
        problems.append(Problem("name", wrong))
    try:
        address = None if email is None else read_user_email(email)
    except ValueError as error:
        problems.append(Problem("email", str(error)))
    if problems:
        raise FieldsInvalid(problems)
    return address


async def _require_free(tx: Tx, tenant: str, id: UUID, address: str | None, now: datetime) -> None:
    other = await users.find_user(tx, tenant=tenant, email=address, now=now) if address else None
    if other and other.id != id:
        raise Conflict(f"there is another person with the address {quoted(address)} already")


async def _put_roles(tx: Tx, tenant: str, id: UUID, workspaces: Roles) -> None:
    await users.remove_memberships(tx, tenant=tenant, user_id=id)
    for workspace, roles in workspaces.items():
        named = sorted({str(role) for role in roles})
        await users.insert_membership(tx, tenant=tenant, user_id=id, workspace=workspace, roles=named)


async def _shown(tx: Tx, tenant: str, id: UUID, now: datetime) -> User:
    found = await users.read_user(tx, tenant=tenant, id=id, now=now)
    if found is None:
        raise NotFound(f"there is no person {id}")
    return _with_roles(found, await users.list_memberships(tx, tenant=tenant, user_ids=[id]))


def _with_roles(user: User, roles: users.Memberships) -> User:
    found = [WorkspaceRoles(workspace=one.workspace, roles=[*one.roles]) for one in roles.get(user.id, [])]
    return replace(user, workspaces=found)
