"""Which roles a database has, what each may do, and whether row security is forced. Reached from migrate.py.

The owner of the tables migrates; `tidings_app`, where there is one, works with rows and changes no table. The policies
themselves are made by `set_rights` in schema.sql.
"""

from msgspec import Struct

from tidings.domain.errors import ConfigInvalid, StorageUnavailable
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("rights")
APP_ROLE = "tidings_app"


class Rights(Struct, frozen=True, kw_only=True):
    """What the role of a session may do, and which roles there are beside it."""

    role: str
    owner: str
    is_owner: bool
    is_superuser: bool
    bypasses_row_security: bool
    makes_roles: bool
    is_forced: bool
    is_blind: bool
    app_may_log_in: bool
    has_app: bool
    has_reader: bool
    app_has_rights: bool
    reader_has_rights: bool

    def are_complete(self, *, forced: bool) -> bool:
        """Whether every role has its rights, and row security is forced where that is asked for."""
        app = self.app_has_rights or not self.has_app
        reader = self.reader_has_rights or not self.has_reader
        return app and reader and (self.is_forced or not forced)

    def require_usable(self, *, forced: bool) -> None:
        """Refuse a role that sees no rows, and one that row security does not hold where it is to be forced."""
        if self.is_blind:
            raise StorageUnavailable(
                f"the role {self.role!r} does not own Tidings' tables, so row-level security hides their rows; "
                f"connect as {self.owner!r} or as {APP_ROLE!r}"
            )
        if not forced:
            return
        if not self.is_forced:
            raise ConfigInvalid(
                "TIDINGS_ROW_SECURITY is force, and the database does not force it: run 'tidings db migrate' "
                f"with that setting as {self.owner!r}"
            )
        if self.is_superuser or self.bypasses_row_security:
            what = "is a superuser" if self.is_superuser else "has BYPASSRLS"
            raise ConfigInvalid(
                f"TIDINGS_ROW_SECURITY is force, and the role {self.role!r} {what}, whom no policy holds: "
                "connect as a plain role"
            )


@_SQL.statement
async def read_rights(tx: Tx) -> Rights | None:
    """What this session's role may do; None where there are no tables."""


@_SQL.statement
async def set_rights(tx: Tx, *, forced: bool) -> None:
    """Give every role its rights; the session's role owns the tables."""
