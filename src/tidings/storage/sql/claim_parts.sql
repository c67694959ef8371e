-- What every claim has in common: {name} stands for the part of that name.

-- part: not_passed
-- What another worker serves and this one has released. Nearly always nothing: then no row is compared.
(:passed_ids::uuid[] = '{}'
 or fence is distinct from (:passed_fences::bigint[])[array_position(:passed_ids::uuid[], id)])

-- part: lease_due
chosen as materialized (
    select id from due where not exists (select 1 from due where suspect)
    union all
    -- What was being worked on in a crash is claimed alone, so that only the row that kills workers is given up.
    (select id from due where suspect order by due_at limit 1)
)
update queue
   set due_at = :lease_until, fence = queue.fence + 1, leased = true, wake = false,
       crashes = queue.crashes + queue.leased::integer,
       -- A row that is asked to stop does not start. It is written anyway: its execution learns of it at its release.
       started_at = coalesce(queue.started_at, case when queue.stop is null then :now end)
    -- An array, not a join (storage/planner.py): made without knowing :limit, a plan would read the whole shard.
 where queue.shard = :shard and queue.id = any(array(select id from chosen))
returning queue.id, queue.kind, queue.fence, queue.crashes, queue.stop, queue.workspace_hash,
          case when queue.id = (select id from chosen limit 1) then (select max(due_at) from due) end as reached,
          (select min(due_at) from due where suspect) as suspect_due_at
