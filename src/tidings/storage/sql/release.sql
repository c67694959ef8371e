-- name: release_executions
-- Moves executions on and ends their lease, where the fence is still ours. `wake`, and a `stop` set since the claim,
-- are obeyed here: the row is due at once instead of when it asked to be, and an execution does not end by a walk that
-- had not heard of the stop. Its results are kept; the next worker to claim it ends it as cancelled, or leaves it paused.
with moved as materialized (
    select q.id, q.wake or q.stop is distinct from t.stop as due_now, t.status, t.frontier, t.cursor, t.vars, t.attempts,
           t.error, t.error_node, t.ended_at, t.due_at, q.started_at,
           t.ended_at is not null and q.stop is distinct from t.stop as held_back
      from unnest(
               :ids::uuid[], :fences::bigint[], :stops::text[], :statuses::text[], :frontiers::jsonb[], :cursors::text[],
               :vars::jsonb[], :attempts::smallint[], :errors::text[], :error_nodes::text[], :ended_at::timestamptz[],
               :due_at::timestamptz[]
           ) as t(id, fence, stop, status, frontier, cursor, vars, attempts, error, error_node, ended_at, due_at)
      join queue q on q.shard = :shard and q.id = t.id and q.fence = t.fence
     where q.shard = :shard
       for update of q
),
executed as (
    update executions e
       set frontier = m.frontier, vars = m.vars, attempts = m.attempts, started_at = coalesce(e.started_at, m.started_at),
           status = case when m.held_back then e.status else m.status end,
           cursor = case when m.held_back then e.cursor else m.cursor end,
           error = case when m.held_back then e.error else m.error end,
           error_node = case when m.held_back then e.error_node else m.error_node end,
           ended_at = case when m.held_back then e.ended_at else m.ended_at end
      from moved m
     where e.shard = :shard and e.id = m.id
    returning e.id
),
gone as (
    delete from queue q using moved m
     where q.shard = :shard and q.id = m.id and m.due_at is null and not m.due_now
    returning q.id
),
kept as (
    update queue q
       set due_at = case when m.due_now then :now else coalesce(m.due_at, :now) end, fence = q.fence + 1, leased = false,
           wake = false, crashes = 0
      from moved m
     where q.shard = :shard and q.id = m.id and (m.due_at is not null or m.due_now)
    returning q.id
)
-- Nearly always none: then no row is looked for.
select t.id
  from unnest(:ids::uuid[]) as t(id)
 where (select count(*) from moved) < cardinality(:ids::uuid[]) and t.id not in (select id from moved);

-- name: insert_execution_log
-- What nodes other than sends saw and did.
insert into execution_log (
    shard, execution_id, tenant_id, workspace_id, node, visit, status, output, at, saw, started_at, error, seen
)
select e.shard, e.id, e.tenant_id, e.workspace_id, t.node, 1, t.status, t.output, t.at, t.saw, t.started_at, t.error,
       t.seen
  from unnest(
           :ids::uuid[], :nodes::text[], :statuses::text[], :outputs::jsonb[], :at::timestamptz[], :saw::jsonb[],
           :started_at::timestamptz[], :errors::text[], :seen::jsonb[]
       ) as t(id, node, status, output, at, saw, started_at, error, seen)
  join executions e on e.shard = :shard and e.id = t.id
 where e.shard = :shard
    on conflict do nothing;

-- name: release_jobs
-- Ends the lease of jobs. Whether a job is done is read from its counts here, since facts may have come from elsewhere.
with held as materialized (
    -- Jobs before the queue, as facts and people's decisions take them: another order would deadlock with those.
    select j.id, j.run_id, j.planned - j.sent - j.called - j.posted - j.failed - j.skipped as open, j.failed, j.planned
      from jobs j
     where j.shard = :shard and j.id = any(:ids::uuid[])
       for update
),
moved as materialized (
    select q.id, h.run_id, h.open, h.failed, h.planned, q.wake or q.stop is distinct from t.stop as due_now, t.due_at,
           t.dead, t.error
      from unnest(
               :ids::uuid[], :fences::bigint[], :stops::text[], :due_at::timestamptz[], :dead::boolean[],
               :errors::text[]
           ) as t(id, fence, stop, due_at, dead, error)
      join held h on h.id = t.id
      join queue q on q.shard = :shard and q.id = t.id and q.fence = t.fence
     where q.shard = :shard
       for update of q
),
worked as (
    update jobs j
       set status = case when m.open > 0 then 'queued'
                         -- Only death writes an error, and doubt may have kept the job open since.
                         when m.dead or j.error is not null then 'dead'
                         when m.failed = 0 then 'completed'
                         when m.failed = m.planned then 'failed'
                         else 'partial' end,
           error = coalesce(m.error, j.error),
           ended_at = case when m.open = 0 then :now::timestamptz end
      from moved m
     where j.shard = :shard and j.id = m.id
    returning j.id, j.run_id, j.status
),
gone as (
    delete from queue q using moved m
     where q.shard = :shard and q.id = m.id and m.open = 0
    returning q.id
),
kept as (
    update queue q
       set due_at = case when m.due_now then :now else m.due_at end, fence = q.fence + 1, leased = false, wake = false,
           crashes = 0
      from moved m
     where q.shard = :shard and q.id = m.id and m.open > 0
    returning q.id
)
select id, run_id, status from worked;

-- name: release_runs
-- Writes what a run has come to and ends its lease; a terminal run leaves the queue.
with moved as materialized (
    select q.id, q.wake or q.stop is distinct from t.stop as due_now, t.status, t.planned, t.ended_at, t.due_at
      from unnest(
               :ids::uuid[], :fences::bigint[], :stops::text[], :statuses::text[], :planned::integer[],
               :ended_at::timestamptz[], :due_at::timestamptz[]
           ) as t(id, fence, stop, status, planned, ended_at, due_at)
      join queue q on q.shard = :shard and q.id = t.id and q.fence = t.fence
     where q.shard = :shard
       for update of q
),
rolled as (
    update runs r
       set status = m.status, planned = m.planned, ended_at = m.ended_at,
           started_at = case when m.status = 'queued' then r.started_at else coalesce(r.started_at, :now) end,
           -- Only planning reads which failures a retry is for; a part of an error may quote an address.
           retry_where = case when m.planned is null then r.retry_where end
      from moved m
     where r.shard = :shard and r.id = m.id
    returning r.id
),
gone as (
    delete from queue q using moved m
     where q.shard = :shard and q.id = m.id and m.ended_at is not null
    returning q.id
),
kept as (
    update queue q
       set due_at = case when m.due_now then :now else m.due_at end, fence = q.fence + 1, leased = false, wake = false,
           crashes = 0
      from moved m
     where q.shard = :shard and q.id = m.id and m.ended_at is null
    returning q.id
)
select id from moved;

-- name: wake_owner
-- Asks for a row to be looked at by :at: now if it sleeps, right after its lease if a worker holds it.
update queue
   set due_at = case when leased then due_at else least(due_at, :at) end, wake = wake or leased
 where shard = :shard and id = :id
returning id;
