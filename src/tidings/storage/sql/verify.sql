-- Each check names the rows of one shard that break a promise; none returned means the promise holds.

-- name: unkeyed_sends
-- Promise 1: whatever went out had a committed mark, unless a person said it was sent.
select o.id, 'is ' || o.status || ' but was never marked' as problem
  from outbox o
 where o.shard = :shard and o.status in ('sent', 'called', 'posted') and o.marked_attempt = 0
 order by o.id limit :limit;

-- name: double_items
-- Promise 2: one intention is one item.
select (array_agg(o.id order by o.id))[2] as id,
       'is the same as ' || (array_agg(o.id order by o.id))[1]::text as problem
  from outbox o
 where o.shard = :shard
 group by o.execution_id, o.node, o.visit, o.run_id, o.event_id, o.ordinal, o.channel
having count(*) > 1
 limit :limit;

-- name: misplaced_items
-- Promise 1: an item is in the shard that its id says, and its key says the same, so that a key cannot be in two shards.
select o.id, 'has an idempotency key of another place' as problem
  from outbox o
 where o.shard = :shard
   and (o.shard <> shard_of(o.id) or octet_length(o.idempotency_key) <> 32
        or substr(o.idempotency_key, 7, 2) <> substr(uuid_send(o.id), 7, 2))
 order by o.id limit :limit;

-- name: lost_items
-- Promise 3: an open item that is not in doubt has an owner that will be looked at.
select o.id, 'is queued but its owner is not in the queue' as problem
  from outbox o
 where o.shard = :shard and o.status = 'queued' and not o.in_doubt
   and not exists (select 1 from queue q where q.shard = :shard and q.id = coalesce(o.job_id, o.execution_id))
 order by o.id limit :limit;

-- name: lost_executions
-- Promise 3: an open execution is in the queue.
select e.id, 'is ' || e.status || ' but not in the queue' as problem
  from executions e
 where e.shard = :shard and e.ended_at is null
   and not exists (select 1 from queue q where q.shard = :shard and q.id = e.id)
 order by e.id limit :limit;

-- name: lost_jobs
-- Promise 3: an open job is in the queue.
select j.id, 'is ' || j.status || ' but not in the queue' as problem
  from jobs j
 where j.shard = :shard and j.ended_at is null
   and not exists (select 1 from queue q where q.shard = :shard and q.id = j.id)
 order by j.id limit :limit;

-- name: lost_runs
-- Promise 3: an open run is in the queue.
select r.id, 'is ' || r.status || ' but not in the queue' as problem
  from runs r
 where r.shard = :shard and r.ended_at is null
   and not exists (select 1 from queue q where q.shard = :shard and q.id = r.id)
 order by r.id limit :limit;

-- name: lost_events
-- Promise 3: an event that is not routed yet has a job that will be looked at.
select e.id, 'is not routed and its job is not in the queue' as problem
  from events e
 where e.shard = :shard and e.routed_at is null
   and not exists (select 1 from queue q where q.shard = :shard and q.id = e.job_id)
 order by e.id limit :limit;

-- name: ownerless_rows
-- Every queue row has an owner that exists.
select q.id, 'is in the queue, but there is no such ' || q.kind as problem
  from queue q
 where q.shard = :shard
   and not exists (select 1 from executions e where e.shard = :shard and e.id = q.id and q.kind = 'execution')
   and not exists (select 1 from jobs j where j.shard = :shard and j.id = q.id and q.kind = 'job')
   and not exists (select 1 from runs r where r.shard = :shard and r.id = q.id and q.kind = 'run')
 order by q.id limit :limit;

-- name: miscounted_jobs
-- Promise 3: a job's counts are those of its items.
select j.id, 'counts ' || j.planned || ' planned, ' || j.sent || ' sent, ' || j.called || ' called, ' || j.posted
             || ' posted, ' || j.failed || ' failed, ' || j.skipped || ' skipped; its items say otherwise' as problem
  from jobs j
  left join (select o.job_id, count(*) as planned, count(*) filter (where o.status = 'sent') as sent,
                    count(*) filter (where o.status = 'called') as called,
                    count(*) filter (where o.status = 'posted') as posted,
                    count(*) filter (where o.status = 'failed') as failed,
                    count(*) filter (where o.status = 'skipped') as skipped
               from outbox o
              where o.shard = :shard and o.job_id is not null
              group by o.job_id) i on i.job_id = j.id
 where j.shard = :shard
   and (j.planned, j.sent, j.called, j.posted, j.failed, j.skipped)
       is distinct from (coalesce(i.planned, 0), coalesce(i.sent, 0), coalesce(i.called, 0), coalesce(i.posted, 0),
                         coalesce(i.failed, 0), coalesce(i.skipped, 0))
 order by j.id limit :limit;

-- name: early_jobs
-- Promise 4: a job that has ended has no open item.
select j.id, 'is ' || j.status || ' with open items' as problem
  from jobs j
 where j.shard = :shard and j.ended_at is not null
   and (exists (select 1 from outbox o
                 where o.shard = :shard and o.run_id = j.run_id and o.job_id = j.id and o.status = 'queued')
        or exists (select 1 from outbox o
                    where o.shard = :shard and substr(o.idempotency_key, 1, 8) = place_of(j.event_id)
                      and o.event_id = j.event_id and o.job_id = j.id and o.status = 'queued'))
 order by j.id limit :limit;

-- name: ended_runs
-- Promise 4, first half: runs that have ended and what they say of themselves; their jobs are in every shard.
select id, status, planned from runs where shard = :shard and ended_at is not null order by id;

-- name: jobs_of_runs
-- Promise 4, second half: the jobs of those runs in one shard, added up.
select run_id, status, sum(planned) as planned, sum(sent) as sent, sum(called) as called, sum(posted) as posted,
       sum(failed) as failed, sum(skipped) as skipped
  from jobs
 where shard = :shard and run_id is not null
 group by run_id, status;

-- name: missing_constraints
-- The contract lives in the database: every CHECK and key of it is there and validated.
select wanted.name
  from unnest(:names::text[]) as wanted(name)
 where not exists (select 1 from pg_constraint c join pg_namespace n on n.oid = c.connamespace
                    where n.nspname = 'tidings' and c.conname = wanted.name and c.convalidated)
   and not exists (select 1 from pg_index i join pg_class c on c.oid = i.indexrelid
                     join pg_namespace n on n.oid = c.relnamespace
                    where n.nspname = 'tidings' and c.relname = wanted.name and i.indisunique and i.indisvalid);
