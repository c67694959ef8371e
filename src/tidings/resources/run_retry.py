"""Try again what failed in a run, and nothing else: a plan first, then a new run of exactly those items.

The old run stays as it is. Items that were sent or are in doubt are never included, nor are those of an earlier retry:
the key of a retried item names the failed one, so the unique index admits it once.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from uuid import UUID, uuid4

from tidings.domain.caller import Caller
from tidings.domain.errors import Conflict, InputInvalid
from tidings.domain.flow.ids import Shard, Workspace
from tidings.domain.flow.keys import retry_key
from tidings.domain.storable import is_storable
from tidings.kernel.campaigns.retry_turn import find_last_retry
from tidings.kernel.campaigns.start_run import Deployment, RetriedRun, deploy, find_run
from tidings.kernel.kernel import Kernel
from tidings.kernel.start.trigger import Started
from tidings.storage import deploy as storage
from tidings.storage import runs
from tidings.storage.deploy import FailedItem
from tidings.views.runs import Retry

BATCH = 1_000
MOST_NAMED = 100
LONGEST_ERROR = 2_000
MOST_IDS = 10_000


@dataclass(frozen=True, slots=True)
class RetryFilter:
    """Which failed items; every condition that is given must hold."""

    error: str | None = None
    """A part of the error's text, in upper or lower case."""
    ids: tuple[UUID, ...] | None = None


def read_where(text: str) -> RetryFilter:
    """Read a filter as it is written on the command line: `error=429`."""
    name, given, value = text.partition("=")
    if not given or name.strip() != "error" or not value.strip():
        raise InputInvalid(f"--where {text!r}: write it like error=429, with a part of the error's text")
    return RetryFilter(error=value.strip())


async def plan_retry(kernel: Kernel, workspace: Workspace, run_id: UUID, where: RetryFilter) -> Retry:
    """Count what would be sent again, shard by shard, for the answer to a dry run."""
    _check(where)
    errors: Counter[str] = Counter()
    before = 0
    for shard in kernel.every_shard():
        after: UUID | None = None
        while True:
            failed = await _read(kernel, shard, run_id, where, after)
            keys = {retry_key(item.id): item for item in failed}
            look = partial(storage.find_retried, shard=shard, workspace=workspace, keys=list(keys))
            taken = {*await kernel.db.persist(look, alone=True)} if keys else set()
            errors.update(item.error or "" for key, item in keys.items() if key not in taken)
            before += len(taken)
            if len(failed) < BATCH:
                break
            after = failed[-1].id
    by_error = dict(errors.most_common(MOST_NAMED))
    return Retry(count=errors.total(), by_error=by_error, retried_before=before, dry_run=True)


async def start_retry(
    kernel: Kernel,
    caller: Caller,
    run_id: UUID,
    where: RetryFilter,
    idempotency_key: str | None,
    rate_per_minute: int | None = None,
) -> tuple[Started, Retry]:
    """Start a run of what failed; the same key returns the same run. Of two at once, one raises Conflict.

    A rate replaces the old run's, where that is not slower.
    """
    if idempotency_key is not None:
        existing = await find_run(kernel, caller.workspace, idempotency_key)
        if existing is not None:
            return Started(existing, duplicate=True), await plan_retry(kernel, caller.workspace, run_id, where)
    last = await find_last_retry(kernel, run_id)  # read before the plan, so that a retry that comes after it is noticed
    plan = await plan_retry(kernel, caller.workspace, run_id, where)
    if not plan.count:
        raise Conflict(_why_nothing(run_id, plan))

    find = partial(runs.show_runs, shard=kernel.shard_of(run_id), workspace=caller.workspace, ids=[run_id])
    [old] = await kernel.db.persist(find, alone=True)
    deployment = Deployment(
        campaign_id=old.campaign_id,
        idempotency_key=idempotency_key or f"retry:{run_id}:{uuid4()}",
        channel=old.channel,
        content=old.content,
        content_id=old.content_id,
        rate_per_minute=min((rate for rate in (old.rate, rate_per_minute) if rate), default=None),
        retry=RetriedRun(run_id, where.error, where.ids, last),
        data=old.data,
        is_test=old.is_test,
    )
    return await deploy(kernel, caller, deployment), plan


def _why_nothing(run_id: UUID, plan: Retry) -> str:
    if plan.retried_before:
        return f"all {plan.retried_before:,} failed items of run {run_id} that match were tried again before"
    return f"run {run_id} has no failed item that matches, so there is nothing to try again"


async def _read(kernel: Kernel, shard: Shard, run_id: UUID, where: RetryFilter, after: UUID | None) -> list[FailedItem]:
    read = partial(
        storage.read_failed_items,
        shard=shard,
        run_id=run_id,
        after=after,
        error=where.error,
        ids=where.ids,
        limit=BATCH,
    )
    return await kernel.db.persist(read, alone=True)


def _check(where: RetryFilter) -> None:
    if where.error is not None and (len(where.error) > LONGEST_ERROR or not is_storable(where.error)):
        raise InputInvalid(f"where.error: use at most {LONGEST_ERROR:,} characters, none of them NUL")
    if where.ids is not None and len(where.ids) > MOST_IDS:
        raise InputInvalid(f"where.ids has {len(where.ids):,} ids: use at most {MOST_IDS:,}")
