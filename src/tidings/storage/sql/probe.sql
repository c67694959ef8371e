-- name: limit_memory
-- Makes the next large intermediate result of this transaction go to disk.
select set_config('work_mem', '64kB', true);

-- name: spill
-- Writes half a megabyte through a temporary file: a full disk refuses it, while a write of a few bytes would still find
-- room in pages and log that exist already.
with written as materialized (
    select repeat('x', 1000) || number as line from generate_series(1, 500) number
)
select count(line) from written;

-- name: lock_shard
-- Writes a lock into a row that nothing else locks, and its commit into the log: no version of the row is left behind.
select shard from shards where shard = :shard for update;
