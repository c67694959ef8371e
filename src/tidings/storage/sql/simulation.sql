-- name: count_audience
-- How many of one shard's contacts match.
select count(*) as people
  from {found}
   and {matching};

-- name: sample_audience
-- Some of them, as if drawn by lot: those with the lowest draws of all shards together are a sample of all. The
-- same seed draws the same people, whatever else is in the table. It reads them all and keeps a few.
select md5(c.id::text || :seed) as draw, {contact_columns}
  from {found}
   and {matching}
 order by draw
 limit :limit;

-- name: list_outgoing
-- Every item of one shard, in the order of ids; for a scratch database, where all of them are the simulation's.
select id, coalesce(execution_id, run_id) as owner, contact_id, coalesce(node, '') as step, channel, recipient,
       coalesce(payload, '{}') as payload, status, error as reason, coalesce(finalized_at, created_at) as at
  from outbox
 where shard = :shard and id > :after
 order by id
 limit :limit;

-- name: list_walks
-- Every execution and run of one shard, in the order of ids. What failed of a run is in its items.
select id, contact_id, status, error, error_node, ended_at
  from executions
 where shard = :shard and id > :after
 union all
select id, null, status, null, '', ended_at
  from runs
 where shard = :shard and id > :after
 order by id
 limit :limit;
