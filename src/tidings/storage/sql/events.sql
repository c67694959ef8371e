-- part: event_columns
id, tenant_id as tenant, workspace_id as workspace, trigger, idempotency_key, data, decisions, job_id, source,
created_at, routed_at

-- name: add_event
-- Stores an event with its contacts, its job and what that sends, and makes the job due; nothing where its key is taken.
select add_event(
    :shard, :given::jsonb, :hash, :event_contact_ids::uuid[], :audiences::text[], :status, :failed, :skipped, :lane, :due_at,
    :ids::uuid[], :ordinals::bigint[], :channels::text[], :providers::text[], :recipients::text[], :payloads::jsonb[],
    :statuses::text[], :keys::bytea[], :planned_at::timestamptz[], :max_attempts::smallint[], :errors::text[],
    :contact_ids::uuid[]
) as is_new;

-- name: find_event_by_key
-- The event that took the key first.
select {event_columns}
  from events
 where shard = :shard and key_hash = :hash and tenant_id = :tenant and workspace_id = :workspace
   and trigger = :trigger and idempotency_key = :key;

-- name: add_event_items
-- What an event's rules want sent, once a worker has routed it.
select add_event_items(
    :shard, :job_id, :now, :ids::uuid[], :ordinals::bigint[], :channels::text[], :providers::text[], :recipients::text[],
    :payloads::jsonb[], :statuses::text[], :keys::bytea[], :planned_at::timestamptz[], :max_attempts::smallint[],
    :errors::text[], :contact_ids::uuid[]
);

-- name: load_unrouted_events
-- Events that SQL stored and that are not routed yet.
select {event_columns}
  from events
 where shard = :shard and id = any(:ids::uuid[]) and routed_at is null;

-- name: route_event
-- Writes down what a worker has decided, once, and under its lease on the event's job.
update events e
   set decisions = :decisions::jsonb, routed_at = :now
  from queue q
 where e.shard = :shard and e.id = :id and e.routed_at is null
   and q.shard = :shard and q.id = e.job_id and q.fence = :fence
returning e.id;

-- name: plan_event_job
-- The counts of a job whose event has just been routed.
update jobs
   set planned = :planned, failed = :failed, skipped = :skipped
 where shard = :shard and id = :id;

-- name: load_event_items
-- The open items of events' jobs, and how the rules stand that they come from: decisions name both. A fallback has none.
with open_items as materialized (
    select o.id, o.job_id, o.ordinal, o.channel, o.provider, o.recipient, o.payload, o.status, o.in_doubt,
           o.idempotency_key, o.attempts, o.retry_at, o.marked_attempt, o.marked_at, o.first_marked_at,
           o.provider_message_id, o.error, o.result, o.tenant_id, o.workspace_id, o.contact_id, o.max_attempts,
           case when o.channel <> 'function' then (
               select (t.decision ->> 'ruleId')::uuid
                 from jsonb_array_elements(e.decisions) as t(decision)
                where t.decision -> 'items' ? o.id::text
           ) end as rule_id
      from outbox o
      join events e on e.shard = :shard and e.id = o.event_id
     where o.shard = :shard and substr(o.idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
       and o.event_id = any(:ids::uuid[]) and o.status = 'queued'
)
select o.id, o.job_id as owner, '' as node, o.ordinal, o.channel, o.provider, o.recipient, o.payload,
       o.status, o.in_doubt, o.idempotency_key, o.attempts, o.retry_at, o.marked_attempt, o.marked_at,
       o.first_marked_at, o.provider_message_id, o.error, o.result, o.tenant_id, o.workspace_id, o.contact_id,
       o.max_attempts, o.rule_id, r.enabled
  from open_items o
  left join rules r on r.id = o.rule_id
 order by o.ordinal;

-- name: find_event
-- One event as a person sees it.
select {event_columns}
  from events
 where shard = :shard and id = :id and tenant_id = :tenant and workspace_id = :workspace;

-- name: list_events
-- One shard's events, newest first.
select {event_columns}
  from events
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace
   and (:trigger::text is null or trigger = :trigger)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_events_of_contact
-- One shard's events that name a contact, as any of their people, newest first.
select {event_columns}
  from events
 where shard = :shard and tenant_id is not distinct from :tenant
   and workspace_id is not distinct from :workspace
   -- An array and no join: a plan may come to an event only from the contact, and never the other way round.
   and id = any(array(select c.event_id from event_contacts c where c.shard = :shard and c.contact_id = :contact_id))
   and (:trigger::text is null or trigger = :trigger)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_event_items
-- The items of events, in their order, whatever became of them.
select o.event_id, o.id, o.ordinal, o.channel, o.provider, o.recipient, o.payload, o.status, o.in_doubt,
       o.attempts + case when o.in_doubt then (
           -- The worker died in its last call: that attempt is not counted, but it is the one in doubt.
           select count(*) from attempts a
            where a.shard = :shard and a.item_id = o.id and a.attempt = o.marked_attempt and a.outcome = 'crashed'
       ) else 0 end as attempts,
       o.max_attempts, coalesce(o.retry_at, o.planned_at, o.created_at) as run_at, o.marked_at,
       o.provider_message_id as message_id, o.error, o.contact_id, o.created_at, o.finalized_at
  from outbox o
 where o.shard = :shard and substr(o.idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and o.event_id = any(:ids::uuid[])
 order by o.event_id, o.ordinal;
