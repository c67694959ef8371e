"""People, their roles, and the one-time links that let them in. Reached from resources/users.py and sessions.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.paging import Span
from tidings.domain.roles import Role
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.users import User

_SQL = load("users")


class StoredPassword(Struct, frozen=True):
    """Whose password a sign-in is compared with."""

    id: UUID
    password_hash: str


class StoredMembership(Struct, frozen=True):
    """The roles of a person in one workspace."""

    workspace: str
    roles: list[Role]


Memberships = Mapping[UUID, list[StoredMembership]]


async def list_memberships(tx: Tx, *, tenant: str, user_ids: Sequence[UUID]) -> Memberships:
    """The roles of some people of a tenant."""
    found: dict[UUID, list[StoredMembership]] = {}
    for row in await tx.fetch(_SQL["list_memberships"], tenant=tenant, user_ids=user_ids):
        one = StoredMembership(row["workspace"], [Role(role) for role in row["roles"]])
        found.setdefault(row["user_id"], []).append(one)
    return found


@_SQL.statement
async def lock_first_user(tx: Tx) -> None:
    """Let no other process make the first person until the transaction ends."""


@_SQL.statement
async def has_password_user(tx: Tx) -> bool:
    """Whether anybody at all has a password."""


@_SQL.statement
async def find_first_user(tx: Tx, *, tenant: str, created_by: str) -> UUID | None:
    """The operator whom the first start made."""


@_SQL.statement
async def insert_user(
    tx: Tx, *, id: UUID, tenant: str, email: str | None, name: str, now: datetime, created_by: str
) -> UUID | None:
    """Make a person; None when the address is taken."""


@_SQL.statement
async def list_users(tx: Tx, *, tenant: str, now: datetime, span: Span, limit: int) -> list[User]:
    """A tenant's people, newest first; without their roles."""


@_SQL.statement
async def read_user(tx: Tx, *, tenant: str, id: UUID, now: datetime) -> User | None:
    """One person without roles; None when the tenant has no such person."""


@_SQL.statement
async def find_user(tx: Tx, *, tenant: str, email: str, now: datetime) -> User | None:
    """The person with this address, without roles."""


@_SQL.statement
async def find_password(tx: Tx, *, tenant: str, email: str) -> StoredPassword | None:
    """The password of the person with this address; None where nobody can sign in with one."""


@_SQL.statement
async def read_password(tx: Tx, *, tenant: str, id: UUID) -> str | None:
    """The stored password of one person."""


@_SQL.statement
async def remove_memberships(tx: Tx, *, tenant: str, user_id: UUID) -> None:
    """Take every role of a person."""


@_SQL.statement
async def insert_membership(tx: Tx, *, tenant: str, user_id: UUID, workspace: str, roles: Sequence[str]) -> None:
    """Give a person roles in a workspace."""


@_SQL.statement
async def change_user(tx: Tx, *, tenant: str, id: UUID, email: str | None, name: str | None) -> UUID | None:
    """Set what is not None; None when there is no such person."""


@_SQL.statement
async def set_disabled(tx: Tx, *, tenant: str, id: UUID, disabled_at: datetime | None) -> None:
    """Let a person sign in no more from a moment on, or again."""


@_SQL.statement
async def set_password(tx: Tx, *, tenant: str, id: UUID, password_hash: str) -> None:
    """Set a password, and end an open link."""


@_SQL.statement
async def replace_hash(tx: Tx, *, tenant: str, id: UUID, password_hash: str, before: str) -> None:
    """Store the same password as passwords are hashed now."""


@_SQL.statement
async def set_link(tx: Tx, *, tenant: str, id: UUID, digest: bytes, expires_at: datetime) -> UUID | None:
    """Give a person a one-time link; None where there is nobody who could use it."""


@_SQL.statement
async def drop_link(tx: Tx, *, tenant: str, id: UUID) -> None:
    """End a person's open link."""


@_SQL.statement
async def find_link(tx: Tx, *, digest: bytes, now: datetime) -> User | None:
    """Whom a link is for; None where it opens nothing."""


@_SQL.statement
async def use_link(tx: Tx, *, digest: bytes, now: datetime) -> UUID | None:
    """End a link; None where it was used meanwhile."""


@_SQL.statement
async def remove_user(tx: Tx, *, tenant: str, id: UUID) -> UUID | None:
    """Remove a person; None when there is none."""
