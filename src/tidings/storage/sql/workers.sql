-- name: beat_worker
-- Writes that a worker is alive, and what it can do.
insert into workers (id, host, pid, version, lanes, serves, started_at, last_seen_at)
values (:id, :host, :pid, :version, :lanes::smallint[], :serves::jsonb, :started_at, :now)
    on conflict (id) do update set last_seen_at = excluded.last_seen_at;

-- name: remove_worker
-- Deletes the row of a worker that ends.
delete from workers where id = :id;

-- name: forget_workers
-- Deletes workers that were not seen for long: they died.
delete from workers where last_seen_at < :before;

-- name: list_workers
-- The workers that were seen since then, the longest at work first.
select id, host, pid, version, lanes, serves, started_at, last_seen_at
  from workers
 where last_seen_at >= :since
 order by started_at, id;
