"""Where people are signed in. Reached from resources/sessions.py and users.py."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.users import OpenSession

_SQL = load("sessions")


class StoredSession(Struct, frozen=True):
    """A session that lasts, and whose it is."""

    id: UUID
    user_id: UUID
    tenant: str
    email: str | None
    name: str
    has_password: bool
    used_at: datetime
    expires_at: datetime


@_SQL.statement
async def insert_session(
    tx: Tx,
    *,
    id: UUID,
    tenant: str,
    user_id: UUID,
    digest: bytes,
    via: str,
    user_agent: str,
    now: datetime,
    idle_after: timedelta,
    expires_at: datetime,
) -> None:
    """Keep a session by the hash of its token; the same again changes nothing."""


@_SQL.statement
async def note_sign_in(tx: Tx, *, tenant: str, id: UUID, now: datetime) -> None:
    """Note when a person signed in."""


@_SQL.statement
async def find_session(tx: Tx, *, digest: bytes, now: datetime) -> StoredSession | None:
    """The session with this hash, if it lasts and its person may sign in."""


@_SQL.statement
async def touch_session(tx: Tx, *, id: UUID, now: datetime, before: datetime) -> None:
    """Note that a session is in use, unless that was noted after `before`."""


@_SQL.statement
async def list_sessions(tx: Tx, *, tenant: str, user_id: UUID, now: datetime) -> list[OpenSession]:
    """The sessions of a person that last, the last used first."""


@_SQL.statement
async def end_session(tx: Tx, *, digest: bytes) -> UUID | None:
    """End the session with this hash; None where there was none."""


@_SQL.statement
async def end_sessions(tx: Tx, *, tenant: str, user_id: UUID) -> set[bytes]:
    """End every session of a person, and return their hashes."""


@_SQL.statement
async def forget_sessions(tx: Tx, *, tenant: str, user_id: UUID, now: datetime) -> None:
    """Remove a person's sessions that have ended by themselves."""
