-- name: load_part
-- The progress of a run's share of one shard.
select cursor, cursor_id, planned, finished from run_parts where shard = :shard and run_id = :run_id;

-- name: read_audience
-- The next people of a run in one shard, in their order.
select ordinal, recipient, data #>> '{post,id}' as post from audience
 where shard = :shard and run_id = :run_id and ordinal > :after
 order by ordinal
 limit :limit;

-- name: read_failed_items
-- The next items of a run in one shard that failed and match. What was sent or is in doubt is never among them.
select id, ordinal, recipient, contact_id, error
  from outbox
 where shard = :shard and run_id = :run_id and status = 'failed' and (:after::uuid is null or id > :after)
   and (:error::text is null or strpos(lower(error), lower(:error)) > 0)
   and (:ids::uuid[] is null or id = any(:ids::uuid[]))
 order by id
 limit :limit;

-- name: find_retried
-- Which keys of retries are taken: their items were tried again by an earlier one.
select idempotency_key from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = any(:places::bytea[]) and idempotency_key = any(:keys::bytea[])
   and tenant_id = :tenant and workspace_id = :workspace;

-- name: lock_part
-- Locks a share at the cursor that was read: of two workers on one chunk, one gets no row and writes nothing.
select planned from run_parts
 where shard = :shard and run_id = :run_id and cursor = :cursor and cursor_id is not distinct from :cursor_id::uuid
   and not finished
   for update;

-- name: hold_part
-- Locks a share wherever its cursor is, so that no jobs are written to it meanwhile.
select planned from run_parts where shard = :shard and run_id = :run_id for update;

-- name: advance_part
-- Moves the cursor, in the transaction that writes the chunk.
update run_parts
   set cursor = :next_cursor, cursor_id = :next_cursor_id, planned = run_parts.planned + :added, finished = :finished,
       paced_until = greatest(run_parts.paced_until, :paced_until::timestamptz)
 where shard = :shard and run_id = :run_id;

-- name: insert_jobs
-- Writes the jobs of one chunk.
insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, skipped, created_at)
select p.shard, t.id, p.run_id, :tenant, :workspace, :job_type, 'queued', t.planned, t.skipped, :now
  from run_parts p
 cross join unnest(:ids::uuid[], :planned::integer[], :skipped::integer[]) as t(id, planned, skipped)
 where p.shard = :shard and p.run_id = :run_id;

-- name: insert_job_items
-- Writes the items of one chunk; they are rendered at their first mark. One that has no address, or was tried again
-- before, is not sent: the first is skipped with the reason, the second stays the only one of its key.
insert into outbox as new (
    shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient, contact_id, status,
    skipped, error, idempotency_key, retry_at, created_at, finalized_at
)
select p.shard, t.id, :tenant, :workspace, p.run_id, t.job_id, t.ordinal, :channel, :provider, t.recipient,
       t.contact_id, case when t.error is null then 'queued' else 'skipped' end, t.error is not null, t.error,
       t.idempotency_key, t.retry_at, :now, case when t.error is not null then :now::timestamptz end
  from run_parts p
 cross join unnest(
           :ids::uuid[], :job_ids::uuid[], :ordinals::bigint[], :recipients::text[], :contact_ids::uuid[],
           :errors::text[], :keys::bytea[], :retry_at::timestamptz[]
       ) as t(id, job_id, ordinal, recipient, contact_id, error, idempotency_key, retry_at)
 where p.shard = :shard and p.run_id = :run_id
    on conflict do nothing
returning new.id;

