-- part: outbox_columns
id, tenant_id, workspace_id, execution_id, run_id, job_id, event_id, node, channel, provider, recipient,
contact_id, status, in_doubt, attempts, marked_attempt, retry_at, first_marked_at, provider_message_id,
error, idempotency_key, created_at, finalized_at

-- part: item_columns
id, execution_id, run_id, job_id, event_id, node, channel, provider, recipient, contact_id, status, in_doubt,
o.attempts + case when o.in_doubt then (
    -- The worker died in its last call: that attempt is not counted, but it is the one in doubt.
    select count(*) from attempts a
     where a.shard = :shard and a.item_id = o.id and a.attempt = o.marked_attempt and a.outcome = 'crashed'
) else 0 end as attempts,
retry_at, first_marked_at as first_called_at, provider_message_id, error,
encode(idempotency_key, 'hex') as idempotency_key, created_at, finalized_at

-- part: is_of_state
(:status::text is null or status = :status)
       and (:channel::text is null or channel = :channel)
       and (:in_doubt::boolean is null or in_doubt = :in_doubt)

-- part: is_asked_for
tenant_id = :tenant and workspace_id = :workspace
       and {is_of_state}
       and id >= :since and id < :before

-- name: show_outbox_item
-- One item of a workspace with what was sent.
select {item_columns}, payload
  from outbox o
 where shard = :shard and id = :id and tenant_id = :tenant and workspace_id = :workspace;

-- name: show_mark
-- The last mark of an item of a workspace: one that stands has no answer yet.
select marked_at, marked_attempt as calls
  from outbox
 where shard = :shard and id = :id and tenant_id = :tenant and workspace_id = :workspace;

-- name: list_outbox
-- One shard's items of a workspace, newest first.
select {item_columns}
  from outbox o
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace
   and (:status::text is null or status = :status)
   and (:channel::text is null or channel = :channel)
   and (:in_doubt::boolean is null or in_doubt = :in_doubt)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_outbox_in_doubt
-- One shard's items in doubt, newest first; reads only the index of those.
select {item_columns}
  from outbox o
 where shard = :shard and in_doubt and tenant_id = :tenant and workspace_id = :workspace
   and (:channel::text is null or channel = :channel)
   and (:run_id::uuid is null or run_id = :run_id)
   and (:execution_id::uuid is null or execution_id = :execution_id)
   and (:event_id::uuid is null or event_id = :event_id)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: list_outbox_of_owner
-- The items of one run, execution or event, newest first, by their own indexes: by id alone, the search for an old
-- run would walk through everything that came after it. Only ids are sorted: a run may have a hundred thousand here.
with owned as materialized (
    select id from outbox where shard = :shard and run_id = :run_id and {is_asked_for}
    union all
    select id from outbox
     where shard = :shard and substr(idempotency_key, 1, 8) = place_of(:execution_id) and execution_id = :execution_id
       and {is_asked_for}
    union all
    select id from outbox
     where shard = :shard and substr(idempotency_key, 1, 8) = place_of(:event_id) and event_id = :event_id
       and {is_asked_for}
)
select {item_columns}
  from outbox o
 where o.shard = :shard and o.id = any(array(select id from owned order by id desc limit :limit))
 order by id desc;

-- name: list_outbox_of_run
-- The items of one run, newest first, whatever became of them. A chunk of a run has one time and one bucket for its job
-- and its items, so all of them lie between those of the first and of the last job: the end of that is read, and not the
-- whole run.
select {item_columns}
  from outbox o
 where shard = :shard
   and id >= greatest(:since::uuid, coalesce((select left(j.id::text, 18) || '-0000-000000000000' from jobs j
                                               where j.shard = :shard and j.run_id = :run_id
                                               order by j.id limit 1),
                                             'ffffffff-ffff-ffff-ffff-ffffffffffff')::uuid)
   and id < :before
   and id <= coalesce((select left(j.id::text, 18) || '-ffff-ffffffffffff' from jobs j
                        where j.shard = :shard and j.run_id = :run_id
                        order by j.id desc limit 1),
                      '00000000-0000-0000-0000-000000000000')::uuid
   -- Not `=`: no index serves this, so that the one of ids is taken from its end.
   and run_id is not distinct from :run_id
   and tenant_id is not distinct from :tenant and workspace_id is not distinct from :workspace
 order by id desc
 limit :limit;

-- name: list_outbox_of_run_by_status
-- The items of one run with a status, newest first. Each job counts its items by status in the commit of the fact, so only
-- jobs that have some are looked at: where one in fifty of their items has it, between the ids of the first and the last of
-- them, as above, until the page is full; where fewer have it, by the index of jobs.
with counted as materialized (
    select id, planned,
           case when :status = 'sent' then sent when :status = 'called' then called when :status = 'posted' then posted
                when :status = 'failed' then failed when :status = 'skipped' then skipped
                else planned - sent - called - posted - failed - skipped end as matching
      from jobs
     where shard = :shard and run_id = :run_id and tenant_id = :tenant and workspace_id = :workspace
), holding as materialized (
    select id, left(id::text, 18) as chunk, planned, matching from counted where matching > 0
), few as materialized (
    -- Their place in time is not looked at here, or a plan for any values would go by it.
    select id
      from outbox
     where (select 50 * sum(matching) < sum(planned) from holding)
       and shard = :shard and run_id = :run_id and job_id = any(array(select id from holding)) and {is_of_state}
), found as materialized (
    select id from few where id >= :since and id < :before
    union all
    (select id
       from outbox
      where (select 50 * sum(matching) >= sum(planned) from holding)
        and shard = :shard and id >= :since and id < :before
        and id >= (select min(chunk) || '-0000-000000000000' from holding)::uuid
        and id <= (select max(chunk) || '-ffff-ffffffffffff' from holding)::uuid
        and run_id is not distinct from :run_id and {is_of_state}
      order by id desc
      limit :limit)
)
select {item_columns}
  from outbox o
 where o.shard = :shard and o.id = any(array(select id from found order by id desc limit :limit))
 order by id desc;

-- name: list_outbox_of_contact
-- The items for one contact, whatever they belong to, newest first. By their own index first, as above.
with meant as materialized (
    select {outbox_columns}
      from outbox
     where shard = :shard and contact_id = :contact_id and id >= :since and id < :before
       and tenant_id = :tenant and workspace_id = :workspace
)
select {item_columns}
  from meant o
 where (:run_id::uuid is null or run_id = :run_id)
   and (:execution_id::uuid is null or execution_id = :execution_id)
   and (:event_id::uuid is null or event_id = :event_id)
   and (:status::text is null or status = :status)
   and (:channel::text is null or channel = :channel)
   and (:in_doubt::boolean is null or in_doubt = :in_doubt)
 order by id desc
 limit :limit;
