"""What must never have happened in between, noted by triggers of the arena's own database while it happens.

An audit at the end sees only the end. A trigger is fired for the offence alone (its condition is checked in the
executor), so that what is in order costs next to nothing; only a row that leaves the queue leaves its fence behind, and
one that was in a crash its id.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncpg

MOST_SHOWN = 10

TABLES = """
create schema chaos;
create table chaos.offences (
    at     timestamptz not null default clock_timestamp(),
    what   text        not null,
    id     uuid,
    detail text
);
create table chaos.last_fences (id uuid primary key, fence bigint not null);
create table chaos.crashed (id uuid primary key);

create function chaos.note() returns trigger language plpgsql as $$
begin
    insert into chaos.offences (what, id, detail)
    values (tg_argv[0], old.id, format('%s became %s', to_jsonb(old), to_jsonb(new)));
    return null;
end $$;

-- No offence: what a dead worker had claimed, so that fairness.py can tell that it waited for its lease to end.
create function chaos.note_crash() returns trigger language plpgsql as $$
begin
    insert into chaos.crashed values (new.id) on conflict do nothing;
    return null;
end $$;

-- A row that comes back to the queue (a person sends an item again) must come back under a higher fence.
create function chaos.keep_fences() returns trigger language plpgsql as $$
begin
    insert into chaos.last_fences select id, fence from gone
        on conflict (id) do update set fence = greatest(last_fences.fence, excluded.fence);
    return null;
end $$;
create function chaos.check_fences() returns trigger language plpgsql as $$
begin
    insert into chaos.offences (what, id, detail)
    select 'a fence came again', f.id, format('%s after %s', f.fence, l.fence)
      from fresh f join chaos.last_fences l on l.id = f.id
     where f.fence <= l.fence;
    return null;
end $$;

create function chaos.check_run() returns trigger language plpgsql as $$
declare
    items bigint;
    open bigint;
begin
    select count(*), count(*) filter (where o.status = 'queued') into items, open
      from tidings.shards s join tidings.outbox o on o.shard = s.shard and o.run_id = new.id;
    if open > 0 or items <> new.planned then
        insert into chaos.offences (what, id, detail)
        values ('a run ended with open items', new.id, format('%s open, %s of %s', open, items, new.planned));
    end if;
    return null;
end $$;
create function chaos.check_job() returns trigger language plpgsql as $$
declare
    open bigint;
begin
    select count(*) into open from tidings.outbox o
     where o.shard = new.shard and (o.run_id = new.run_id or o.event_id = new.event_id) and o.job_id = new.id
       and o.status = 'queued';
    if open > 0 then
        insert into chaos.offences (what, id, detail) values ('a job ended with open items', new.id, open);
    end if;
    return null;
end $$;
create function chaos.check_new_items() returns trigger language plpgsql as $$
begin
    insert into chaos.offences (what, id)
    select distinct 'a run that had ended got items', r.id
      from (select distinct run_id from fresh where run_id is not null) f
      join tidings.runs r on r.shard = tidings.shard_of(f.run_id) and r.id = f.run_id
     where r.ended_at is not null;
    return null;
end $$;
"""

NEVER = {
    ("queue", "a fence fell"): "new.fence < old.fence",
    ("queue", "a lease was taken under an old fence"): "new.leased and not old.leased and new.fence <= old.fence",
    ("outbox", "an item left its end"): "old.status <> 'queued' and new.status <> old.status",
    ("outbox", "a mark was numbered backwards"): "new.marked_attempt < old.marked_attempt",
    ("outbox", "a mark was set under an older fence"): "new.marked_fence < old.marked_fence",
    ("outbox", "a marked item changed"): (
        "old.first_marked_at is not null and (new.payload is distinct from old.payload"
        " or new.recipient <> old.recipient or new.idempotency_key <> old.idempotency_key)"
    ),
    ("runs", "a run left its end"): "old.ended_at is not null and new.status <> old.status",
    ("jobs", "a job left its end"): "old.ended_at is not null and new.status <> old.status",
    ("executions", "an execution left its end"): "old.ended_at is not null and new.status <> old.status",
}
"""(table, what it would be) → the change of a row that must not be seen."""

ENDS = {"runs": "chaos.check_run()", "jobs": "chaos.check_job()"}


def _statements() -> list[str]:
    never = [
        f"create trigger chaos_{number} after update on tidings.{table} for each row when ({change})"
        f" execute function chaos.note('{what}')"
        for number, ((table, what), change) in enumerate(NEVER.items())
    ]
    ends = [
        f"create trigger chaos_ended after update on tidings.{table} for each row"
        f" when (new.ended_at is not null and old.ended_at is null) execute function {check}"
        for table, check in ENDS.items()
    ]
    each = "create trigger {} after {} on tidings.{} referencing {} table as {} for each statement execute function {}"
    return [
        TABLES,
        *never,
        *ends,
        "create trigger chaos_crashed after update on tidings.queue for each row when (new.crashes > old.crashes)"
        " execute function chaos.note_crash()",
        each.format("chaos_gone", "delete", "queue", "old", "gone", "chaos.keep_fences()"),
        each.format("chaos_fresh", "insert", "queue", "new", "fresh", "chaos.check_fences()"),
        each.format("chaos_fresh", "insert", "outbox", "new", "fresh", "chaos.check_new_items()"),
        "create trigger chaos_gone after delete on tidings.outbox for each row"
        " execute function chaos.note('an item was deleted')",
    ]


async def watch(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Begin to note what must never happen."""
    async with connection.transaction():
        for statement in _statements():
            await connection.execute(statement)


async def offences(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """What was noted, the first of each kind."""
    rows = await connection.fetch(
        """
        select what, count(*) as times, (array_agg(concat_ws(' ', id, detail) order by at))[:$1] as shown
          from chaos.offences
         group by what
        """,
        MOST_SHOWN,
    )
    return [f"history: {row['what']}, {row['times']} times: {'; '.join(row['shown'])}" for row in rows]
