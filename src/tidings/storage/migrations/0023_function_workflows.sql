-- Who made a workflow; what history knows of those that are there already.
alter table workflows add column created_by text;
update workflows w
   set created_by = a.actor
  from audit_log a
 where a.subject_id = w.id and a.subject_kind in ('workflow', 'sequence') and a.event = 'created';

-- 004's correlation_id is unique in the workspace, whatever workflow it starts; other keys belong to their workflow. Their
-- bucket has always been made without the workflow, so both are in one shard and one index can tell.
alter table executions add column correlated boolean;
-- Until now each workflow could use the same correlation_id once: the first that did is the one it stands for. The others
-- are still found by whoever repeats them, since an execution of the workflow itself is looked for first.
update executions e
   set correlated = true
  from (
      select distinct on (shard, tenant_id, workspace_id, idempotency_key) shard, id
        from executions
       where triggered_by = 'frontend'
       order by shard, tenant_id, workspace_id, idempotency_key, id
  ) first
 where e.shard = first.shard and e.id = first.id;
create unique index executions_correlated on executions (shard, tenant_id, workspace_id, idempotency_key) where correlated;

-- The names of 004, so that whoever knows its tables finds definitions and executions under them.

-- What 004 calls the context of an execution: the caller's data, and of steps what each has given, by its number and, as
-- far as neither the data nor another step has such a name, by its own fields. As Graph.accumulated in domain/flow/graph.py.
create function execution_context(definition jsonb, input jsonb, vars jsonb) returns jsonb
    language sql immutable parallel safe
    return (
        with walked as (
            select s.number - 1 as number, s.step ->> 'name' as name, vars -> (s.step ->> 'name') as result
              from jsonb_array_elements(case when definition ? 'steps' then definition -> 'steps' else '[]' end)
                   with ordinality as s(step, number)
             where vars ? (s.step ->> 'name')
        ),
        judged as (
            select number, name, result,
                   coalesce(result ->> 'status' = 'failed' and result ?& array['error', 'messageId', 'at'], false) as failed
              from walked
        ),
        given as (
            select j.number, f.name, f.value
              from judged j
             cross join jsonb_each(case when jsonb_typeof(j.result) = 'object' and not j.failed then j.result else '{}' end)
                   as f(name, value)
        )
        select coalesce((select jsonb_object_agg(name, value order by number) from given), '{}')
               || (vars - coalesce((select array_agg(name) from judged where failed), '{}'))
               || coalesce((select jsonb_object_agg('step_' || number || '_result', result) from judged where not failed), '{}')
               || coalesce((select jsonb_object_agg('step_' || number || '_error', result -> 'error') from judged where failed),
                           '{}')
               || input
    );

create view workflow_definitions as
select w.id, w.name, w.description, coalesce(v.definition -> 'steps', v.definition -> 'nodes') as steps,
       array(select jsonb_array_elements_text(
                 coalesce(v.definition -> 'requiredFields', v.definition -> 'required_fields', '[]'))) as required_fields,
       ceil(coalesce((coalesce(v.definition ->> 'timeoutSeconds', v.definition ->> 'timeout_seconds'))::numeric,
                     case when v.form = 'steps' then 300 end))::integer as timeout_seconds,
       ceil(coalesce((coalesce(v.definition ->> 'visibilityTimeout', v.definition ->> 'visibility_timeout'))::numeric,
                     60))::integer as visibility_timeout,
       coalesce((v.definition #>> '{retry,attempts}')::numeric - 1,
                (coalesce(v.definition ->> 'maxRetries', v.definition ->> 'max_retries'))::numeric,
                case when v.form = 'steps' then 3 else 2 end)::integer as max_retries,
       w.active, w.created_at, w.updated_at, w.created_by, v.number as version, w.tenant_id, w.workspace_id
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
 where w.kind = 'workflow' and w.deleted_at is null
   and v.number = (select max(n.number) from workflow_versions n where n.workflow_id = w.id);

create view workflow_executions as
select e.id, w.name as workflow_name, v.number as workflow_version,
       case when e.ended_at is not null then e.status
            when e.status = 'paused' or e.started_at is null then 'pending'
            else 'running' end as status,
       case when e.status = 'completed' then greatest(v.total_steps - 1, 0)
            else least((select count(*) from jsonb_object_keys(e.vars) as passed(node)
                         where passed.node is distinct from e.error_node)::integer,
                       greatest(v.total_steps - 1, 0)) end as current_step,
       v.total_steps, e.input as input_payload, execution_context(v.definition, e.input, e.vars) as context,
       coalesce(e.error, f.error) as error_message, coalesce(e.error_node, f.node) as error_step,
       greatest(e.attempts - 1, 0) as retry_count, e.created_at, e.started_at, e.ended_at as completed_at,
       e.idempotency_key as correlation_id, e.triggered_by, e.tenant_id, e.workspace_id
  from executions e
  join workflow_versions v on v.id = e.version_id
  join workflows w on w.id = e.workflow_id and w.kind = 'workflow'
  -- What is tried again says what went wrong the last time.
  left join lateral (
      select o.error, o.node from outbox o
       where o.shard = e.shard and o.execution_id = e.id and o.status = 'queued' and o.error is not null
       order by o.retry_at, o.id
       limit 1
  ) f on e.ended_at is null and e.attempts > 0;

do $$
begin
    -- Before 15 a view reads with its owner's rights, which would show everything.
    if current_setting('server_version_num')::integer >= 150000
       and exists (select 1 from pg_roles where rolname = 'tidings_reader') then
        alter view workflow_definitions set (security_invoker = true);
        alter view workflow_executions set (security_invoker = true);
        grant select on workflow_definitions, workflow_executions to tidings_reader;
    end if;
end
$$;
