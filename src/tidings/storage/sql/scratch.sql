-- name: lock_scratch
-- Only one process at a time makes the template that the others copy; the lock ends with the session.
select pg_advisory_lock(5261953);

-- name: find_database
-- Whether a database of this name is there.
select 1 from pg_database where datname = :name;

-- name: next_run_due
-- When a run of one shard is due that has something to do: to plan its people, or to roll up what was done just now. One
-- that is planned and only looks again, in case it was not woken, is left out.
select min(q.due_at) as due_at
  from queue q
  join runs r on r.shard = :shard and r.id = q.id
 where q.shard = :shard and q.lane = :lane and (r.planned is null or q.due_at <= :soon);
