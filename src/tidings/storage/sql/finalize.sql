-- name: finalize_items
-- Records what providers said, by the mark and whatever became of the lease: a fact ends doubt, adds to the job's
-- counts, and wakes an owner that another worker holds by now. Safe to repeat: a terminal item takes no further fact.
with fact as materialized (
    select *
      from unnest(
               :ids::uuid[], :fences::bigint[], :attempt_numbers::smallint[], :statuses::text[], :unknown::boolean[],
               :uses_attempt::boolean[], :retry_at::timestamptz[], :message_ids::text[], :errors::text[]
           ) as t(id, fence, attempt, status, unknown, uses_attempt, retry_at, message_id, error)
),
finalized as (
    update outbox o
       set status = f.status, in_doubt = f.status = 'queued' and (o.in_doubt or f.unknown),
           -- A mark without an answer is a crash; this one has its answer, if only "unknown".
           marked_at = case when f.status <> 'queued' then o.marked_at end,
           attempts = greatest(o.attempts - (not f.uses_attempt)::integer, 0), retry_at = f.retry_at,
           -- What was erased with its contact learns its outcome and nothing else: what a provider says may name it.
           provider_message_id = case when o.recipient <> '' then f.message_id end,
           error = case when o.recipient <> '' then f.error end,
           finalized_at = case when f.status <> 'queued' then :now::timestamptz end
      from fact f
     where o.shard = :shard and o.id = f.id and o.status = 'queued'
       and o.marked_attempt = f.attempt
       -- A fact that ends nothing has cleared the mark, adds nothing a second time, and must not be counted twice.
       and (o.marked_at is not null or f.status <> 'queued')
    returning o.id, coalesce(o.job_id, o.execution_id) as owner, o.job_id, o.status, f.fence
),
counted as (
    update jobs j
       set sent = j.sent + d.sent, called = j.called + d.called, posted = j.posted + d.posted,
           failed = j.failed + d.failed
      from (select job_id, count(*) filter (where status = 'sent') as sent,
                   count(*) filter (where status = 'called') as called,
                   count(*) filter (where status = 'posted') as posted,
                   count(*) filter (where status = 'failed') as failed
              from finalized
             where job_id is not null and status <> 'queued'
             group by job_id) d
     where j.shard = :shard and j.id = d.job_id
    returning j.id
),
woken as (
    -- Under our own lease only a history of crashes needs writing: a fact is progress.
    update queue q
       set due_at = case when q.fence = f.fence or q.leased then q.due_at else least(q.due_at, :now) end,
           wake = q.wake or (q.leased and q.fence <> f.fence), crashes = 0
      from (select distinct on (owner) owner, fence from finalized order by owner, fence) f
     where q.shard = :shard and q.id = f.owner
       and (q.fence <> f.fence or q.crashes > 0)
    returning q.id
)
select count(*) as recorded from finalized;

-- name: keep_results
-- Results of functions, with the facts that end their items and under the same guard; messages are many, and have none.
update outbox o
   set result = t.result
  from unnest(:ids::uuid[], :attempt_numbers::smallint[], :results::jsonb[]) as t(id, attempt, result)
 where o.shard = :shard and o.id = t.id and o.status = 'queued' and o.marked_attempt = t.attempt and o.recipient <> ''
returning o.id;

-- name: insert_attempts
-- Keeps the short row of each attempt that did not succeed, with whom it was made: the item may take another next.
insert into attempts (shard, item_id, tenant_id, workspace_id, attempt, provider, outcome, error, started_at, ended_at)
select o.shard, o.id, o.tenant_id, o.workspace_id, t.attempt, o.provider, t.outcome,
       case when o.recipient <> '' then t.error else '' end, t.started_at, t.ended_at
  from unnest(
           :ids::uuid[], :attempt_numbers::smallint[], :outcomes::text[], :errors::text[], :started_at::timestamptz[],
           :ended_at::timestamptz[]
       ) as t(id, attempt, outcome, error, started_at, ended_at)
  join outbox o on o.shard = :shard and o.id = t.id
 where o.shard = :shard and o.id = any(:ids::uuid[]) on conflict do nothing;

-- name: doubt_items
-- A mark found without an answer after a crash: the call may have happened. Not a fact, so the lease must hold. The
-- attempt is not counted: it was the worker that failed, and an item must not be given up for being near crashes.
update outbox o
   set in_doubt = true, marked_at = null, attempts = greatest(o.attempts - 1, 0)
  from unnest(:ids::uuid[], :owners::uuid[], :fences::bigint[], :attempt_numbers::smallint[]) as t(id, owner, fence, attempt)
  join queue q on q.shard = :shard and q.id = t.owner and q.fence = t.fence
 where o.shard = :shard and o.id = t.id
   and o.status = 'queued' and o.marked_attempt = t.attempt and o.marked_at is not null
returning o.id;

-- name: schedule_doubtful_items
-- Sets when an item in doubt is looked at again by itself; null leaves it to a fact or a person.
update outbox o
   set retry_at = t.retry_at
  from unnest(:ids::uuid[], :owners::uuid[], :fences::bigint[], :retry_at::timestamptz[]) as t(id, owner, fence, retry_at)
  join queue q on q.shard = :shard and q.id = t.owner and q.fence = t.fence
 where o.shard = :shard and o.id = t.id and o.in_doubt
returning o.id;

-- name: clear_doubtful_items
-- Evidence that a call never arrived: the item may be marked again like a fresh one.
update outbox o
   set in_doubt = false, marked_at = null, retry_at = null
  from unnest(:ids::uuid[], :owners::uuid[], :fences::bigint[], :attempt_numbers::smallint[]) as t(id, owner, fence, attempt)
  join queue q on q.shard = :shard and q.id = t.owner and q.fence = t.fence
 where o.shard = :shard and o.id = t.id and o.in_doubt and o.marked_attempt = t.attempt
returning o.id;

-- name: pause_provider
-- Lets a provider rest for every worker; a later end wins.
insert into provider_pauses (provider, paused_until, reason)
values (:provider, :paused_until, :reason)
    on conflict (provider) do update
   set paused_until = excluded.paused_until, reason = excluded.reason
 where provider_pauses.paused_until < excluded.paused_until;
