-- part: own_queue
queue q where q.shard = :shard and q.lane = t.lane
                      -- Rows are compared as the index has them: `=` would let a plan go through everybody's backlog.
                      and (q.workspace_hash, q.due_at) >= (:workspace_hash, '-infinity'::timestamptz)

-- name: write_call_counts
-- Writes how many calls of a worker ended in which way in a minute, counted from its beginning: safe to repeat.
insert into call_counts (tenant_id, workspace_id, minute, worker_id, channel, outcome, calls)
select t.tenant, t.workspace, t.minute, :worker_id, t.channel, t.outcome, t.calls
  from unnest(:tenants::text[], :workspaces::text[], :minutes::timestamptz[], :channels::text[], :outcomes::text[],
              :calls::integer[]) as t(tenant, workspace, minute, channel, outcome, calls)
    on conflict (tenant_id, workspace_id, minute, worker_id, channel, outcome) do update
   set calls = greatest(call_counts.calls, excluded.calls);

-- name: forget_call_counts
-- Deletes the counts of minutes that nobody looks at any more.
delete from call_counts where minute < :minute;

-- name: list_call_counts
-- The calls of a workspace in the last minutes, by channel and outcome.
select minute as at, channel, outcome, sum(calls)::integer as count
  from call_counts
 where tenant_id = :tenant and workspace_id = :workspace and minute >= :minute
 group by minute, channel, outcome
 order by minute, channel, outcome;

-- name: sum_call_counts
-- The calls of a workspace since a minute, by outcome.
select outcome, sum(calls)::integer as calls
  from call_counts
 where tenant_id = :tenant and workspace_id = :workspace and minute >= :minute
 group by outcome;

-- name: look_at_own_queue
-- What a workspace has in some lanes of one shard: when the first of it was due, how much is due, and how many executions and
-- runs there are, up to :most of each. It reads the workspace's part of the index, and no more of that than it counts.
select t.lane,
       (select q.due_at from {own_queue} and (q.workspace_hash, q.due_at) <= (:workspace_hash, :now)
         order by q.workspace_hash, q.due_at
         limit 1) as due_since,
       (select count(*)
          from (select 1 from {own_queue} and (q.workspace_hash, q.due_at) <= (:workspace_hash, :now)
                 limit :most) as counted)::integer as due,
       (select count(*)
          from (select 1 from {own_queue} and (q.workspace_hash, q.due_at) <= (:workspace_hash, 'infinity'::timestamptz)
                   and q.kind <> 'job'
                 limit :most) as counted)::integer as live
  from unnest(:lanes::smallint[]) as t(lane)
 order by t.lane;

-- name: count_own_doubt
-- How many items of a workspace are in doubt in one shard, up to :most; reads the index of those.
select count(*)::integer as items
  from (select 1 from outbox
         where shard = :shard and in_doubt and tenant_id = :tenant and workspace_id = :workspace
         limit :most) as doubtful;

-- name: count_own_failures
-- How much of a workspace has failed in one shard since then, up to :most: executions, and the items of runs and events.
select (select count(*)
          from (select 1 from executions
                 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and failed_at >= :failed_since
                 limit :most) as failed)::integer
     + (select count(*)
          from (select 1 from outbox
                 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and failed_at >= :failed_since
                   and execution_id is null
                 limit :most) as failed)::integer as failures;
