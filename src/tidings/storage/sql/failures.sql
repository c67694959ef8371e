-- name: list_failures
-- What has failed in one shard of a workspace since then, the latest first: executions, with the call that failed them, and
-- items. One whose execution failed by it says so: it is left out later, for else a page would read past all of them.
-- Reads two indexes that hold nothing else.
(select e.id, e.failed_at as at, coalesce(e.error, '') as error, e.error_node as node, e.contact_id,
        e.id as execution_id, null::uuid as item_id, null::uuid as run_id, null::uuid as event_id,
        coalesce((select array[o.channel, o.provider, o.recipient]
                    from outbox o
                   where o.shard = :shard and substr(o.idempotency_key, 1, 8) = place_of(e.id) and o.execution_id = e.id
                     and o.node = e.error_node and o.status = 'failed'
                   limit 1), '{}') as call,
        false as is_repeated
   from executions e
  where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace
    and e.failed_at >= :failed_since and (e.failed_at, e.id) < (:failed_before, :before)
  order by e.failed_at desc, e.id desc
  limit :limit)
union all
(select o.id, o.failed_at, coalesce(o.error, ''), o.node, o.contact_id, o.execution_id, o.id, o.run_id, o.event_id,
        array[o.channel, o.provider, o.recipient],
        exists (select 1 from executions e
                 where e.shard = :shard and e.id = o.execution_id and e.status = 'failed' and e.error_node = o.node)
   from outbox o
  where o.shard = :shard and o.tenant_id = :tenant and o.workspace_id = :workspace
    and o.failed_at >= :failed_since and (o.failed_at, o.id) < (:failed_before, :before)
  order by o.failed_at desc, o.id desc
  limit :limit)
 order by at desc, id desc
 limit :limit;
