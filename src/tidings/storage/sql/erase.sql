-- name: list_executions_to_erase
-- A page of one shard's executions for a contact.
select id
  from executions
 where shard = :shard and contact_id = :contact_id and (:after::uuid is null or id > :after)
 order by id
 limit :limit;

-- name: list_items_to_erase
-- A page of one shard's items for a contact, whoever their owner is.
select id
  from outbox
 where shard = :shard and contact_id = :contact_id and (:after::uuid is null or id > :after)
 order by id
 limit :limit;

-- name: find_items_of_executions
-- Every item of executions: what was written to others on behalf of a contact tells of it, too.
select id from outbox where shard = :shard and execution_id = any(:ids::uuid[]);

-- name: stop_executions
-- Asks executions to end; whoever holds or claims them obeys.
update queue
   set stop = 'cancel', due_at = case when leased then due_at else :now end, wake = wake or leased
 where shard = :shard and id = any(:ids::uuid[]) and stop is distinct from 'cancel'
returning id;

-- name: wake_owners
-- Lets the owners of items look again: some of what they wait for is settled.
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

-- name: erase_items
-- Takes out of items whom they were for and what they said; what became of them stays. An item without a recipient is
-- erased, and no fact that comes later says more of it than its outcome.
update outbox
   set recipient = '', payload = case when payload is null then payload else '{}' end, result = null,
       error = case when error is null or status = 'skipped' then error else :erased end
 where shard = :shard and id = any(:ids::uuid[])
   and (recipient <> '' or payload <> '{}' or result is not null
        or (status <> 'skipped' and error is not null and error <> :erased))
returning id;

-- name: erase_attempts
-- What providers said may name an address.
update attempts set error = :erased
 where shard = :shard and item_id = any(:ids::uuid[]) and error <> :erased
returning item_id;

-- name: erase_log
-- What nodes saw and gave.
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
