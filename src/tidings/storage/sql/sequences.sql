-- name: insert_sequence
-- The settings of a new sequence; its name and workspace are its workflow's.
insert into sequences (id, tenant_id, workspace_id, settings) values (:id, :tenant, :workspace, :settings::jsonb)
    on conflict (id) do nothing;

-- name: lock_sequence
-- One writer of a draft at a time.
select w.id, w.name, w.paused, s.settings
  from workflows w
  join sequences s on s.id = w.id
 where w.id = :id and w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'sequence'
   and w.deleted_at is null
   for update of w;

-- name: find_sequences
-- Sequences with the version that is published, by ids.
select w.id, w.name, w.paused, s.settings, v.id as version_id, v.number as version, v.definition,
       v.created_at as published_at, w.created_at, w.updated_at
  from workflows w
  join sequences s on s.id = w.id
  left join workflow_versions v on v.workflow_id = w.id
   and v.number = (select max(n.number) from workflow_versions n where n.workflow_id = w.id)
 where w.id = any(:ids::uuid[]) and w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'sequence'
   and w.deleted_at is null
 order by w.id desc;

-- name: find_sequence_named
-- The sequence of a name.
select w.id from workflows w
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'sequence' and w.name = :name
   and w.deleted_at is null;

-- name: list_sequences
-- The sequences of a workspace, newest first. One without a version is a draft.
select w.id
  from workflows w
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.kind = 'sequence' and w.deleted_at is null
   and (:name::text is null or w.name = :name)
   and (:status::text is null
        or :status = case when not exists (select 1 from workflow_versions v where v.workflow_id = w.id) then 'draft'
                          when w.paused then 'paused'
                          else 'active' end)
   and w.id >= :since and w.id < :before
 order by w.id desc
 limit :limit;

-- name: list_steps
-- The steps of drafts, in their order, by sequence. A node is named by its step's id, so that is a string here.
select sequence_id, id::text as id, day_offset, step_order, send_hour, channel, subject, content, max_lateness, "to"
  from sequence_steps
 where sequence_id = any(:ids::uuid[])
 order by sequence_id, step_order, sequence_steps.id;

-- name: put_step
-- Writes one step of a draft.
insert into sequence_steps (
    sequence_id, id, tenant_id, workspace_id, day_offset, step_order, send_hour, channel, subject, content, max_lateness,
    "to", created_at
)
values (
    :sequence_id, :id, :tenant, :workspace, :day_offset, :step_order, :send_hour, :channel, :subject,
    :content::jsonb,    :max_lateness, :to::text[], :now
)
    on conflict (sequence_id, id) do update
   set day_offset = excluded.day_offset, step_order = excluded.step_order, send_hour = excluded.send_hour,
       channel = excluded.channel, subject = excluded.subject, content = excluded.content,
       max_lateness = excluded.max_lateness, "to" = excluded."to";

-- name: remove_step
-- Takes one step out of a draft; published versions keep it.
delete from sequence_steps where sequence_id = :sequence_id and id = :id
returning id;

-- name: change_settings
-- The settings of a draft.
update sequences set settings = :settings::jsonb where id = :id;

-- name: pause_sequence
-- From its commit on nothing of the sequence is sent; or everything is again.
update workflows set paused = :paused, updated_at = :now where id = :id and paused <> :paused
returning id;

-- name: delete_sequence
-- Hides a sequence for ever; its versions stay, because executions name them.
update workflows set deleted_at = :now, active = false, updated_at = :now where id = :id and deleted_at is null
returning id;

-- name: has_live_enrollment
-- Whether a sequence has a live enrollment in one shard. A cancelled one is not live, though no worker has seen it yet.
select exists (
    select 1 from executions e
     where e.shard = :shard and e.workflow_id = :workflow_id and e.contact_id is not null and e.ended_at is null
       -- Asked for each, and joined with none: the first is enough.
       and (select q.stop from queue q where q.shard = :shard and q.id = e.id) is distinct from 'cancel'
) as found;

