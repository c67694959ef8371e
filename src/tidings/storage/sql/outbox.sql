-- name: reserve_items
-- Writes the items of a node, for owners whose lease still holds. What exists already is the plan and stays. An item
-- that will be called at once gets its first mark in the same row, unless its owner was stopped meanwhile. Where no
-- item is for a contact, :contact_ids and :skips are empty, and cost nothing; so is :seen where no way runs beside.
insert into outbox as new (
    shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider, recipient, payload,
    status, skipped, idempotency_key, error, created_at, finalized_at, marked_attempt, attempts, marked_fence, marked_at,
    first_marked_at, contact_id, seen
)
select q.shard, t.id, e.tenant_id, e.workspace_id, e.id, t.node, t.visit, t.ordinal, t.channel, t.provider,
       t.recipient, t.payload, case when t.error is null then 'queued' when t.skip then 'skipped' else 'failed' end,
       coalesce(t.skip, false), t.idempotency_key, t.error, :now,
       case when t.error is not null then :now::timestamptz end, (t.mark and q.stop is null)::integer,
       (t.mark and q.stop is null)::integer, case when t.mark and q.stop is null then t.fence end,
       case when t.mark and q.stop is null then :now::timestamptz end,
       case when t.mark and q.stop is null then :now::timestamptz end, t.contact_id, t.seen
  from unnest(
           :ids::uuid[], :owners::uuid[], :fences::bigint[], :nodes::text[], :visits::smallint[], :ordinals::bigint[],
           :channels::text[], :providers::text[], :recipients::text[], :payloads::jsonb[], :keys::bytea[],
           :errors::text[], :marks::boolean[], :contact_ids::uuid[], :skips::boolean[], :seen::jsonb[]
       ) as t(id, owner, fence, node, visit, ordinal, channel, provider, recipient, payload, idempotency_key, error, mark,
              contact_id, skip, seen)
  join queue q on q.shard = :shard and q.id = t.owner and q.fence = t.fence
  join executions e on e.shard = :shard and e.id = t.owner
 where q.shard = :shard
    on conflict do nothing
returning new.id, new.marked_at is not null as marked;

-- name: reread_reserved
-- What an insert whose answer was lost has written: rows by our own ids, under a lease that is still ours, with the mark
-- they were given. A worker that has taken them for orphans since holds another fence.
select o.id, o.marked_at is not null as marked
  from unnest(:ids::uuid[], :owners::uuid[], :fences::bigint[]) as t(id, owner, fence)
  join queue q on q.shard = :shard and q.id = t.owner and q.fence = t.fence
  join outbox o on o.shard = :shard and o.id = t.id
 where o.shard = :shard and o.status = 'queued' and not o.in_doubt
   and (o.marked_attempt = 0 or (o.marked_attempt = 1 and o.marked_fence = t.fence and o.marked_at is not null));

-- name: mark_items
-- Sets the mark that must be committed before the first byte. Guarded by the lease, by `stop`, and by the very state
-- the decision was made on: never marked for this attempt, or (after an unknown commit) marked for it by this lease.
-- The owners are named twice (storage/planner.py), or all of a queue that is taken for empty is compared with each item.
update outbox o
   set marked_attempt = t.attempt, marked_fence = t.fence, marked_at = :now,
       first_marked_at = coalesce(o.first_marked_at, :now), attempts = t.attempts,
       payload = coalesce(o.payload, t.payload), retry_at = null, planned_at = coalesce(o.retry_at, o.planned_at)
  from unnest(
           :ids::uuid[], :owners::uuid[], :fences::bigint[], :attempt_numbers::smallint[], :attempts::smallint[],
           :payloads::jsonb[], :again::boolean[]
       ) as t(id, owner, fence, attempt, attempts, payload, again)
  join queue q on q.shard = :shard and q.id = any(:owners) and q.id = t.owner and q.fence = t.fence and q.stop is null
 where o.shard = :shard and o.id = t.id
   and o.status = 'queued' and o.in_doubt = t.again
   and ((o.marked_attempt = t.attempt - 1 and o.marked_at is null)
        or (o.marked_attempt = t.attempt and o.marked_fence = t.fence and o.marked_at is not null))
