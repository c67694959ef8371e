-- name: keep_suppressions
-- Stores addresses that must get nothing more, whichever contact has them; existing rows stay as they are.
insert into suppressed_addresses (shard, hash, reason, since)
select s.shard, t.hash, t.reason, t.since
  from shards s
 cross join unnest(:hashes::bytea[], :reasons::text[], :since::timestamptz[]) as t(hash, reason, since)
 where s.shard = :shard
    on conflict do nothing;

-- name: has_suppressions
-- Whether there is any in a shard; where there is none, no address need be hashed.
select exists (select 1 from suppressed_addresses where shard = :shard) as found;

-- name: find_suppressions
-- Those of the addresses that must get nothing more.
select hash, reason, since from suppressed_addresses where shard = :shard and hash = any(:hashes::bytea[]);

-- name: lift_suppressions
-- Deletes addresses that a person says may be written to again.
delete from suppressed_addresses where shard = :shard and hash = any(:hashes::bytea[]);
