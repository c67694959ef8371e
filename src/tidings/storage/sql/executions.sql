-- name: show_executions
-- Executions of a workspace by id, as a person sees them; one that is tried again shows what went wrong the last time.
select {execution_columns}, {execution_columns_in_queue}, coalesce(e.error, f.error) as error,
       coalesce(e.error_node, f.node) as error_node
  from executions e
  {version_and_workflow}
  left join queue q on q.shard = :shard and q.id = e.id
  left join (
      select distinct on (o.execution_id) o.execution_id, o.node, o.error, o.retry_at from outbox o
       where o.shard = :shard and substr(o.idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
         and o.execution_id = any(:ids::uuid[]) and o.status = 'queued' and o.error is not null and o.attempts > 0
       order by o.execution_id, o.retry_at, o.id desc
       -- An item held in doubt is shown only where the walk still stands at its node.
  ) f on f.execution_id = e.id and e.ended_at is null and (f.retry_at is not null or f.node = e.cursor)
 where e.shard = :shard and e.id = any(:ids::uuid[]) and e.tenant_id = :tenant and e.workspace_id = :workspace;

-- name: list_executions
-- One shard's executions, newest first; reads one index from its end.
select {execution_columns}, {execution_columns_in_queue}, e.error, e.error_node
  from executions e
  {version_and_workflow}
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace
   and (:status::text is null or e.status = :status)
   and (:workflow_id::uuid is null or e.workflow_id is not distinct from :workflow_id)
   and e.id >= :since and e.id < :before
 order by e.id desc
 limit :limit;

-- name: list_live_executions
-- One shard's executions that go on, newest first; reads the queue, which holds nothing else, and not the many that ended.
select {execution_columns}, {execution_columns_in_queue}, e.error, e.error_node
  from queue q
  left join executions e on e.shard = :shard and e.id = q.id
  {version_and_workflow}
 where q.shard = :shard and q.kind = 'execution' and {whose_execution}
   -- The few that are paused are told apart before their executions are read.
   and (:status::text <> 'paused' or q.stop = 'pause')
   and shown_status(e.status, q.stop, coalesce(e.started_at, q.started_at)) = :status
   and (:workflow_id::uuid is null or e.workflow_id is not distinct from :workflow_id)
   and q.id >= :since and q.id < :before
 order by q.id desc
 limit :limit;

-- name: list_executions_of_contact
-- One shard's executions for a contact, newest first; reads the index of contacts, whose rows are compared as it has them.
select {execution_columns}, {execution_columns_in_queue}, e.error, e.error_node
  from executions e
  {version_and_workflow}
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.contact_id is not null and {whose_execution}
   and (e.contact_id, e.id) >= (:contact_id, :since) and (e.contact_id, e.id) < (:contact_id, :before)
   and (:status::text is null or shown_status(e.status, q.stop, coalesce(e.started_at, q.started_at)) = :status)
   and (:workflow_id::uuid is null or e.workflow_id is not distinct from :workflow_id)
   and (:error::text is null or position(lower(:error) in lower(e.error)) > 0)
 order by e.contact_id desc, e.id desc
 limit :limit;

-- name: list_failed_executions
-- One shard's dead letters, newest first; reads the index of those that failed.
select {execution_columns}, e.status, e.started_at, e.error, e.error_node, null::timestamptz as due_at, false as leased,
       null::text as stop
  from executions e
  {version_and_workflow}
 where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace and e.status = 'failed'
   and e.error_node is not null
   and (:workflow_id::uuid is null or e.workflow_id is not distinct from :workflow_id)
   and (:error::text is null or position(lower(:error) in lower(e.error)) > 0)
   and (:node::text is null or e.error_node = :node)
   and (:ids::uuid[] is null or e.id = any(:ids))
   and e.id >= :since and e.id < :before
 order by e.id desc
 limit :limit;

-- name: list_open_providers
-- The providers of the due items of executions; doubt is for a person or the provider to end.
select distinct execution_id, provider
  from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and execution_id = any(:ids::uuid[]) and status = 'queued' and not in_doubt and (retry_at is null or retry_at <= :now);

-- name: list_execution_log
-- What the nodes of an execution that are not sends did.
select node, status, saw, output, error, started_at, at, seen from execution_log
 where shard = :shard and execution_id = :execution_id
 order by at, node;

-- name: list_execution_items
-- Every item of an execution with what became of it.
select id, node, ordinal, channel, provider, recipient, payload, status, in_doubt, attempts, provider_message_id as message_id, error,
       result, retry_at, created_at, first_marked_at, finalized_at, seen
  from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = place_of(:execution_id) and execution_id = :execution_id
 order by created_at, id;

-- name: list_execution_attempts
-- The attempts of an execution's items that did not succeed.
select a.item_id, a.attempt, a.provider, a.outcome, a.error, a.started_at, a.ended_at
  from attempts a
 where a.shard = :shard
   and a.item_id = any(array(select o.id from outbox o
                              where o.shard = :shard and substr(o.idempotency_key, 1, 8) = place_of(:execution_id)
                                and o.execution_id = :execution_id))
 order by a.item_id, a.attempt;
