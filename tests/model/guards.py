"""The statements of storage/sql/ as pure functions of the rows they read: what each may write, and when.

Each function names its statement. tests/model/test_conformance.py runs both side by side on a real PostgreSQL, so a
guard that is changed there and not here fails. A function gives back what it was given where its guard says no.
"""

from typing import Final, NamedTuple

from tests.model.states import Fact, Item, Row, Status, Time

LATER: Final[Time] = "later"
NEVER: Final[Time] = "none"


class Wish(NamedTuple):
    """What mark_items is given about one item."""

    fence: int
    attempt: int
    attempts: int
    again: bool


def holds(row: Row | None, fence: int) -> bool:
    """The join of every move: `queue q on q.id = t.owner and q.fence = t.fence`."""
    return row is not None and row.fence == fence


def claim(row: Row | None) -> Row | None:
    """claim.sql: claim_due. None where nothing is due."""
    if row is None or not row.due:
        return None
    return Row(row.fence + 1, leased=True, due=False, wake=False, stop=row.stop, crashes=row.crashes + row.leased)


def reread(row: Row | None, fence: int) -> bool:
    """claim.sql: reread_claim. The expiry that names a claim stands for its fence."""
    return row is not None and row.fence == fence and row.leased


def renew(row: Row | None, fence: int) -> Row | None:
    """claim.sql: renew_leases. None where the lease is lost."""
    if row is None or row.fence != fence or not row.leased:
        return None
    return row._replace(due=False)


def give_back(row: Row | None, fence: int) -> Row | None:
    """claim.sql: give_back_leases."""
    if row is None or row.fence != fence:
        return row
    return row._replace(due=False, fence=fence + 1, leased=False, wake=False)


def reserve(row: Row | None, item: Item | None, fence: int, *, wish: bool = False) -> Item | None:
    """outbox.sql: reserve_items; with the wish for a mark, which a stopped owner's item does not get."""
    if item is not None or row is None or row.fence != fence:
        return item
    return Item(marked_attempt=1, marked_fence=fence, marked=True, attempts=1) if wish and not row.stop else Item()


def reread_reserved(row: Row | None, item: Item | None, fence: int) -> bool:
    """outbox.sql: reread_reserved, asked by whoever wrote the row."""
    if item is None or not holds(row, fence) or item.status != "queued" or item.in_doubt:
        return False
    return item.marked_attempt == 0 or (item.marked_attempt == 1 and item.marked_fence == fence and item.marked)


def may_mark(row: Row | None, item: Item, wish: Wish) -> bool:
    """outbox.sql: the guard of mark_items."""
    if row is None or row.fence != wish.fence or row.stop:
        return False
    if item.status != "queued" or item.in_doubt != wish.again:
        return False
    is_fresh = item.marked_attempt == wish.attempt - 1 and not item.marked
    is_own = item.marked_attempt == wish.attempt and item.marked_fence == wish.fence and item.marked
    return is_fresh or is_own


def mark(row: Row | None, item: Item, wish: Wish) -> Item:
    """outbox.sql: mark_items."""
    return written_mark(item, wish) if may_mark(row, item, wish) else item


def written_mark(item: Item, wish: Wish) -> Item:
    """outbox.sql: what mark_items sets."""
    return Item(item.status, wish.attempt, wish.fence, True, wish.attempts, item.in_doubt, "none")


def unmark(row: Row | None, item: Item, fence: int, attempt: int, *, doubtful: bool) -> tuple[Row | None, Item]:
    """outbox.sql: unmark_items. A fact, so without a lease."""
    is_own = item.marked_attempt == attempt and item.marked_fence == fence != 0  # null equals nothing
    if item.status != "queued" or not is_own or not (item.marked or item.in_doubt):
        return row, item
    is_lost = row is not None and row.fence != fence
    unmarked = item._replace(
        marked=False,
        marked_fence=0,
        attempts=max(item.attempts - item.marked, 0),
        in_doubt=item.in_doubt and (doubtful or not is_lost),
    )
    return (_woken(row) if row is not None and is_lost else row), unmarked