-- name: insert_contact_items
-- Writes the items of a chunk of contacts, one for each address that a contact has for the channel. Ids count up from a
-- first one; a contact without an address gets an item that is skipped with the reason.
insert into outbox (
    shard, id, tenant_id, workspace_id, run_id, job_id, ordinal, channel, provider, recipient, contact_id, status,
    skipped, error, idempotency_key, retry_at, created_at, finalized_at
)
select p.shard, (:id_head || to_hex(:item_tail::bigint + i.number))::uuid, :tenant, :workspace, p.run_id,
       (:job_ids::uuid[])[1 + i.number / :job_size], :before::bigint + i.number + 1,
       :channel, :provider, coalesce(i.recipient, ''), i.contact_id,
       case when i.recipient is null then 'skipped' else 'queued' end, i.recipient is null,
       case when i.recipient is null then :no_address::text end,
       campaign_key(:key_place, :key_head, i.recipient_key, :key_tail),
       -- Places of the run's rate go round the shards, in whole seconds.
       coalesce(i.due_at, :begins_at::timestamptz)
           + floor((:before + i.number) * :place_seconds::float8 + :first_place_seconds::float8) * :second::interval,
       :now, case when i.recipient is null then :now::timestamptz end
  from run_parts p
 cross join (
       select a.id as contact_id, a.due_at, a.recipient,
              case when a.place = 1 then a.id::text else a.id::text || ':' || a.place end as recipient_key,
              row_number() over (order by a.id, a.place) - 1 as number
         from (select id, due_at, unnest(addresses) as recipient, generate_subscripts(addresses, 1) as place
                 from (select c.id, t.due_at, coalesce({addresses}, array[null::text]) as addresses
                         from unnest(:ids::uuid[], :due_at::timestamptz[]) as t(id, due_at)
                         join contacts c on c.shard = :shard and c.id = t.id
                        where c.shard = :shard and c.deleted_at is null) person) a
       ) i
 where p.shard = :shard and p.run_id = :run_id;

-- name: sum_items
-- The sums of new jobs, from their items.
select job_id, count(*) as planned, count(*) filter (where status = 'skipped') as skipped,
       min(retry_at) filter (where status = 'queued') as due_at
  from outbox
 where shard = :shard and run_id = :run_id and job_id = any(:job_ids::uuid[])
 group by job_id;

-- name: copy_audience
-- The data of people who are tried again, under the new run.
insert into audience (shard, run_id, ordinal, recipient, data, contact_id)
select p.shard, p.run_id, t.ordinal, t.recipient, t.data, t.contact_id
  from run_parts p
 cross join unnest(:ordinals::bigint[], :recipients::text[], :data::jsonb[], :contact_ids::uuid[])
       as t(ordinal, recipient, data, contact_id)
 where p.shard = :shard and p.run_id = :run_id
    on conflict do nothing;

-- name: read_people
-- What is known of some people of a run that was deployed to a plain list.
select ordinal, recipient, data, contact_id from audience
 where shard = :shard and run_id = :run_id and ordinal = any(:ordinals::bigint[]);

-- name: enqueue_jobs
-- Inserts the queue rows of new jobs.
insert into queue (shard, id, kind, lane, due_at, workspace_hash, stop)
select j.shard, j.id, 'job', :lane, t.due_at, workspace_hash(j.tenant_id, j.workspace_id), :stop
  from unnest(:ids::uuid[], :due_at::timestamptz[]) as t(id, due_at)
  join jobs j on j.shard = :shard and j.id = t.id
 where j.shard = :shard;

-- name: sum_jobs
-- One shard's jobs of a run, by status. One that was locked before is under way, whatever it waits for now.
select case when status = 'queued' and started_at is not null then 'locked' else status end as status,
       count(*) as jobs, sum(planned) as planned, sum(sent) as sent, sum(called) as called,
       sum(posted) as posted, sum(failed) as failed, sum(skipped) as skipped
  from jobs
 where shard = :shard and run_id = :run_id
 group by 1;

-- name: lock_pace
-- Locks a run's rate in one shard, and returns up to when it is taken.
select paced_until from run_parts where shard = :shard and run_id = :run_id for update;

-- name: take_pace
-- Takes a run's rate up to a moment.
update run_parts set paced_until = :until where shard = :shard and run_id = :run_id;

-- name: pace_items
-- Sets another time for items that missed theirs, while nothing was called for and the lease holds.
update outbox o
   set retry_at = t.retry_at
  from unnest(:ids::uuid[], :owners::uuid[], :fences::bigint[], :retry_at::timestamptz[]) as t(id, owner, fence, retry_at)
  join queue q on q.shard = :shard and q.id = t.owner and q.fence = t.fence
 where o.shard = :shard and o.id = t.id and o.status = 'queued' and o.marked_attempt = 0 and not o.in_doubt
returning o.id;
