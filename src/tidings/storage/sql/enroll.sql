-- name: find_next_contacts
-- The next contacts of a shard that match, in the order of their ids.
select c.id
  from {found}
   and {matching}
 order by c.id
 limit :limit;

-- name: enroll_contacts
-- Enrolls contacts in one version of a sequence for the first time, each at the first time of its zone, in the order of
-- their ids. A contact enrolled before is left out, and so is one with a zone that is not among :zones.
insert into executions as new (
    shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, key_hash, status, frontier, cursor,
    input, triggered_by, created_at, contact_id
)
select c.shard, enrollment_id(:milliseconds, c.id, '1', :salt), c.tenant_id, c.workspace_id, :workflow_id, :version_id,
       c.id::text || ':1', key_hash(:key_scope, c.id::text || ':1'), 'enqueued',
       (:frontiers::jsonb[])[coalesce(array_position(:zones::text[], c.time_zone), 1)],
       :cursor, '{}', :triggered_by, :now, c.id
  from contacts c
 where c.shard = :shard and c.id = any(:contact_ids::uuid[]) and c.tenant_id = :tenant and c.workspace_id = :workspace
   and c.deleted_at is null and (not :by_zone or c.time_zone is null or c.time_zone = any(:zones::text[]))
 order by c.id
    on conflict (shard, key_hash) do nothing
returning new.id;

-- name: insert_enrollments
-- Enrolls contacts in one version of a sequence, each under the key of the contact and of how often it has been in it by
-- then; one whose key is taken, or who was deleted since it was picked, is left out. :frontiers are numbered by :plans.
insert into executions as new (
    shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, key_hash, status, frontier, cursor,
    input, triggered_by, created_at, contact_id
)
select c.shard, t.id, c.tenant_id, c.workspace_id, :workflow_id, :version_id, c.id::text || ':' || t.number,
       key_hash(:key_scope, c.id::text || ':' || t.number), 'enqueued', (:frontiers::jsonb[])[t.plan], :cursor, '{}',
       :triggered_by, :now, c.id
  from unnest(:ids::uuid[], :contact_ids::uuid[], :numbers::text[], :plans::integer[])
       as t(id, contact_id, number, plan)
  join contacts c on c.shard = :shard and c.id = t.contact_id
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
    on conflict (shard, key_hash) do nothing
returning new.id;

-- name: enqueue_enrollments
-- Inserts the queue rows of new enrollments: at one moment, or without one each at its contact's first time.
insert into queue (shard, id, kind, lane, due_at, workspace_hash)
select e.shard, e.id, 'execution', :lane, coalesce(:due_at, (e.frontier #>> '{ready,0,1}')::timestamptz), :workspace_hash
  from executions e
 where e.shard = :shard and e.id = any(:ids::uuid[])
    on conflict do nothing;

-- name: find_enrollments
-- Every enrollment that these contacts have had in a sequence. Not `workflow_id =`: the planner must come from the
-- contacts, who have few executions, and never from the sequence, which may have a million. A cancel holds from the
-- moment it is asked for: nothing more can be marked, and it cannot be taken back.
select e.contact_id, e.id, e.idempotency_key,
       e.ended_at is null and q.stop is distinct from 'cancel' as is_live,
       e.status in ('failed', 'cancelled') or q.stop is not distinct from 'cancel' as was_cancelled
  from unnest(:contact_ids::uuid[]) as t(contact_id)
  join executions e on e.shard = :shard and e.contact_id = t.contact_id
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.workflow_id is not distinct from :workflow_id;

-- name: paused_versions
-- Those of these versions whose sequence is paused for everyone.
select v.id
  from workflow_versions v
  join workflows w on w.id = v.workflow_id
 where v.id = any(:ids::uuid[]) and w.paused;

-- name: find_parked_enrollments
-- The next of a sequence's enrollments, in the order of their ids, and which wait beyond their planned time. A worker
-- that holds one may have read that the sequence is paused, so that one counts as well.
with next as materialized (
    select id, frontier, ended_at
      from executions
     where shard = :shard and workflow_id = :workflow_id and contact_id is not null and id > :after
     order by id
     limit :limit
)
select n.id,
       coalesce(n.ended_at is null and (q.leased or q.due_at > (n.frontier #>> '{ready,0,1}')::timestamptz), false)
       as parked
  from next n
  left join queue q on q.shard = :shard and q.id = n.id
 order by n.id;

-- name: wake_enrollments
-- Makes parked enrollments due at once, or as soon as the workers that hold them are done.
update queue
   set due_at = case when leased then due_at else least(due_at, :now) end, wake = wake or leased
 where shard = :shard and id = any(:ids::uuid[])
returning id;

-- name: choose_enrollments
-- The next of a sequence's enrollments, in the order of their ids, and which of them are meant: live, not being cancelled,
-- and as asked for. The page ends where the index does, however few are meant.
with next as materialized (
    select id, contact_id, cursor, ended_at
      from executions
     where shard = :shard and workflow_id = :workflow_id and contact_id is not null and id > :after
     order by id
     limit :limit
)
select n.id,
       coalesce(n.ended_at is null and q.id is not null and q.stop is distinct from 'cancel'
                and (:paused::boolean is null or :paused = (q.stop is not null))
                and (:cursors::text[] is null or n.cursor = any(:cursors))
                and {matching}, false) as meant
  from next n
  left join queue q on q.shard = :shard and q.id = n.id
  left join contacts c on c.shard = :shard and c.id = n.contact_id
 order by n.id;

-- name: choose_enrollments_of_contacts
-- The enrollments of named contacts, and which are meant; found from the contacts, who have few, not from the sequence.
select e.id,
       coalesce(e.ended_at is null and q.id is not null and q.stop is distinct from 'cancel'
                and (:paused::boolean is null or :paused = (q.stop is not null))
                and (:cursors::text[] is null or e.cursor = any(:cursors))
                and {matching}, false) as meant
  from unnest(:contact_ids::uuid[]) as t(contact_id)
  join executions e on e.shard = :shard and e.contact_id = t.contact_id
  left join queue q on q.shard = :shard and q.id = e.id
  left join contacts c on c.shard = :shard and c.id = e.contact_id
 where e.shard = :shard and e.workflow_id is not distinct from :workflow_id
 order by e.id;

-- name: stop_enrollments
-- Asks enrollments to pause or stop, or (null) to go on. What is paused keeps its time: no mark is made then, so
-- no worker needs to look at it now. A cancel stays one, whatever is asked for after it.
update queue
   set stop = :stop, due_at = case when leased or :stop::text = 'pause' then due_at else :now end, wake = wake or leased
 where shard = :shard and id = any(:ids::uuid[]) and stop is distinct from :stop
   and (stop is distinct from 'cancel' or :stop::text = 'cancel')
returning id;
