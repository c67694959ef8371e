-- Workflows as people manage them: what a version asks of its triggers, what a node saw, and lists by workspace.

alter table workflows add column description text;
create index workflows_listed on workflows (tenant_id, workspace_id, id) where deleted_at is null;

-- What starting an execution needs to know of its version without reading the definition.
alter table workflow_versions
    add column form text,
    add column required jsonb not null default '[]',
    add column entry text,
    add column entry_wait interval,
    add column total_steps integer,
    add column lane smallint not null default 0;

-- What was frozen before is a graph. Its durations passed our own check, which takes no more than PostgreSQL does.
update workflow_versions v
   set form = 'graph',
       total_steps = jsonb_array_length(v.definition -> 'nodes'),
       entry = coalesce(v.definition ->> 'entryNodeId', v.definition ->> 'entry_node_id'),
       entry_wait = (
           select coalesce((node ->> 'duration')::interval,
                           coalesce(node ->> 'delayMs', node ->> 'delay_ms')::double precision * interval '1 millisecond')
             from jsonb_array_elements(v.definition -> 'nodes') as node
            where node ->> 'id' = coalesce(v.definition ->> 'entryNodeId', v.definition ->> 'entry_node_id')
              and node ->> 'type' = 'delay'
       );

alter table workflow_versions
    alter column form set not null,
    alter column entry set not null,
    alter column total_steps set not null,
    add constraint workflow_versions_form_check check (form in ('graph', 'steps')),
    add constraint workflow_versions_lane_check check (lane between 0 and 3);

-- An execution that was reopened has its whole time again.
alter table executions add column reopened_at timestamptz;
create index executions_listed on executions (shard, tenant_id, workspace_id, id);

-- Dead letters. Only a failure sets error_node, so an execution that succeeds is still updated in place.
create index executions_failed on executions (shard, tenant_id, workspace_id, id) where error_node is not null;

alter table outbox add column result jsonb;

alter table execution_log
    add column saw jsonb,
    add column started_at timestamptz;

alter table audit_log
    drop constraint audit_log_subject_kind_check,
    add constraint audit_log_subject_kind_check check (
        subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter')
    );

-- The state a person sees. A pause holds from the moment it is asked for: nothing more can be marked. domain/words.py
-- has each product's words for it.
create function shown_status(status text, stop text, leased boolean, cursor text, entry text) returns text
    language sql immutable parallel safe
    return case when status in ('completed', 'failed', 'cancelled') then status
                when stop = 'pause' then 'paused'
                when leased or cursor <> entry then 'processing'
                else 'enqueued' end;

-- As 0002 did for the hot tables: a thousand rows for a moment, so that the planner looks up keys from the first day.
create temporary table sample_log on commit drop as
select (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000' || lpad(to_hex(number), 12, '0'))::uuid as id
  from (select number, (number * 37) % 4096 as bucket from generate_series(1, 1000) as number) as numbers;

insert into execution_log (shard, execution_id, node, visit, status, at)
select shard, id, 'node', 1, 'completed', timestamptz '2026-01-01' from sample_log;

analyze execution_log;

delete from execution_log l using sample_log s where l.shard = s.shard and l.execution_id = s.id;
