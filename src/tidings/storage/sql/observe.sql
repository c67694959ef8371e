-- name: list_attempts
-- What went wrong with one item, in order.
select attempt, provider, outcome, error, started_at, ended_at from attempts
 where shard = :shard and item_id = :item_id
 order by attempt;

-- name: list_audit
-- What was done to one thing, in order.
select event, actor, detail, at from audit_log
 where shard = :shard and subject_id = :subject_id
 order by at, id;

-- name: count_queue
-- One shard's live work by lane, and how much of it is due.
select lane, count(*) as live, count(*) filter (where due_at <= :now) as due, count(*) filter (where leased) as leased
  from queue
 where shard = :shard
 group by lane;

-- name: count_items
-- One shard's items by status.
select status, in_doubt, count(*) as items from outbox where shard = :shard group by status, in_doubt;

-- name: count_own_items
-- One shard's items of a workspace by status, found by their owners: the rows of others are not read. :run_ids are its
-- runs, which are in every shard. Not `execution_id =`: the planner must come from the owners.
select status, in_doubt, count(*) as items
  from (select o.status, o.in_doubt
          from executions e
          join outbox o on o.shard = :shard and substr(o.idempotency_key, 1, 8) = place_of(e.id)
                       and o.execution_id is not distinct from e.id and o.tenant_id = e.tenant_id
         where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace
        union all
        select o.status, o.in_doubt
          from events e
          join outbox o on o.shard = :shard and substr(o.idempotency_key, 1, 8) = place_of(e.id)
                       and o.event_id is not distinct from e.id and o.tenant_id = e.tenant_id
         where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace
        union all
        select o.status, o.in_doubt
          from outbox o
         where o.shard = :shard and o.run_id = any(:run_ids::uuid[]) and o.tenant_id = :tenant
           and o.workspace_id = :workspace) owned
 group by status, in_doubt;

-- name: list_own_runs
-- The runs of a workspace in one shard.
select id from runs where shard = :shard and tenant_id = :tenant and workspace_id = :workspace;

-- name: count_executions
-- One shard's executions by the state that people see. Those in their very first step, which no release has told of yet,
-- are found by their leases: joining every row of the queue would take minutes where millions sleep.
with starting as materialized (
    select count(*) as executions
      from queue q
      join executions e on e.shard = :shard and e.id = q.id and e.status = 'enqueued' and e.started_at is null
     where q.shard = :shard and q.leased and q.kind = 'execution' and q.started_at is not null
)
select shown_status(status, case when status = 'paused' then 'pause' end, started_at) as status, count(*) as executions
  from executions
 where shard = :shard
 group by 1
union all
select 'processing', executions from starting
union all
select 'enqueued', -executions from starting;

-- name: count_own_executions
-- One shard's executions of a workspace by the state that people see. Those that no release has told of yet are looked up
-- in the queue one by one, by their key: a join could read the queue of all others.
select shown_status(e.status, case when e.status = 'paused' then 'pause' end,
                    case when e.status = 'enqueued' and e.started_at is null
                         then (select q.started_at from queue q where q.shard = :shard and q.id = e.id and q.leased)
                         else e.started_at end) as status,
       count(*) as executions
  from executions e
 where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace
 group by 1;
