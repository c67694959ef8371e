-- part: enrollment_status
-- A cancel holds from the moment it is asked for: nothing more can be marked.
case when q.stop = 'cancel' then 'cancelled'
     else shown_status(e.status, q.stop, coalesce(e.started_at, q.started_at)) end

-- part: enrollment_columns
e.id, e.contact_id, e.workflow_id as sequence_id, w.name as sequence_name, w.paused as sequence_paused,
e.version_id, v.number as version, {enrollment_status} as status,
e.frontier #>> '{ready,0,0}' as next_node, (e.frontier #>> '{ready,0,1}')::timestamptz as next_at, e.error,
e.error_node, e.idempotency_key, e.created_at, e.ended_at

-- part: is_of_a_sequence
-- Not `=`: it would make an inner join of the left one.
w.kind is not distinct from 'sequence'

-- name: show_enrollments
-- Enrollments of a workspace by id.
select {enrollment_columns}
  from executions e
  {version_and_workflow}
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.id = any(:ids::uuid[]) and e.tenant_id = :tenant and e.workspace_id = :workspace
   and e.contact_id is not null and {is_of_a_sequence};

-- name: list_enrollments
-- One shard's enrollments in a sequence, newest first; reads the index of its enrollments from the end.
select {enrollment_columns}
  from executions e
  {version_and_workflow}
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.workflow_id = :workflow_id and e.contact_id is not null
   and e.tenant_id = :tenant and e.workspace_id = :workspace
   and (:statuses::text[] is null
        or {enrollment_status} = any(:statuses))
   and (:cursors::text[] is null or e.cursor = any(:cursors))
   and e.id >= :since and e.id < :before
 order by e.id desc
 limit :limit;

-- name: list_enrollments_of_contact
-- Every enrollment of a contact, in whatever sequence, newest first.
select {enrollment_columns}
  from executions e
  {version_and_workflow}
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.contact_id is not null and {whose_execution}
   -- Compared as the index has them.
   and (e.contact_id, e.id) >= (:contact_id, :since) and (e.contact_id, e.id) < (:contact_id, :before)
   and {is_of_a_sequence}
   and (:workflow_id::uuid is null or e.workflow_id is not distinct from :workflow_id)
   and (:statuses::text[] is null
        or {enrollment_status} = any(:statuses))
 order by e.contact_id desc, e.id desc
 limit :limit;

-- name: list_step_items
-- The items of one enrollment, in the order they were reserved.
select id, execution_id as enrollment_id, contact_id, node as step_id, channel, recipient, payload, status, in_doubt,
       attempts, error, retry_at, created_at, finalized_at
  from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = place_of(:execution_id) and execution_id = :execution_id
 order by id;

-- name: tally_messages
-- How many items of each of these enrollments have come to what, and the newest reason among them.
select execution_id, status, count(*) as messages, (array_agg(error order by id desc))[1] as error
  from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and execution_id = any(:ids::uuid[])
 group by execution_id, status;

-- name: list_step_items_of_contact
-- The items that sequences made for a contact, newest first.
select o.id, o.execution_id as enrollment_id, o.contact_id, o.node as step_id, o.channel, o.recipient, o.payload,
       o.status, o.in_doubt, o.attempts, o.error, o.retry_at, o.created_at, o.finalized_at
  from outbox o
  join executions e on e.shard = :shard and e.id = o.execution_id
  left join workflows w on w.id = e.workflow_id
 where o.shard = :shard and o.contact_id is not null and o.tenant_id = :tenant and o.workspace_id = :workspace
   and (o.contact_id, o.id) >= (:contact_id, :since) and (o.contact_id, o.id) < (:contact_id, :before)
   and o.execution_id is not null and {is_of_a_sequence}
 order by o.contact_id desc, o.id desc
 limit :limit;

-- name: list_step_items_of_step
-- The items of one step of a sequence in one shard, newest first. No other sequence has a step of this id.
select id, execution_id as enrollment_id, contact_id, node as step_id, channel, recipient, payload, status, in_doubt,
       attempts, error, retry_at, created_at, finalized_at
  from outbox
 where shard = :shard and node = :step_id and contact_id is not null and tenant_id = :tenant
   and workspace_id = :workspace and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_failed_attempts
-- The attempts of items that did not succeed.
select item_id, attempt, provider, outcome, error, started_at, ended_at
  from attempts
 where shard = :shard and item_id = any(:ids::uuid[])
 order by item_id, attempt;
