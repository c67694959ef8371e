-- name: notify
-- Tells listening workers that lanes of shards have work. A statement of its own: correctness never depends on it.
select pg_notify('tidings', :payload);
