"""Find an idempotency key that exists in two shards, which no unique index can refuse.

Reached from observe.py for `tidings verify`. Every shard's keys are read in order, some thousands at a time, and
compared: memory stays small however many there are.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import partial

from tidings.domain.flow.ids import Shard, Workspace
from tidings.kernel.kernel import Kernel
from tidings.storage import verify
from tidings.storage.database import Tx
from tidings.storage.verify import Offence

PAGE = 10_000


@dataclass(slots=True)
class _Reader:
    """One shard's keys of a workspace, as far as they have been read."""

    shard: Shard
    keys: list[bytes] = field(default_factory=list)
    after: bytes = b""
    is_at_end: bool = False

    async def fill(self, tx: Tx, workspace: Workspace) -> None:
        """Read the next keys, if all that were read are taken."""
        if self.keys or self.is_at_end:
            return
        self.keys = await verify.read_keys(
            tx, shard=self.shard, tenant=workspace.tenant, workspace=workspace.name, after=self.after, limit=PAGE
        )
        self.is_at_end = len(self.keys) < PAGE
        self.after = self.keys[-1] if self.keys else self.after

    def take(self, until: bytes) -> list[bytes]:
        """Take the keys up to and including this one."""
        place = bisect_right(self.keys, until)
        taken, self.keys = self.keys[:place], self.keys[place:]
        return taken


async def find_double_keys(kernel: Kernel, tx: Tx, limit: int) -> list[Offence]:
    """Return the items whose key another shard has, too."""
    shards = kernel.every_shard()
    whose = [await verify.workspaces_with_items(tx, shard=shard) for shard in shards]
    found: list[Offence] = []
    for workspace in sorted(set().union(*whose), key=str):
        readers = [_Reader(shard) for shard, held in zip(shards, whose, strict=True) if workspace in held]
        found += await _find_in(tx, workspace, readers, limit - len(found))
        if len(found) >= limit:
            break
    return found


async def _find_in(tx: Tx, workspace: Workspace, readers: list[_Reader], limit: int) -> list[Offence]:
    found: list[Offence] = []
    while len(readers) > 1 and len(found) < limit:
        for reader in readers:
            await reader.fill(tx, workspace)
        readers = [reader for reader in readers if reader.keys]
        # Beyond the lowest last key read, another shard's keys are not known yet.
        until = min((reader.keys[-1] for reader in readers), default=b"")
        first_in: dict[bytes, Shard] = {}
        for reader in readers:
            doubles = [key for key in reader.take(until) if first_in.setdefault(key, reader.shard) != reader.shard]
            for key in doubles[: limit - len(found)]:
                found.append(await _offence(tx, workspace, key, first_in[key], reader.shard))
    return found


async def _offence(tx: Tx, workspace: Workspace, key: bytes, first: Shard, second: Shard) -> Offence:
    find = partial(verify.find_item_of_key, tx, tenant=workspace.tenant, workspace=workspace.name, key=key)
    other, id = await find(shard=first), await find(shard=second)
    return Offence(id, f"has the idempotency key of {other}, which is in another shard")
