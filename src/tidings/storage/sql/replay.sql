-- name: lock_queue_rows
-- Locks the existing rows of executions about to be reopened, in the order release takes them; claims pass them by.
select id, leased from queue
 where shard = :shard and id = any(:ids::uuid[])
 order by id
   for update;

-- name: lock_failed_executions
-- Of two replays at once the second waits here, and then finds an execution that has not failed.
select e.id, e.version_id, e.frontier, e.vars, e.error, e.error_node, v.lane
  from executions e
  left join workflow_versions v on v.id = e.version_id
 where e.shard = :shard and e.id = any(:ids::uuid[]) and e.tenant_id = :tenant and e.workspace_id = :workspace
   and e.status = 'failed'
 order by e.id
   for update of e;

-- name: tried_items
-- The items of executions, and whether the last call for each has an answer that can be relied on.
select o.execution_id, o.id, o.node, o.status, o.in_doubt, o.marked_attempt as marks,
       coalesce((select a.outcome in ('unknown', 'crashed')
                   from attempts a
                  where a.shard = :shard and a.item_id = o.id
                  order by a.attempt desc
                  limit 1), false) as is_uncertain
  from outbox o
 where o.shard = :shard and substr(o.idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and o.execution_id = any(:ids::uuid[]);

-- name: enqueue_reopened
-- Inserts the rows of reopened executions. A fence must be above every earlier one, or a worker from before would
-- take the new lease for its own. A row that a worker holds is refused: its release would undo the reopening.
insert into queue as held (shard, id, kind, lane, due_at, workspace_hash, fence)
select e.shard, e.id, 'execution', t.lane, t.due_at, workspace_hash(e.tenant_id, e.workspace_id), :fence
  from unnest(:ids::uuid[], :lanes::smallint[], :due_at::timestamptz[]) as t(id, lane, due_at)
  join executions e on e.shard = :shard and e.id = t.id
 where e.shard = :shard
    on conflict (shard, id) do update
   set due_at = excluded.due_at, fence = held.fence + 1, wake = false, stop = null, crashes = 0
 where not held.leased
returning held.id;

-- name: reopen_failed_executions
-- The only edge from failed to enqueued.
update executions e
   set status = 'enqueued', frontier = t.frontier, cursor = t.cursor, vars = t.vars, attempts = 0, error = null,
       error_node = null, ended_at = null, reopened_at = :now
  from unnest(:ids::uuid[], :frontiers::jsonb[], :cursors::text[], :vars::jsonb[]) as t(id, frontier, cursor, vars)
 where e.shard = :shard and e.id = t.id and e.status = 'failed'
returning e.id;

-- name: requeue_items
-- Fresh attempts for items whose calls came to nothing. The number of marks goes up as if one had been made and taken
-- back, so that a fact about an earlier call, repeated by a worker that was frozen, fits no more.
update outbox
   set status = 'queued', attempts = 0, error = null, retry_at = null, finalized_at = null, result = null,
       marked_attempt = marked_attempt + 1, marked_fence = null, marked_at = null, first_marked_at = null
 where shard = :shard and id = any(:ids::uuid[]) and status = 'failed'
returning id;

-- name: forget_items
-- Items that no call was ever marked for, of a node that is planned anew; the new ones have the same keys.
delete from outbox
 where shard = :shard and id = any(:ids::uuid[]) and status = 'failed' and marked_attempt = 0
returning id;

-- name: forget_log
-- What the log says of nodes that are walked again.
delete from execution_log l
 using unnest(:ids::uuid[], :nodes::text[]) as t(id, node)
 where l.shard = :shard and l.execution_id = t.id and l.node = t.node;
