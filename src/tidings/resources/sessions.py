"""Signing in: whose a browser is, from a password, a one-time link or a login elsewhere, until the session ends.

A browser holds 32 random bytes; only their sha256 is stored, so whoever reads the database can sign in as nobody.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, FieldsInvalid, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.messages import quoted
from tidings.domain.names import problem_of_name
from tidings.domain.people.users import problem_of_password, read_user_email, readable_agent
from tidings.domain.roles import Permission, Role, may
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.resources.access import Access
from tidings.resources.passwords import Passwords
from tidings.resources.session_memory import DEFAULT_WORKSPACE, SignedIn, digest_of
from tidings.resources.users import Users
from tidings.storage import sessions, users
from tidings.storage.acting import for_everyone
from tidings.storage.database import Tx
from tidings.storage.sessions import StoredSession
from tidings.views.users import OpenSession, SessionUser, User

USE_NOTED_EVERY = timedelta(minutes=1)
Listed = list[OpenSession]


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a session begins: how long it may last, what the browser calls itself, and the session it had before."""

    idle_after: timedelta
    lasts: timedelta
    user_agent: str = ""
    before: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class OwnChange:
    """What a person sets about themselves."""

    name: str | None = None
    email: str | None = None
    password: str | None = field(default=None, repr=False)
    current_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Begun:
    """A session that has just begun, with its token, which no other answer has."""

    signed_in: SignedIn
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _New:
    """A session to be stored: made before the transaction, so that a repeat stores the same."""

    id: UUID
    entry: UUID
    now: datetime
    via: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class Sessions:
    """Begins, recognises and ends the sessions of people."""

    def __init__(self, kernel: Kernel, access: Access, people: Users) -> None:
        self._kernel, self._access, self._memory = kernel, access, people.memory
        self._passwords = Passwords()

    @for_everyone
    async def sign_in(self, tenant: str, email: str, password: str, browser: Browser) -> Begun | None:
        """Begin a session with a password; None where anything is wrong, after the same work whatever it is."""
        find = partial(users.find_password, tenant=tenant, email=_sought(email))
        found = await self._kernel.db.persist(find, alone=True)
        is_right = await self._passwords.is_right(found.password_hash if found else None, password)
        if found is None or not is_right:
            return None
        if self._passwords.is_outdated(found.password_hash):
            await self._hash_anew(tenant, found, password)
        return await self._begin(tenant, found.id, "password", browser)

    @for_everyone
    async def vouched(self, tenant: str, email: str, via: str, browser: Browser) -> Begun | None:
        """Begin a session of the person whose address somebody trusted has verified; None where there is none."""
        now = await self._kernel.clock.now()
        find = partial(users.find_user, tenant=tenant, email=_sought(email), now=now)
        found = await self._kernel.db.persist(find, alone=True)
        return await self._begin(tenant, found.id, via, browser) if found else None

    @for_everyone
    async def redeem(self, link: str, given: OwnChange, browser: Browser) -> Begun | None:
        """Begin a session with a one-time link, and set what is given; None where it opens nothing.

        Who had a password gives a new one, and every session from before ends.
        """
        digest, now = digest_of(link), await self._kernel.clock.now()
        person = await self._kernel.db.persist(partial(users.find_link, digest=digest, now=now), alone=True)
        if person is None:
            return None
        address = _check_own(person, given, may_move=False, needs_password=person.has_password)
        hashed = await self._passwords.hash(given.password) if given.password is not None else None
        new = self._new(person.id, "link", now)

        async def write(tx: Tx) -> bool:
            if await sessions.find_session(tx, digest=digest_of(new.token), now=now):
                return True  # the answer to the first try was lost
            if await users.use_link(tx, digest=digest, now=now) is None:
                return False
            await _set_own(tx, person, address, given.name, hashed, now)
            await self._insert(tx, new, person.tenant, person.id, browser)
            return True

        return await self._found(new.token) if await self._kernel.db.persist(write) else None

    @for_everyone
    async def change_own(self, signed_in: SignedIn, given: OwnChange, browser: Browser) -> Begun | None:
        """Set what a person gives about themselves; None where the current password is not the right one.

        A new password ends every session, and begins this one anew with another token.
        """
        tenant, id, now = signed_in.tenant, signed_in.user.id, await self._kernel.clock.now()
        person = await self._kernel.db.persist(partial(users.read_user, tenant=tenant, id=id, now=now), alone=True)
        if person is None or not await self._knows_password(person, given):
            return None
        address = _check_own(person, given, may_move=_administers(signed_in.roles))
        hashed = await self._passwords.hash(given.password) if given.password is not None else None
        new, line = self._new(id, "password", now), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            await _set_own(tx, person, address, given.name, hashed, now)
            if hashed:
                await self._insert(tx, new, tenant, id, browser)
            changed = sorted(key for key, one in asdict(given).items() if one and key != "current_password")
            entry = AuditEntry("user", id, "updated", {"own": changed}, line)
            await write_audit(self._kernel, tx, _caller(signed_in), [entry], now)

        await self._kernel.db.persist(write)
        return await self._found(new.token if hashed else browser.before or "")

    @for_everyone
    async def authenticate(self, token: str, *, is_use: bool = True) -> SignedIn | None:
        """Return who is signed in, or None. Looking whether a session still lasts is no use of it."""
        if found := self.recall(token):
            return found
        digest, now, read_at = digest_of(token), await self._kernel.clock.now(), self._memory.changes
        found = await self._kernel.db.persist(partial(self._read, digest=digest, now=now, is_use=is_use))
        if found and is_use:
            left = (found.expires_at - now).total_seconds()
            self._memory.remember(digest, found, seconds=left, read_at=read_at)
        return found

    def recall(self, token: str) -> SignedIn | None:
        """Return who was signed in a moment ago; ask nobody."""
        return self._memory.recall(digest_of(token))

    @for_everyone
    async def may_be_live(self, token: str) -> bool:
        """Return whether a session was among the live ones some seconds ago: they are read once for all who ask."""
        return await self._access.may_be_live(token)

    @for_everyone
    async def list(self, signed_in: SignedIn) -> Listed:
        """Return where a person is signed in, the last used first."""
        now = await self._kernel.clock.now()
        find = partial(sessions.list_sessions, tenant=signed_in.tenant, user_id=signed_in.user.id, now=now)
        found = await self._kernel.db.persist(find, alone=True)
        return [replace(one, current=one.id == signed_in.session_id) for one in found]

    @for_everyone
    async def end(self, signed_in: SignedIn, token: str) -> None:
        """End one session: at once in this process, after a few seconds in others."""
        now = await self._kernel.clock.now()
        entry = self._entry(signed_in.user.id, "signedOut", {}, now)

        async def write(tx: Tx) -> None:
            await sessions.end_session(tx, digest=digest_of(token))
            await write_audit(self._kernel, tx, _caller(signed_in), [entry], now)

        await self._kernel.db.persist(write)
        self._memory.forget()

    @for_everyone
    async def end_all(self, signed_in: SignedIn) -> None:
        """End every session of a person."""
        now = await self._kernel.clock.now()
        entry = self._entry(signed_in.user.id, "signedOut", {"everywhere": True}, now)

        async def write(tx: Tx) -> None:
            await sessions.end_sessions(tx, tenant=signed_in.tenant, user_id=signed_in.user.id)
            await write_audit(self._kernel, tx, _caller(signed_in), [entry], now)

        await self._kernel.db.persist(write)
        self._memory.forget()

    async def _read(self, tx: Tx, digest: bytes, now: datetime, *, is_use: bool) -> SignedIn | None:
        stored = await sessions.find_session(tx, digest=digest, now=now)
        if stored is None:
            return None
        before = now - USE_NOTED_EVERY
        if is_use and stored.used_at < before:
            await sessions.touch_session(tx, id=stored.id, now=now, before=before)
        held = await users.list_memberships(tx, tenant=stored.tenant, user_ids=[stored.user_id])
        return _signed_in(stored, {one.workspace: frozenset(one.roles) for one in held.get(stored.user_id, [])})

    async def _begin(self, tenant: str, id: UUID, via: str, browser: Browser) -> Begun | None:
        new = self._new(id, via, await self._kernel.clock.now())
        await self._kernel.db.persist(partial(self._insert, new=new, tenant=tenant, id=id, browser=browser))
        return await self._found(new.token)

    async def _insert(self, tx: Tx, new: _New, tenant: str, id: UUID, browser: Browser) -> None:
        """Store a session, and end the one that the browser had before: a token from before a sign-in opens nothing."""
        if browser.before:
            await sessions.end_session(tx, digest=digest_of(browser.before))
        await sessions.forget_sessions(tx, tenant=tenant, user_id=id, now=new.now)
        await sessions.insert_session(
            tx,
            id=new.id,
            tenant=tenant,
            user_id=id,
            digest=digest_of(new.token),
            via=new.via,
            user_agent=readable_agent(browser.user_agent),
            now=new.now,
            idle_after=browser.idle_after,
            expires_at=new.now + browser.lasts,
        )
        await sessions.note_sign_in(tx, tenant=tenant, id=id, now=new.now)
        found = await self._read(tx, digest_of(new.token), new.now, is_use=False)
        if found:  # a disabled person's session opens nothing, and is no sign-in
            entry = AuditEntry("user", id, "signedIn", {"via": new.via}, new.entry)
            await write_audit(self._kernel, tx, _caller(found), [entry], new.now)

    async def _found(self, token: str) -> Begun | None:
        self._memory.forget()
        self._access.list_anew()
        found = await self.authenticate(token)
        return Begun(found, token) if found else None

    async def _hash_anew(self, tenant: str, found: users.StoredPassword, password: str) -> None:
        anew, before = await self._passwords.hash(password), found.password_hash
        change = partial(users.replace_hash, tenant=tenant, id=found.id, password_hash=anew, before=before)
        await self._kernel.db.persist(change, alone=True)

    async def _knows_password(self, person: User, given: OwnChange) -> bool:
        """Whether somebody may set password or address: they give the current password, if they have one."""
        if (given.password is None and given.email is None) or not person.has_password:
            return True
        read = partial(users.read_password, tenant=person.tenant, id=person.id)
        stored = await self._kernel.db.persist(read, alone=True)
        return await self._passwords.is_right(stored, given.current_password or "")

    def _new(self, id: UUID, via: str, now: datetime) -> _New:
        bucket = bucket_of_id(id)
        return _New(self._kernel.new_id(bucket, now), self._kernel.new_id(bucket, now), now, via)

    def _entry(self, id: UUID, event: str, detail: Mapping[str, object], now: datetime) -> AuditEntry:
        return AuditEntry("user", id, event, detail, self._kernel.new_id(bucket_of_id(id), now))


