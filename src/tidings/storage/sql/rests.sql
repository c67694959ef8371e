-- name: load_rests
-- The providers that rest just now, and those that were out of use when they were last called.
select provider, paused_until, reason, since, times, refused, rested_at, tried_at
  from provider_pauses
 where paused_until > :now or since is not null
 order by provider;

-- name: forget_outage
-- What nobody has tried for long says nothing about now: the next failure is a new trouble.
delete from provider_pauses where provider = :provider and rested_at < :before;

-- name: rest_unavailable
-- A call could not begin: the provider rests for all, each time twice as long. Calls that were under way when the last
-- rest began met the same trouble and change nothing.
insert into provider_pauses (provider, paused_until, reason, since, times, refused, rested_at)
values (:provider, :now::timestamptz + :shortest::interval, :reason, :now, 1, :refused, :now)
    on conflict (provider) do update
   set paused_until = greatest(
           provider_pauses.paused_until,
           :now + least(:shortest * power(2, least(provider_pauses.times, 30)), :longest::interval)
       ),
       reason = excluded.reason, since = coalesce(provider_pauses.since, excluded.since),
       times = provider_pauses.times + 1, refused = excluded.refused, rested_at = excluded.rested_at, tried_at = null
 where provider_pauses.rested_at is null or provider_pauses.rested_at < :started_at;

-- name: try_unavailable
-- Takes it on to try a provider whose rest is over; nobody else does until then, unless this one is lost.
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
-- Wakes whoever waits for the very end of a rest that is over early.
update queue
   set due_at = :now
 where shard = :shard and lane = any(:lanes::smallint[]) and due_at = :rested_until and not leased
returning id, lane;
