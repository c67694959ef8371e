"""Which stored secrets the keys of this process do not open: asked when an engine starts, and to forget them.

A process with a wrong key would fail every call that needs a secret, and seal new ones that no other process can open.
"""

from tidings.domain.errors import ConfigInvalid
from tidings.storage.connections import place_of_credentials
from tidings.storage.database import Database
from tidings.storage.directory import place_of, signing_place_of
from tidings.storage.functions import SIGNING, SealedSecret, list_sealed
from tidings.storage.vault import Vault

MOST_TRIED = 500
"""How many of the oldest and of the newest secrets are tried: some milliseconds at a start, however many are stored."""


async def unopened(db: Database, vault: Vault, *, most: int = MOST_TRIED) -> list[SealedSecret]:
    """Return those of the oldest and the newest `most` secrets that none of our keys opens."""
    async with db.autocommit() as tx:
        found = await list_sealed(tx, most=most)
    return [one for one in found if not vault.opens(one.sealed, _place_of(one))]


def _place_of(secret: SealedSecret) -> tuple[str, ...]:
    if secret.connection:
        return place_of_credentials(secret.workspace, str(secret.connection))
    if secret.function == SIGNING:
        return signing_place_of(secret.workspace)
    return place_of(secret.workspace, secret.function)


async def require_opened(db: Database, vault: Vault, key: str) -> None:
    """Refuse keys that do not open a stored secret; `key` says where they are from."""
    closed = await unopened(db, vault)
    if closed:
        more = f" and of {len(closed) - 1} more" if len(closed) > 1 else ""
        fault = f"{key} does not open" if vault.has_key else f"{key} is not set, so nothing opens"
        raise ConfigInvalid(
            f"{fault} the stored secret of {closed[0]}{more}; set TIDINGS_SECRET_KEY to the key that sealed it "
            "(several with commas between, the newest first); if that key is lost, run 'tidings db forget-secrets'"
        )
