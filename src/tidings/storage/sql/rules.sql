-- part: rule_columns
id, trigger, channel, audience, enabled, steps, templates, created_at, updated_at

-- name: insert_rule
-- Makes a rule unless its key is taken.
insert into rules (id, tenant_id, workspace_id, trigger, channel, audience, enabled, steps, templates, required, created_at,
                   updated_at)
values (:id, :tenant, :workspace, :trigger, :channel, :audience, :enabled, :steps::jsonb, :templates::jsonb,
        :required::jsonb, :now, :now)
    on conflict (tenant_id, workspace_id, trigger, channel, audience) do nothing;

-- name: lock_rule
-- Locks one rule, by id or by key, for the transaction that changes it.
select {rule_columns}
  from rules
 where tenant_id = :tenant and workspace_id = :workspace
   and (id = :id or (trigger = :trigger and channel = :channel and audience = :audience))
   for update;

-- name: update_rule
-- Writes a rule.
update rules
   set trigger = :trigger, channel = :channel, audience = :audience, enabled = :enabled, steps = :steps::jsonb,
       templates = :templates::jsonb, required = :required::jsonb, updated_at = :now
 where id = :id;

-- name: delete_rule
-- Removes a rule; what it sent keeps its items.
delete from rules
 where tenant_id = :tenant and workspace_id = :workspace and id = :id
returning id;

-- name: find_rule
-- One rule by id or by key.
select {rule_columns}
  from rules
 where tenant_id = :tenant and workspace_id = :workspace
   and (id = :id or (trigger = :trigger and channel = :channel and audience = :audience));

-- name: list_rules
-- A workspace's rules, newest first.
select {rule_columns}
  from rules
 where tenant_id = :tenant and workspace_id = :workspace
   and (:trigger::text is null or trigger = :trigger)
   and (:channel::text is null or channel = :channel)
   and (:audience::text is null or audience = :audience)
   and (:enabled::boolean is null or enabled = :enabled)
   and id >= :since and id < :before
 order by id desc
 limit :limit;

-- name: rules_of_trigger
-- The rules that events of this trigger are routed by, and the fallbacks that some application has for it.
select id, trigger, channel, audience, enabled, steps::text as steps, templates::text as templates, false as is_fallback
  from rules
 where tenant_id = :tenant and workspace_id = :workspace and trigger = :trigger
 union all
select '00000000-0000-0000-0000-000000000000', trigger, channel, audience, true, '[]', '{}', true
  from fallbacks
 where trigger = :trigger;

-- name: read_enabled
-- Whether rules still stand; of one that was deleted there is nothing to say.
select t.id, r.enabled
  from unnest(:ids::uuid[]) as t(id)
  left join rules r on r.id = t.id;

-- name: list_rule_keys
-- The rules of some triggers, without what they say.
select id, trigger, channel, audience, enabled, jsonb_array_length(steps) as steps
  from rules
 where tenant_id = :tenant and workspace_id = :workspace and trigger = any(:triggers::text[]);

-- name: list_triggers
-- Every trigger that some rule of a workspace knows.
select distinct trigger
  from rules
 where tenant_id = :tenant and workspace_id = :workspace
 order by trigger;
