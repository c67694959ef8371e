-- name: pick_contacts
-- The next contacts that match in one shard, oldest first, of those made up to a moment.
select c.id, c.time_zone
  from {found}
   and {matching} and c.created_at <= :made_by
 order by c.id
 limit :limit;

-- name: count_reachable
-- Of one shard's contacts that match, made up to a moment: how many there are, how many have an address for a channel, and
-- how many of those may not be written to over it.
select count(*) as matching, count(a.addresses) as addressed,
       count(*) filter (where a.addresses is not null
                          and (a.suppressions ? :channel or a.consent -> :channel ->> 'status' = 'withdrawn')) as refused
  from (
        select {addresses} as addresses, c.suppressions, c.consent
          from {found}
           and {matching} and c.created_at <= :made_by
       ) a;

-- name: count_audience_lacking
-- Of the same contacts: how many lack an attribute, by its dotted path. A null counts as there.
select p.path, count(*) as contacts
  from unnest(:paths::text[]) as p(path)
 cross join {found}
   and {matching} and c.created_at <= :made_by
   and c.attributes #> string_to_array(p.path, '.') is null
 group by p.path;

-- name: count_lacking
-- The same of some contacts.
select t.path, count(*) as contacts
  from unnest(:paths::text[]) as t(path)
  join contacts c on c.shard = :shard and c.id = any(:ids::uuid[])
 where c.shard = :shard and c.attributes #> string_to_array(t.path, '.') is null
 group by t.path;