returning o.id, o.payload;

-- name: move_items
-- Another connection for items that cannot have arrived: no call is under way, none is in doubt, and the lease holds. The key
-- and the payload stay. Safe to repeat: what has moved already is returned again.
update outbox o
   set provider = t.provider
  from unnest(
           :ids::uuid[], :owners::uuid[], :fences::bigint[], :attempt_numbers::smallint[], :before::text[], :providers::text[]
       ) as t(id, owner, fence, attempt, before, provider)
  join queue q on q.shard = :shard and q.id = any(:owners) and q.id = t.owner and q.fence = t.fence
 where o.shard = :shard and o.id = t.id
   and o.status = 'queued' and o.marked_at is null and not o.in_doubt
   and o.marked_attempt = t.attempt and o.provider in (t.before, t.provider)
returning o.id;

-- name: unmark_items
-- Takes back marks whose call never started; what was in doubt before stays so. A fact: a worker that has the owner by
-- now took the mark for a call, so that doubt ends and the owner looks again.
with lost as materialized (
    -- An execution that has ended since has no row and would not look again: its item stays in doubt.
    select q.id
      from unnest(:owners::uuid[], :fences::bigint[]) as t(owner, fence)
      join queue q on q.shard = :shard and q.id = t.owner and q.fence <> t.fence
     where q.shard = :shard
       for update of q
),
unmarked as (
    update outbox o
       set marked_at = null, marked_fence = null,
           -- The worker that took the mark for a crash has uncounted the attempt already.
           attempts = greatest(o.attempts - (o.marked_at is not null)::integer, 0),
           in_doubt = o.in_doubt and (t.doubtful or t.owner not in (select id from lost))
      from unnest(:ids::uuid[], :owners::uuid[], :fences::bigint[], :attempt_numbers::smallint[], :doubtful::boolean[])
           as t(id, owner, fence, attempt, doubtful)
     where o.shard = :shard and o.id = t.id and o.status = 'queued'
       and o.marked_attempt = t.attempt and o.marked_fence = t.fence and (o.marked_at is not null or o.in_doubt)
    returning o.id, t.owner
),
woken as (
    update queue q
       set due_at = case when q.leased then q.due_at else least(q.due_at, :now) end, wake = q.wake or q.leased
      from (select distinct owner from unmarked) u
     where q.shard = :shard and q.id = u.owner and q.id in (select id from lost)
    returning q.id
)
select id from unmarked;

-- name: settle_unmarked_items
-- Skips or fails items that no call was ever started for, or whose calls are known to have come to nothing.
with settled as (
    update outbox o
       set status = t.status, skipped = t.status = 'skipped', error = t.error, retry_at = null, finalized_at = :now,
           planned_at = coalesce(o.retry_at, o.planned_at)
      from unnest(:ids::uuid[], :statuses::text[], :errors::text[]) as t(id, status, error)
     where o.shard = :shard and o.id = t.id and o.status = 'queued'
       and o.marked_at is null and not o.in_doubt
    returning o.id, o.job_id, o.status
),
counted as (
    update jobs j
       set failed = j.failed + d.failed, skipped = j.skipped + d.skipped
      from (select job_id, count(*) filter (where status = 'failed') as failed,
                   count(*) filter (where status = 'skipped') as skipped
              from settled
             group by job_id) d
     where j.shard = :shard and j.id = d.job_id
    returning j.id
)
select id from settled
union all
-- Settled by an earlier try whose answer was lost.
select o.id
  from unnest(:ids::uuid[], :statuses::text[]) as t(id, status)
  join outbox o on o.shard = :shard and o.id = t.id and o.status = t.status
 where o.shard = :shard and o.id = any(:ids::uuid[]);
