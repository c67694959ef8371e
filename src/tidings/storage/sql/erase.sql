-- name: list_executions_to_erase
-- A page of one shard's executions for a contact; rows are compared as its index has them, so that no other will do.
select id
  from executions
 where shard = :shard and contact_id is not null
   and (contact_id, id) > (:contact_id, coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid))
   and (contact_id, id) <= (:contact_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
 order by contact_id, id
 limit :limit;

-- name: list_items_to_erase
-- A page of one shard's items for a contact, whatever their owner is.
select id
  from outbox
 where shard = :shard and contact_id is not null
   and (contact_id, id) > (:contact_id, coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid))
   and (contact_id, id) <= (:contact_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
 order by contact_id, id
 limit :limit;

-- name: list_shown_tests
-- A page of one shard's tests that show a contact, and the items they became; not of those that are erased.
select a.run_id, a.ordinal, o.id
  from audience a
  left join outbox o on o.shard = :shard and o.run_id = a.run_id and o.ordinal = a.ordinal
 where a.shard = :shard and a.contact_id = :contact_id and (a.run_id, a.ordinal) > (:after_run, :after_ordinal)
   and (a.recipient <> '' or o.recipient <> '')
 order by a.run_id, a.ordinal
 limit :limit;

-- name: erase_audience
-- Takes people out of the plain lists of runs; whoever plans them skips one without a recipient.
update audience a
   set recipient = '', data = '{}'
  from unnest(:run_ids::uuid[], :ordinals::bigint[]) as t(run_id, ordinal)
 where a.shard = :shard and a.run_id = t.run_id and a.ordinal = t.ordinal
returning a.ordinal;

-- name: find_items_of_executions
-- Every item of executions: what was written to others on behalf of a contact tells of it, too.
select id
  from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and execution_id = any(:ids::uuid[]);

-- name: list_events_to_erase
-- A page of one shard's events that name a contact as one of their people.
select event_id as id
  from event_contacts
 where shard = :shard and contact_id = :contact_id and audience = :audience
   and (:after::uuid is null or event_id > :after)
 order by event_id
 limit :limit;

-- name: find_events_to_erase
-- What erasing needs to know of events.
select id, job_id, decisions from events where shard = :shard and id = any(:ids::uuid[]);

-- name: find_items_of_events
-- Every item of events, or only the calls of their fallbacks, which were told all there was to know.
select id from outbox
 where shard = :shard and substr(idempotency_key, 1, 8) = any(places_of(:ids::uuid[]))
   and event_id = any(:ids::uuid[]) and (not :fallbacks_only::boolean or channel = 'function');

-- name: stop_work
-- Asks executions and jobs to end; the worker that holds or claims them obeys.
update queue
   set stop = 'cancel', due_at = case when leased then due_at else :now end, wake = wake or leased
 where shard = :shard and id = any(:ids::uuid[]) and stop is distinct from 'cancel'
returning id;

-- name: wake_owners
-- Makes the owners of items due: some of what they wait for is settled.
update queue q
   set due_at = case when q.leased then q.due_at else least(q.due_at, :now) end, wake = q.wake or q.leased
  from outbox o
 where o.shard = :shard and o.id = any(:ids::uuid[]) and q.shard = :shard
   and q.id = coalesce(o.job_id, o.execution_id)
returning q.id;

-- name: erase_executions
-- Takes out of executions what they were given and what came of it; how they ended stays, and what we said of it.
update executions
   set input = '{}', vars = '{}',
       error = case when error is null or error = :deleted then error else :erased end
 where shard = :shard and id = any(:ids::uuid[])
   and (input <> '{}' or vars <> '{}' or (error is not null and error not in (:deleted, :erased)))
returning id;

-- name: erase_events
-- Takes people out of events, all of them or one, and what was said of them when it was decided; what was decided stays.
update events e
   set data = case when t.audience is null then '{}' else e.data - t.audience end,
       decisions = case when e.decisions is null then null else coalesce(t.kept -> 'decisions', e.decisions) end
  from unnest(:ids::uuid[], :audiences::text[], :kept::jsonb[]) as t(id, audience, kept)
 where e.shard = :shard and e.id = t.id
returning e.id;

-- name: erase_items
-- Takes out of items whom they were for and what they said; what became of them stays. An item without a recipient is
-- erased, and no fact that comes later says more of it than its outcome.
update outbox
   set recipient = '', payload = case when payload is null then payload else '{}' end, result = null,
       provider_message_id = null, -- a provider may make it of the address, and knows the person by it
       -- Why an item was skipped is said by us, without naming anybody; but an event may have given what is no address.
       error = case when error is null or error = :deleted or (status = 'skipped' and event_id is null) then error
                    else :erased end
 where shard = :shard and id = any(:ids::uuid[])
   and (recipient <> '' or payload <> '{}' or result is not null or provider_message_id is not null
        or ((status <> 'skipped' or event_id is not null) and error is not null and error not in (:deleted, :erased)))
returning id;

-- name: erase_attempts
-- What providers said may name an address.
update attempts set error = :erased
 where shard = :shard and item_id = any(:ids::uuid[]) and error <> :erased
returning item_id;

-- name: erase_log
-- What nodes saw and returned.
update execution_log
   set saw = null, output = null, error = case when error is null then null else :erased end
 where shard = :shard and execution_id = any(:ids::uuid[])
   and (saw is not null or output is not null or (error is not null and error <> :erased))
returning execution_id;

-- name: erase_history
-- What people noted; who did what and when stays.
update audit_log set detail = '{}'
 where shard = :shard and subject_id = any(:ids::uuid[]) and detail <> '{}'
returning id;