def settle(item: Item, status: Status) -> Item:
    """outbox.sql: settle_unmarked_items. Without a lease: what is not marked has no call to be contradicted by."""
    if item.status != "queued" or item.marked or item.in_doubt:
        return item
    return item._replace(status=status, retry="none")


def takes_fact(item: Item, fact: Fact) -> bool:
    """finalize.sql: the guard of finalize_items."""
    if item.status != "queued" or item.marked_attempt != fact.attempt:
        return False
    return item.marked or fact.status != "queued"


def finalize(row: Row | None, item: Item, fact: Fact) -> tuple[Row | None, Item]:
    """finalize.sql: finalize_items. A fact, so without a lease."""
    if not takes_fact(item, fact):
        return row, item
    is_open = fact.status == "queued"
    finalized = item._replace(
        status=fact.status,
        in_doubt=is_open and (item.in_doubt or fact.unknown),
        marked=item.marked and not is_open,
        attempts=max(item.attempts - (not fact.uses_attempt), 0),
        retry=fact.retry,
    )
    if row is None:
        return None, finalized
    told = row._replace(crashes=0)
    return (told if row.fence == fact.fence else _woken(told)), finalized


def doubt(row: Row | None, item: Item, fence: int, attempt: int) -> Item:
    """finalize.sql: doubt_items."""
    if not holds(row, fence) or item.status != "queued" or item.marked_attempt != attempt or not item.marked:
        return item
    return item._replace(in_doubt=True, marked=False, attempts=max(item.attempts - 1, 0))


def schedule(row: Row | None, item: Item, fence: int, retry: Time) -> Item:
    """finalize.sql: schedule_doubtful_items."""
    return item._replace(retry=retry) if holds(row, fence) and item.in_doubt else item


def clear(row: Row | None, item: Item, fence: int, attempt: int) -> Item:
    """finalize.sql: clear_doubtful_items."""
    if not holds(row, fence) or not item.in_doubt or item.marked_attempt != attempt:
        return item
    return item._replace(in_doubt=False, marked=False, retry="none")


def release(row: Row | None, fence: int, due: Time, *, stop: bool) -> tuple[Row | None, bool]:
    """release.sql: release_executions; `due` is none where the owner leaves the queue. And whether it moved."""
    if row is None or row.fence != fence:
        return row, False
    if due == "none" and not row.wake and row.stop == stop:
        return None, True
    return _let_go(row, due, stop=stop), True


def release_job(row: Row | None, fence: int, due: Time, *, stop: bool, is_done: bool) -> tuple[Row | None, bool]:
    """release.sql: release_jobs. A job with nothing open leaves the queue, whoever would wake it."""
    if row is None or row.fence != fence:
        return row, False
    return (None if is_done else _let_go(row, due, stop=stop)), True


def release_run(row: Row | None, fence: int, due: Time, *, stop: bool, has_ended: bool) -> tuple[Row | None, bool]:
    """release.sql: release_runs. A run that has ended leaves the queue: all its jobs are done."""
    return release_job(row, fence, due, stop=stop, is_done=has_ended)


def _let_go(row: Row, due: Time, *, stop: bool) -> Row:
    is_due = row.wake or row.stop != stop or due == "due"
    return Row(row.fence + 1, leased=False, due=is_due, wake=False, stop=row.stop, crashes=0)


def wake(row: Row, at: Time) -> Row:
    """release.sql: wake_owner. A lease keeps its expiry: whoever has it looks again at its end."""
    return row._replace(due=row.due or (at == "due" and not row.leased), wake=row.wake or row.leased)


def cancel(row: Row) -> Row:
    """resolve.sql: stop_owner, asked to cancel."""
    return _woken(row._replace(stop=True))


def _woken(row: Row) -> Row:
    """What a fact and a person's word do to the owner: due now, or right after the lease somebody has."""
    return row._replace(due=row.due or not row.leased, wake=row.wake or row.leased)
