"""A chunk of a retry: what failed in another run is tried again under a key of its own, once and for all.

Reached from plan_audience.py. Only items that failed are read, never one that was sent or is in doubt; the key names
the failed item, so no two retries send the same one. A contact gets the retry at their current address.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.campaigns.campaign import spread
from tidings.domain.channels import Channel
from tidings.domain.flow.ids import Shard, bucket_of_id
from tidings.domain.flow.keys import retry_key
from tidings.domain.people.contact import ERASED, LoadedContact, addresses_of, lack_of, most_addresses
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import load_people
from tidings.storage import deploy
from tidings.storage.database import Tx
from tidings.storage.deploy import FailedItem, NewItem, NewJob, RunPart
from tidings.storage.load import LoadedRun


@dataclass(frozen=True, slots=True)
class RetryChunk:
    """Some failed items, the contacts they were for, and the cursor after them."""

    items: list[FailedItem]
    people: Mapping[UUID, LoadedContact]
    cursor: int
    cursor_id: UUID | None
    finished: bool

    async def write(
        self, kernel: Kernel, tx: Tx, shard: Shard, run: LoadedRun, part: RunPart, now: datetime
    ) -> list[NewJob]:
        """Write an item for each that no retry has tried again yet; return their job."""
        if not self.items or run.retry_of is None:
            return []
        # Of the failed items, not of this run: their keys say it, and every retry of one has the same key.
        job_id = kernel.new_id(bucket_of_id(self.items[0].id), now)
        wanted = [self._again(kernel, shard, run, part, place, job_id, now) for place in range(len(self.items))]
        written = await deploy.insert_job_items(
            tx,
            shard=shard,
            run_id=run.id,
            tenant=run.tenant,
            workspace=run.workspace,
            channel=run.channel,
            provider=run.provider,
            items=wanted,
            now=now,
        )
        new = [item for item in wanted if item.id in written]
        if not new:
            return []
        await self._copy_data(tx, shard, run, run.retry_of)
        skipped = sum(1 for item in new if item.error)
        due_at = min((item.retry_at or now for item in new if not item.error), default=now)
        return [NewJob(job_id, len(new), skipped, max(now, due_at))]

    def _again(
        self, kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart, place: int, job_id: UUID, now: datetime
    ) -> NewItem:
        failed = self.items[place]
        address, error = self._address(run.channel, failed)
        rate = run.rate_per_minute
        return NewItem(
            id=kernel.new_id(bucket_of_id(failed.id), now),
            job_id=job_id,
            ordinal=failed.ordinal,
            recipient=address,
            contact_id=failed.contact_id,
            error=error,
            key=retry_key(failed.id),
            retry_at=run.begins_at + spread(part.planned + place, shard, kernel.shards, rate) if rate else None,
        )

    def _address(self, channel: Channel, failed: FailedItem) -> tuple[str, str | None]:
        """The address to use now, or why there is none: the address may be what failed."""
        if failed.contact_id is None:
            return failed.recipient, None if failed.recipient else ERASED
        person = self.people.get(failed.contact_id)
        addresses = addresses_of(person.data, channel) if person else []
        if failed.recipient in addresses:
            return failed.recipient, None
        # A contact with several addresses has an item for each, and each item is tried again by itself.
        return (addresses[0], None) if addresses and most_addresses(channel) == 1 else ("", lack_of(channel))

    async def _copy_data(self, tx: Tx, shard: Shard, run: LoadedRun, retry_of: UUID) -> None:
        ordinals = [item.ordinal for item in self.items if item.contact_id is None]
        if ordinals:
            people = await deploy.read_people(tx, shard=shard, run_id=retry_of, ordinals=ordinals)
            await deploy.copy_audience(tx, shard=shard, run_id=run.id, people=people)


async def read_chunk(kernel: Kernel, shard: Shard, run: LoadedRun, part: RunPart) -> RetryChunk:
    """Read the next failed items of another run."""
    where, of, size = run.retry_where or {}, run.retry_of, kernel.limits.job_size
    if of is None:
        raise AssertionError(f"run {run.id} is a retry of no run")
    error, ids = where.get("error"), where.get("ids")
    items = await kernel.db.persist(
        lambda tx: deploy.read_failed_items(
            tx,
            shard=shard,
            run_id=of,
            after=part.cursor_id,
            error=error if isinstance(error, str) else None,
            ids=[UUID(str(id)) for id in ids] if isinstance(ids, list) else None,
            limit=size,
        ),
        alone=True,
    )
    people = await load_people(kernel, [item.contact_id for item in items if item.contact_id])
    cursor = items[-1].id if items else part.cursor_id
    return RetryChunk(items, people, part.cursor, cursor, finished=len(items) < size)