-- name: count_in_flight
-- How many live enrollments of one shard come to which node next, by version.
select e.version_id, e.cursor, count(*) as count
  from executions e
 where e.shard = :shard and e.workflow_id = :workflow_id and e.contact_id is not null and e.ended_at is null
 group by e.version_id, e.cursor;

-- name: count_enrollment_states
-- One shard's enrollments of a sequence that were made since a moment, by version, by where they are and by what became of
-- them. Rows are compared as the index has them.
select e.version_id, e.cursor, e.error_node, e.status, count(*) as count
  from executions e
 where e.shard = :shard and e.contact_id is not null and e.tenant_id = :tenant and e.workspace_id = :workspace
   and (e.workflow_id, e.id) >= (:workflow_id, :since)
   and (e.workflow_id, e.id) <= (:workflow_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
 group by e.version_id, e.cursor, e.error_node, e.status;

-- name: count_step_items
-- One shard's messages of these steps, of enrollments made since a moment, by what became of them. Each step is found along
-- the index of nodes.
select o.node, o.status, o.in_doubt, count(*) as count
  from unnest(:nodes::text[]) as s(node)
  join outbox o on o.shard = :shard and o.contact_id is not null
   and (o.node, o.id) >= (s.node, :since)
   and (o.node, o.id) <= (s.node, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
 where o.shard = :shard and o.execution_id >= :since and o.tenant_id = :tenant and o.workspace_id = :workspace
 group by o.node, o.status, o.in_doubt;

-- name: find_versions
-- Versions by id.
select id, number, definition from workflow_versions where id = any(:ids::uuid[]);

-- name: lock_enrollments_behind
-- Locks up to :limit live enrollments of one shard that are on another version, by id; those that a worker has leased
-- are returned, too, so that they can be counted, and are not touched. A person's cancel goes first.
select e.id, e.version_id, e.frontier, e.vars, e.created_at as begun_at, q.leased, c.time_zone
  from executions e
  join queue q on q.shard = :shard and q.id = e.id
  left join contacts c on c.shard = :shard and c.id = e.contact_id
 where e.shard = :shard and e.workflow_id = :workflow_id and e.contact_id is not null and e.ended_at is null
   and e.version_id <> :version_id and e.id > :after and q.stop is distinct from 'cancel'
 order by e.id
 limit :limit
   for update of q;

-- name: open_nodes
-- The nodes of executions that have items which are not settled.
select o.execution_id, o.node
  from outbox o
 where o.shard = :shard and substr(o.idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and o.execution_id = any(:ids::uuid[]) and o.status = 'queued';

-- name: move_enrollments
-- Puts enrollments on another version, at a place and a time of that version; one that is past its end completes.
-- Their queue rows are locked and no worker holds a lease on them.
with moved as (
    update executions e
       set version_id = :version_id, frontier = t.frontier, cursor = t.cursor,
           status = case when t.cursor is null then 'completed' else e.status end,
           ended_at = case when t.cursor is null then :now::timestamptz end
      from unnest(:ids::uuid[], :frontiers::jsonb[], :cursors::text[]) as t(id, frontier, cursor)
     where e.shard = :shard and e.id = t.id and e.ended_at is null
    returning e.id
),
gone as (
    delete from queue q
     using unnest(:ids::uuid[], :cursors::text[]) as t(id, cursor)
     where q.shard = :shard and q.id = t.id and not q.leased and t.cursor is null
    returning q.id
),
due as (
    -- A paused enrollment is due when its pause says so; resuming makes it due.
    update queue q
       set due_at = t.due_at
      from unnest(:ids::uuid[], :cursors::text[], :due_at::timestamptz[]) as t(id, cursor, due_at)
     where q.shard = :shard and q.id = t.id and not q.leased and q.stop is null and t.due_at is not null
    returning q.id
)
select id from moved;
