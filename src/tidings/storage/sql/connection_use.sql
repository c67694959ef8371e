-- name: take_places
-- Takes places for messages that are about to leave through one connection, as many as its limits allow.
select domain, granted, free_at
  from take_places(:provider, :domains, :wanted, :of_domains, :periods, :most, :part_ms, :parts, :warm_up, :now);

-- name: read_use
-- What was taken of the limits of one connection as a whole, and since when.
select period, last, counts, since
  from connection_use
 where provider = :provider and domain = '';

-- name: forget_use
-- Forgets the domains of which no place counts any more.
delete from connection_use u
 using unnest(:periods::text[], :before::bigint[]) as t(period, before)
 where u.provider = :provider and u.domain <> '' and u.period = t.period and u.last < t.before;
