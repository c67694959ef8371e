-- name: beat_share
-- Renews what a worker holds of a provider's limit, and grows it as far as is fair and free; one at a time for a provider.
select slots, fair, until
  from beat_share(:provider, :worker_id, :provider_limit, :kept, :wanted, :turn, :now, :lease_until);

-- name: drop_shares
-- Releases everything that a worker holds.
delete from provider_shares where worker_id = :worker_id;

-- name: list_shares
-- Who holds what of the limited providers.
select provider, worker_id, slots, wanted, provider_limit, until
  from provider_shares
 where until > :now
 order by provider, worker_id;
