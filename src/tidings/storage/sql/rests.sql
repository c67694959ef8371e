-- name: load_rests
-- The providers that rest just now, and those that were out of use when they were last called; no hosts.
select provider as name, {rest_columns}
  from provider_pauses
 where (paused_until > :now or since is not null) and not (starts_with(provider, 'function:') or starts_with(provider, 'host:'))
 order by provider;

-- name: load_host_rests
-- Those of some hosts that rest, or did not answer when they were last called.
select provider as name, {rest_columns}
  from provider_pauses
 where provider = any(:names::text[]) and since is not null;

-- name: list_host_rests
-- The hosts of one workspace that rest, or did not answer when they were last called.
select {rest_columns}
  from provider_pauses
 where starts_with(provider, :prefix)
 order by provider;

-- name: forget_rest
-- Lets a host be called again because a person says so.
delete from provider_pauses
 where provider = :provider
returning paused_until;

-- name: forget_old_host_rests
-- Forgets hosts that nobody has called for long.
delete from provider_pauses
 where (starts_with(provider, 'function:') or starts_with(provider, 'host:')) and rested_at < :before;

-- name: forget_host_rests
-- Lets hosts be called again because a person says so.
delete from provider_pauses
 where starts_with(provider, :prefix)
returning paused_until;

-- name: lock_rest
-- One provider's rest, locked until its next is written: workers meet the same trouble at once.
select {rest_columns}
  from provider_pauses
 where provider = :provider
   for update;

-- name: rest_unavailable
-- Lets a provider rest for every worker because calls to it could not begin. Two first failures at once are one trouble.
insert into provider_pauses (provider, paused_until, reason, since, times, refused, rested_at)
values (:provider, :paused_until, :reason, :since, :times, :refused, :rested_at)
    on conflict (provider) do update
   set paused_until = excluded.paused_until, reason = excluded.reason, since = excluded.since, times = excluded.times,
       refused = excluded.refused, rested_at = excluded.rested_at, tried_at = null
 where provider_pauses.rested_at is null or provider_pauses.rested_at < :started_at;

-- name: try_unavailable
-- Claims the trial of a provider whose rest is over; no other worker tries until then, unless this one is lost.
update provider_pauses
   set tried_at = :now
 where provider = :provider and since is not null and paused_until <= :now
   and (tried_at is null or tried_at <= :lost_before)
returning provider;

-- name: end_outage
-- A call that began after the last rest did was answered: the provider is back.
delete from provider_pauses
 where provider = :provider and since is not null and rested_at < :started_at
returning paused_until;

-- name: wake_resting
-- Wakes what waits for the exact end of a rest that is over early.
update queue
   set due_at = :now
 where shard = :shard and lane = any(:lanes::smallint[]) and due_at = :rested_until and not leased
returning id, lane;
