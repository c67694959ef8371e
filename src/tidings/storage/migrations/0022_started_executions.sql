-- An execution notes when it started, and its log what each node saw.

-- The results that a node saw of nodes on other ways, by their names: what led to it, the graph tells.
alter table outbox add column seen jsonb;
alter table execution_log add column seen jsonb;

-- Written by the claim, which writes the row anyway; executions.started_at follows when the lease ends.
alter table queue add column started_at timestamptz;

-- Beside the function that the version before this one asks, since both may run while a database is brought up to date.
create function shown_status(status text, stop text, started_at timestamptz) returns text
    language sql immutable parallel safe
    return case when status in ('completed', 'failed', 'cancelled') then status
                when stop = 'pause' then 'paused'
                when started_at is not null then 'processing'
                else 'enqueued' end;