def _sought(email: str) -> str:
    """Return an address as it is stored; what is none finds nobody, after as much work."""
    try:
        return read_user_email(email)
    except ValueError:
        return ""


def _check_own(person: User, given: OwnChange, *, may_move: bool, needs_password: bool = False) -> str | None:
    """Return the address as it is stored; raise with everything that is wrong."""
    problems, address = [], None
    if given.name is not None and (wrong := problem_of_name(given.name)):
        problems.append(Problem("name", wrong))
    if given.email is not None:
        try:
            address = read_user_email(given.email)
        except ValueError as error:
            problems.append(Problem("email", str(error)))
        if address and address != person.email and person.email and not may_move:
            problems.append(Problem("email", "is given by an administrator; ask for another"))
    if given.password is None and needs_password:
        problems.append(Problem("password", "is missing: this link is for setting a new one"))
    known = (person.email, person.name, given.email, given.name)
    if given.password is not None and (wrong := problem_of_password(given.password, known)):
        problems.append(Problem("password", wrong))
    if problems:
        raise FieldsInvalid(problems)
    return address


async def _set_own(
    tx: Tx, person: User, address: str | None, name: str | None, hashed: str | None, now: datetime
) -> None:
    """Write what somebody set about themselves; a new password ends every session."""
    tenant, id = person.tenant, person.id
    other = await users.find_user(tx, tenant=tenant, email=address, now=now) if address else None
    if other and other.id != id:
        raise Conflict(f"there is another person with the address {quoted(address)} already")
    await users.change_user(tx, tenant=tenant, id=id, email=address, name=name)
    if hashed:
        await users.set_password(tx, tenant=tenant, id=id, password_hash=hashed)
        await sessions.end_sessions(tx, tenant=tenant, user_id=id)


def _administers(roles: Mapping[str, frozenset[Role]]) -> bool:
    return any(may(one, Permission.ADMINISTER) for one in roles.values())


def _signed_in(stored: StoredSession, roles: Mapping[str, frozenset[Role]]) -> SignedIn:
    user = SessionUser(id=stored.user_id, email=stored.email, name=stored.name, has_password=stored.has_password)
    return SignedIn(stored.id, stored.tenant, user, roles, stored.expires_at)


def _caller(signed_in: SignedIn) -> Caller:
    return Caller(Workspace(signed_in.tenant, signed_in.workspace or DEFAULT_WORKSPACE), signed_in.actor)
