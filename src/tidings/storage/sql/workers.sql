-- name: beat_worker
-- Says that a worker lives, and what it can do.
insert into workers (id, host, pid, version, lanes, serves, started_at, last_seen_at)
values (:id, :host, :pid, :version, :lanes::smallint[], :serves::jsonb, :started_at, :now)
    on conflict (id) do update set last_seen_at = excluded.last_seen_at;

-- name: remove_worker
-- A worker ends.
delete from workers where id = :id;

-- name: forget_workers
-- Removes those that nobody has seen for long: they died without a word.
delete from workers where last_seen_at < :before;

-- name: list_workers
-- The workers that were seen since then, the longest at work first.
select id, host, pid, version, lanes, serves, started_at, last_seen_at
  from workers
 where last_seen_at >= :since
 order by started_at, id;
