"""Every measure against a query planner that guesses wrong, and why each is there.

What the kernel asks is always the same: join a small batch to rows by their key. One plan is right for that, an index
scan for each row of the batch, however large the tables are. The planner may not find it, because it plans by what it
believes of the tables, and here that is often wrong: they begin empty, grow by a hundred thousand rows in a burst, and
run empty again. A wrong plan reads a whole shard for each row of a batch: 13 ms for an item instead of 0.1. So:

1. It is told statistics before the first row (schema.sql, "What the planner is told"). Without any it takes one shard
   for one part in two hundred of a table; marking 100 items took 29 ms instead of 2 on a new database.
   What it learns later is bounded, too: how many shards, tenants and workspaces there are is said for every look, or
   from four rows it would learn that a shard has one, and any index that begins with it would do.
2. It may not choose what reads whole tables (PLANNER_SETTINGS, on every connection): without sequential scans, hash and
   merge joins there is one plan to find. Only our own statements run on these connections.
3. Plans are forgotten every five seconds, before a connection is used (PlansAnew). A prepared statement keeps the plan
   that was made while its table was small; after a burst of 200,000 rows such a plan took seconds.
   Until then a plan serves every call, whatever it asks for (`plan_cache_mode`): left to itself PostgreSQL plans the
   first five calls anew, and for ever what seems cheaper with the values known, as a list of one id does.
4. A queue that is taken for empty is analyzed (kernel/planner.py). Vacuum notes how full pages are; where it came by
   when the queue had run empty, the planner believes so until autovacuum comes by, a minute later or more. Rejected:
   statements that no belief can mislead. Six were rewritten so and held; twenty others that join the queue did not.
5. Some statements say it twice or in another way. `mark_items` in outbox.sql names the owners twice: a job has hundreds
   of items, and a mark cost 36 µs instead of 9 while too few jobs waited for the fourth measure. Naming the batch twice
   everywhere was three times slower. `claim_due` in claim.sql takes an array in place of a join, as a plan that does
   not know the limit would read the shard. `find_enrollments` in enroll.sql hides the sequence, which may have a
   million executions, so that the plan comes from the contacts, who have few.
   Where a row is found by its id or its owner, its workspace is compared with `is not distinct from`, which no index
   serves, and definitions are joined from the left, so that no plan comes from a workspace or a workflow.
   `(contact_id, id) < (…)` is compared as the index has it: the order by id alone would find a contact's newest by
   walking through everybody's.
6. A row's shard is computed in place: `shard_count()` in migrate.sql is strict, or both functions of the check on every
   hot table would be called for each row; that took 5 µs of some 25.
7. Rows are written where they stand: pages of `executions` and `outbox` are filled to 40 and 44 % (`fillfactor` in
   schema.sql), so that an update stays on its page, and the indexes that every plan above relies on hear nothing of it.
8. Claims begin where the last one ended (kernel/process/claim_floor.py): no plan helps against index entries of rows
   that are gone and cannot be cleaned up yet.

tests/storage/test_plans.py asks PostgreSQL for the plan of every statement, kept or new, analyzed or not, and
tests/storage/test_young_statistics.py runs those that read where tables were analyzed with a handful of rows.
"""

import time

import asyncpg

PLANNER_SETTINGS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "random_page_cost": "1.1",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}
REPLAN_SECONDS = 5.0


class PlansAnew(asyncpg.Connection):
    """A connection that keeps no plan for longer than a few seconds."""

    _planned_at: float | None = None  # never a number to begin with: the monotonic clock of a young machine is near 0

    async def forget_old_plans(self) -> None:
        """Before each use: a plan made when a table was small reads a whole shard once it is large."""
        now = time.monotonic()
        if self._planned_at is None:
            self._planned_at = now  # a new connection has no plans
        elif now - self._planned_at >= REPLAN_SECONDS:
            await self.execute("discard plans")
            self._planned_at = now
