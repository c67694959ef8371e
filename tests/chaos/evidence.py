"""What is kept of a round that broke a promise, beside its logs, its ledger and its list of what was intended."""

import re
import shutil
from collections.abc import Sequence

import asyncpg

from tests.chaos.arena import Arena
from tidings.embedded.placement import find_site
from tidings.embedded.server import LOG

ROWS = """
with concerned as materialized (
    select * from tidings.outbox
     where recipient = any($1) or id::text = any($2) or run_id::text = any($2) or job_id::text = any($2)
        or execution_id::text = any($2) or (status = 'queued' and not in_doubt)
     limit $3
)
select 'outbox' as source, to_jsonb(c) as row from concerned c
union all
select 'attempts', to_jsonb(a) from tidings.attempts a where a.item_id in (select id from concerned)
union all
select 'queue', to_jsonb(q) from tidings.queue q
 where q.id in (select coalesce(job_id, execution_id) from concerned union select run_id from concerned)
union all
select 'jobs', to_jsonb(j) from tidings.jobs j where j.id in (select job_id from concerned)
union all
select 'runs', to_jsonb(r) from tidings.runs r where r.id in (select run_id from concerned)
union all
select 'executions', to_jsonb(e) from tidings.executions e where e.id in (select execution_id from concerned)
union all
select 'audit_log', to_jsonb(l) from tidings.audit_log l
 where l.subject_id in (select id from concerned union select run_id from concerned)
union all
select 'offences', to_jsonb(o) from chaos.offences o
"""
MOST_ITEMS = 500


async def keep_evidence(arena: Arena, violations: Sequence[str]) -> None:
    """Write the rows that the violations name, and the database's log, into the round's directory."""
    text = "\n".join(violations)
    (arena.directory / "violations.txt").write_text(text)
    log = find_site(arena.server.data_dir).home / LOG
    if log.exists():
        shutil.copy(log, arena.directory / LOG)
    recipients = sorted(set(re.findall(r"[\w.]+@chaos\.test|\+999\d+", text)))
    ids = sorted(set(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)))
    try:
        async with arena.look() as connection:
            rows = await connection.fetch(ROWS, recipients, ids, MOST_ITEMS)
        lines = [f'{{"source": "{row["source"]}", "row": {row["row"]}}}\n' for row in rows]
    except (OSError, asyncpg.PostgresError) as error:
        lines = [f"the rows could not be read: {error}\n"]
    (arena.directory / "rows.jsonl").write_text("".join(lines))
