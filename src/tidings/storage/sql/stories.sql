-- name: read_words
-- What some messages of a workspace say in a few words, and the workflow or sequence that sent them.
select o.id,
       left(coalesce(o.payload ->> 'subject', o.payload ->> 'title', o.payload ->> 'text', o.payload ->> 'body',
                     o.payload ->> 'script'), 120) as words,
       e.workflow_id, w.kind = 'sequence' as is_step
  from outbox o
  left join executions e on e.shard = :shard and e.id = o.execution_id
  left join workflows w on w.id = e.workflow_id -- as in record_parts.sql
 where o.shard = :shard and o.id = any(:ids::uuid[]) and o.tenant_id = :tenant and o.workspace_id = :workspace;
