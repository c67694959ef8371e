-- name: pick_contacts
-- The next contacts that match in one shard, oldest first, of those made up to a moment.
select c.id, c.time_zone
  from {found}
   and {matching} and c.created_at <= :made_by
 order by c.id
 limit :limit;

-- name: count_reachable
-- Of some contacts: how many have an address for a channel, and how many of those may not be written to over it.
select count(*) filter (where a.addresses is not null) as reachable,
       count(*) filter (where a.addresses is not null
                          and (a.suppressions ? :channel or a.consent -> :channel ->> 'status' = 'withdrawn')) as refused
  from (
        select {addresses} as addresses, c.suppressions, c.consent
          from contacts c
         where c.shard = :shard and c.id = any(:ids::uuid[])
       ) a;

-- name: count_lacking
-- Of some contacts: how many lack an attribute, by its dotted path. A null counts as there.
select t.path, count(*) as contacts
  from unnest(:paths::text[]) as t(path)
  join contacts c on c.shard = :shard and c.id = any(:ids::uuid[])
 where c.shard = :shard and c.attributes #> string_to_array(t.path, '.') is null
 group by t.path;
