-- name: claim_due_of
-- Leases up to :limit rows of one shard and lane that are one workspace's, however long its backlog and those of others are.
with due as materialized (
    select id, due_at, leased or crashes > 0 as suspect
      from queue
     -- Rows are compared as the index has them: `workspace_hash =` would let a plan go through everybody's backlog.
     where shard = :shard and lane = :lane and (workspace_hash, due_at) >= (:workspace_hash, :since)
       and (workspace_hash, due_at) <= (:workspace_hash, :now)
       and {not_passed}
     order by workspace_hash, due_at
     limit :limit
       for update skip locked
),
{lease_due};

-- name: claim_due_of_some
-- The same of several workspaces that have little. They are found one by one and locked by their keys: before PostgreSQL 17
-- `workspace_hash = any(…)` reads what sleeps, too.
with found as materialized (
    select queue.id
      from unnest(:workspace_hashes::bigint[]) as turn(workspace_hash)
      join queue on queue.shard = :shard and queue.lane = :lane
       and (queue.workspace_hash, queue.due_at) >= (turn.workspace_hash, :since)
       and (queue.workspace_hash, queue.due_at) <= (turn.workspace_hash, :now)
     where queue.shard = :shard
     limit :limit
),
due as materialized (
    select id, due_at, leased or crashes > 0 as suspect
      from queue
     where shard = :shard and id = any(array(select id from found)) and lane = :lane and due_at between :since and :now
       and {not_passed}
       for update skip locked
),
{lease_due};

-- name: find_due_workspaces
-- Whose work one shard and lane holds, in the order of their hashes, and how much of it is due, up to :most: it goes from
-- one workspace to the next through the index, and reads neither a backlog nor what sleeps. :limit of them, after :after.
with recursive found (workspace_hash, number) as (
    select (select min(workspace_hash) from queue
             where shard = :shard and lane = :lane and workspace_hash > :after and due_at >= :since), 1
    union all
    select (select min(queue.workspace_hash) from queue
             where shard = :shard and lane = :lane and queue.workspace_hash > found.workspace_hash and due_at >= :since),
           found.number + 1
      from found
     where found.workspace_hash is not null and found.number < :limit
)
select found.workspace_hash,
       -- Rows are compared as the index has them: `workspace_hash =` would let a plan go through everybody's backlog.
       (select due_at
          from queue
         where shard = :shard and lane = :lane and (queue.workspace_hash, due_at) >= (found.workspace_hash, :since)
         order by queue.workspace_hash, due_at
         limit 1) as due_at,
       (select count(*)
          from (select 1
                  from queue
                 where shard = :shard and lane = :lane and (queue.workspace_hash, due_at) >= (found.workspace_hash, :since)
                   and (queue.workspace_hash, due_at) <= (found.workspace_hash, :now)
                 order by queue.workspace_hash, due_at
                 limit :most) as counted)::integer as due
  from found
 where found.workspace_hash is not null;
