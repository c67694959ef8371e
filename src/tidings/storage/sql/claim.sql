-- name: claim_due
-- Leases up to :limit rows of one shard and lane. The lease is a fence, not a flag: every later move must present it.
-- :since keeps it from walking past what earlier claims left in the index. One row says up to when it has taken all.
with due as materialized (
    -- Filter and order share one index prefix, so a million rows that are not due cost nothing.
    select id, due_at, leased or crashes > 0 as suspect
      from queue
     where shard = :shard and lane = :lane and due_at between :since and :now
       and {not_passed}
     order by due_at
     limit :limit
       for update skip locked
),
{lease_due};

-- name: reread_claim
-- What a claim took whose answer was lost: no two claims ask for the same microsecond of expiry.
select id, kind, fence, crashes, stop, workspace_hash
  from queue
 where shard = :shard and lane = :lane and due_at = :lease_until and leased;

-- name: next_due
-- When one shard's lanes have work next, from where claims begin; each part reads one entry of the index.
select (select min(due_at) from queue where shard = :shard and lane = 0 and due_at >= :transactional) as transactional,
       (select min(due_at) from queue where shard = :shard and lane = 1 and due_at >= :sequences) as sequences,
       (select min(due_at) from queue where shard = :shard and lane = 2 and due_at >= :campaigns) as campaigns,
       (select min(due_at) from queue where shard = :shard and lane = 3 and due_at >= :runs) as runs;

-- name: give_back_leases
-- Ends leases with nothing done, and without counting a crash: the obstacle was not the rows' fault.
update queue
   set due_at = :due_at, fence = queue.fence + 1, leased = false, wake = false
  from unnest(:ids::uuid[], :fences::bigint[]) as t(id, fence)
 where queue.shard = :shard and queue.id = t.id and queue.fence = t.fence
returning queue.id;

-- name: renew_leases
-- Moves the expiry of leases that are still ours, and returns which were stopped meanwhile.
update queue
   set due_at = :lease_until
  from unnest(:ids::uuid[], :fences::bigint[]) as t(id, fence)
 where queue.shard = :shard and queue.id = t.id and queue.fence = t.fence
   and queue.leased
returning queue.id, queue.stop;
