-- part: after
-- Without an end a page begins or ends where ids do. Not `is null or`: a kept plan would read what lies outside, too.
coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')

-- part: upto
coalesce(:upto::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')

-- name: end_of_contacts
-- Where a page of a workspace's contacts in one shard ends.
select id from contacts
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
   and id > {after}
 order by id
offset :size limit 1;

-- name: end_of_executions
-- The same of executions.
select id from executions
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and id > {after}
 order by id
offset :size limit 1;

-- name: end_of_events
-- The same of events.
select id from events
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and id > {after}
 order by id
offset :size limit 1;

-- name: end_of_items
-- The same of items, whosever they are: no index has a workspace's alone, and a page is bounded by what is read.
select id from outbox
 where shard = :shard and id > {after}
 order by id
offset :size limit 1;

-- name: end_of_audit
-- The same of the audit log, as of items.
select id from audit_log
 where shard = :shard and id > {after}
 order by id
offset :size limit 1;

-- name: seek_contacts
-- Contacts of a page that have the address, or mention it in what is known of them.
select c.id,
       mentions(concat_ws(' ', c.external_id, c.email, c.phone, c.whatsapp), :needle, :filling, :pattern)
       or mentions(array_to_string(c.push_tokens, ' '), :needle, :filling, :pattern) as is_own
  from contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and c.id > {after} and c.id <= {upto}
   and mentions(concat_ws(' ', c.external_id, c.email, c.phone, c.whatsapp, array_to_string(c.push_tokens, ' '), c.name,
                          c.company, c.attributes::text), :needle, :filling, :pattern)
 order by c.id;

-- name: seek_executions
-- Executions of a page that mention the address: in what they were given, what came of it, or their log.
select e.id, e.contact_id is null as is_own, q.id is not null as is_live
  from executions e
  left join queue q on q.shard = :shard and q.id = e.id
 where e.shard = :shard and e.tenant_id = :tenant and e.workspace_id = :workspace
   and e.id > {after} and e.id <= {upto}
   and (mentions(e.input, :needle, :filling, :pattern) or mentions(e.vars, :needle, :filling, :pattern)
        or mentions(e.error, :needle, :filling, :pattern)
        or exists (select 1 from execution_log l
                    where l.shard = :shard and l.execution_id = e.id
                      and mentions(concat_ws(' ', l.saw::text, l.output::text, l.error), :needle, :filling, :pattern)))
 order by e.id;

-- name: seek_events
-- Events of a page that mention the address, and which of their people does.
select v.id, mentions(v.data -> 'lead', :needle, :filling, :pattern) as is_lead,
       mentions(v.data -> 'partner', :needle, :filling, :pattern) as is_partner,
       mentions(v.data -> 'agent', :needle, :filling, :pattern) as is_agent
  from events v
 where v.shard = :shard and v.tenant_id = :tenant and v.workspace_id = :workspace
   and v.id > {after} and v.id <= {upto}
   and (mentions(v.data, :needle, :filling, :pattern) or mentions(v.decisions, :needle, :filling, :pattern))
 order by v.id;

-- name: seek_items
-- Items of a page that go to the address, or mention it: in what was said, what was answered, or on their run's list.
select o.id, mentions(o.recipient, :needle, :filling, :pattern)
             or mentions(a.recipient, :needle, :filling, :pattern) as is_own,
       o.status = 'queued' as is_live, o.run_id, o.ordinal
  from outbox o
  left join audience a on a.shard = :shard and a.run_id = o.run_id and a.ordinal = o.ordinal
 where o.shard = :shard and o.tenant_id is not distinct from :tenant and o.workspace_id is not distinct from :workspace
   and o.id > {after} and o.id <= {upto}
   and (mentions(o.recipient, :needle, :filling, :pattern) or mentions(o.payload, :needle, :filling, :pattern)
        or mentions(o.error, :needle, :filling, :pattern) or mentions(o.result, :needle, :filling, :pattern)
        or mentions(o.provider_message_id, :needle, :filling, :pattern)
        or mentions(a.recipient, :needle, :filling, :pattern) or mentions(a.data, :needle, :filling, :pattern)
        or exists (select 1 from attempts t
                    where t.shard = :shard and t.item_id = o.id and mentions(t.error, :needle, :filling, :pattern)))
 order by o.id;

-- name: seek_audit
-- Entries of a page of the audit log that mention the address.
select g.id
  from audit_log g
 where g.shard = :shard and g.tenant_id = :tenant and g.workspace_id = :workspace
   and g.id > {after} and g.id <= {upto}
   and mentions(g.detail, :needle, :filling, :pattern)
 order by g.id;

-- name: list_unplanned_lists
-- The runs of a workspace in one shard whose plain list is not all planned yet: some of it has no items.
select id from runs
 where shard = :shard and tenant_id = :tenant and workspace_id = :workspace and source = 'list' and planned is null
 order by id;

-- name: seek_listed
-- People on the lists of such runs, by the address they are to be written to.
select run_id, ordinal, mentions(recipient, :needle, :filling, :pattern) as is_own from audience
 where shard = :shard and run_id = any(:run_ids::uuid[])
   and (mentions(recipient, :needle, :filling, :pattern) or mentions(data, :needle, :filling, :pattern))
 order by run_id, ordinal
 limit :limit;

-- name: find_leased
-- Those of the executions and jobs that a worker holds.
select id from queue where shard = :shard and id = any(:ids::uuid[]) and leased;

-- name: redact_contacts
-- Takes an address out of what is known of other people.
update contacts
   set name = without_mentions(name, :pattern), company = without_mentions(company, :pattern),
       attributes = without_mentions(attributes, :pattern)
 where shard = :shard and id = any(:ids::uuid[]) and deleted_at is null
returning id;

-- name: redact_executions
-- Takes an address out of other people's executions that have ended.
update executions
   set input = without_mentions(input, :pattern), vars = without_mentions(vars, :pattern),
       error = without_mentions(error, :pattern)
 where shard = :shard and id = any(:ids::uuid[]) and ended_at is not null
returning id;

-- name: redact_log
-- The same of what their nodes saw and returned.
update execution_log
   set saw = without_mentions(saw, :pattern), output = without_mentions(output, :pattern),
       error = without_mentions(error, :pattern)
 where shard = :shard and execution_id = any(:ids::uuid[])
returning execution_id;

-- name: redact_events
-- Takes an address out of other people's events.
update events
   set data = without_mentions(data, :pattern), decisions = without_mentions(decisions, :pattern)
 where shard = :shard and id = any(:ids::uuid[])
returning id;

-- name: redact_items
-- Takes an address out of other people's items that have ended.
update outbox
   set payload = without_mentions(payload, :pattern), result = without_mentions(result, :pattern),
       error = without_mentions(error, :pattern), provider_message_id = without_mentions(provider_message_id, :pattern)
 where shard = :shard and id = any(:ids::uuid[]) and status <> 'queued'
returning id;

-- name: redact_attempts
-- The same of what their failed attempts were told.
update attempts set error = without_mentions(error, :pattern)
 where shard = :shard and item_id = any(:ids::uuid[])
returning item_id;

-- name: redact_listed
-- Takes an address out of what lists say of other people.
update audience a
   set data = without_mentions(a.data, :pattern)
  from unnest(:run_ids::uuid[], :ordinals::bigint[]) as t(run_id, ordinal)
 where a.shard = :shard and a.run_id = t.run_id and a.ordinal = t.ordinal
returning a.ordinal;

-- name: redact_audit
-- Takes an address out of what people noted.
update audit_log set detail = without_mentions(detail, :pattern)
 where shard = :shard and id = any(:ids::uuid[])
returning id;
