-- name: believed_rows
-- How many rows of the queue the planner believes in: as many on each page as when it was last vacuumed or analyzed. No
-- row where it never was, or had no page then; the planner reckons with the width of a row there, which does no harm.
select reltuples / relpages * (pg_relation_size(oid) / current_setting('block_size')::integer) as believed
  from pg_class
 where oid = to_regclass('tidings.queue') and relpages > 0 and reltuples >= 0;

-- name: count_due
-- How many rows are due in one shard and lane, as far as that matters; from where claims begin, as what was claimed before
-- may still be in the index.
select count(*) as due
  from (select from queue where shard = :shard and lane = :lane and due_at between :since and :now
         order by due_at limit :most) as few;

-- name: analyze_queue
-- Analyzes the queue, unless another process does that now; with its owner's rights, as our role may not.
select analyze_queue();
