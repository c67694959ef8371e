-- name: put_fallbacks
-- What a host application does where there is no rule, for processes that take an event without it.
insert into fallbacks as new (trigger, channel, audience, since)
select t.trigger, t.channel, t.audience, :now
  from unnest(:triggers::text[], :channels::text[], :audiences::text[]) as t(trigger, channel, audience)
    on conflict (trigger, channel, audience) do nothing
returning new.trigger, new.channel, new.audience;

-- name: list_fallbacks
-- Every fallback that some application has: a handful.
select trigger, channel, audience, since
  from fallbacks
 order by trigger, channel, audience;

-- name: remove_fallback
-- Forgets a fallback that no application has any more.
delete from fallbacks where trigger = :trigger and channel = :channel and audience = :audience
returning trigger;
