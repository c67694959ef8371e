"""What an administrator does to a whole database: bring it up to date, look at it, change who may do what, stop it.

Reached from cli/db.py and cli/secrets.py; wiring.py connects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tidings.config import Config, RowSecurity
from tidings.domain.errors import ConfigInvalid
from tidings.engine import Engine
from tidings.storage.address import checked_address, without_password
from tidings.storage.migrate import change_row_security, migrate, require_current, reset, rights_of, schema_state
from tidings.storage.rights import Rights
from tidings.storage.vault import add_key, drop_keys, fingerprint
from tidings.wiring import app_url, data_dir, opened_database, owner_url, running_database_url

__all__ = ["DatabaseStatus", "Rights"]


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """Where a database is, and which migrations it has and lacks."""

    url: str
    applied: Sequence[str]
    pending: Sequence[str]
    rights: Rights | None


async def migrate_database(config: Config) -> Sequence[str]:
    """Bring the tables up to date, and give roles their rights; return what was applied."""
    async with opened_database(config, as_owner=True) as db:
        return await migrate(db, shards=config.shards, forced=config.row_security is RowSecurity.FORCE)


async def database_status(config: Config) -> DatabaseStatus:
    """Look at a database without changing it, as the role that works with its rows."""
    async with opened_database(config, running_database_url) as db:
        state, rights = await schema_state(db), await rights_of(db)
        pending = [one.name for one in state.pending]
        return DatabaseStatus(without_password(db.dsn), state.applied, pending, rights)


async def reset_database(config: Config) -> None:
    """Remove everything Tidings owns, and make the tables anew."""
    async with opened_database(config, running_database_url, as_owner=True) as db:
        await reset(db)
        await migrate(db, shards=config.shards, forced=config.row_security is RowSecurity.FORCE)


async def set_row_security(config: Config, wanted: RowSecurity) -> None:
    """Force row security on the roles that work with rows, or lift it."""
    async with opened_database(config, running_database_url, as_owner=True) as db:
        await require_current(db)
        await change_row_security(db, forced=wanted is RowSecurity.FORCE)


async def shown_database_url(config: Config) -> str:
    """The address without its password."""
    return without_password(checked_address(await running_database_url(config)))


async def url_for_role(config: Config, role: Literal["app", "owner", "superuser"]) -> str:
    """The address, password included, for one of the roles; only the embedded server tells its superuser's."""
    found = await running_database_url(config)
    if role == "app":
        return app_url(config, found)
    if role == "owner":
        return owner_url(config, found)
    if config.database_url:
        raise ConfigInvalid("the superuser of the database at DATABASE_URL is its administrator's to tell")
    from tidings import embedded  # noqa: PLC0415

    return embedded.url_of(data_dir(config), found, embedded.SUPERUSER)


async def add_own_key(config: Config, engine: Engine) -> None:
    """Put a new key before those of the embedded server, unless the newest has not sealed everything yet.

    With keys of one's own, the first in TIDINGS_SECRET_KEY is the new one.
    """
    if config.secret_key or config.database_url:
        return
    found = await engine.secrets.status()
    if not any(one.secrets for one in found.keys if not one.seals):
        add_key(data_dir(config))
        engine.kernel.vault.refresh()


async def drop_old_keys(config: Config, engine: Engine) -> int:
    """Drop the embedded server's old keys that seal nothing any more; return how many."""
    if config.secret_key or config.database_url:
        raise ConfigInvalid(
            "the keys are those of TIDINGS_SECRET_KEY: remove the old ones there, where each process starts"
        )
    found = await engine.secrets.status()
    used = {one.key for one in found.keys if one.secrets}
    return drop_keys(data_dir(config), lambda key: fingerprint(key) in used)


async def stop_embedded(config: Config) -> bool:
    """Stop the embedded server; False when it was not running."""
    from tidings import embedded  # noqa: PLC0415
    from tidings.embedded.supervision import require_no_up  # noqa: PLC0415

    require_no_up(data_dir(config))
    return await embedded.stop(data_dir(config))
