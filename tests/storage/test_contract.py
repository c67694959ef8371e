"""The contract lives in the database: it refuses what must not be (002 §7, C2)."""

from typing import TypeAlias
from uuid import UUID

import asyncpg
import pytest

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# The bucket is in the last digits of the third group; with four shards, 7000 is in shard 0 and 7001 in shard 1.
ITEM, OWNER = UUID("01900000-0000-7000-8000-000000000001"), UUID("01900000-0000-7000-8000-000000000002")
ELSEWHERE = UUID("01900000-0000-7001-8000-000000000003")

KEY = ITEM.bytes[:8] + bytes(24)

INSERT_ITEM = """
insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, ordinal, channel, provider,
                    recipient, payload, status, skipped, in_doubt, idempotency_key, created_at, finalized_at)
values ($1, $2, 'default', 'default', $3, 'hello', 1, 0, 'email', 'fake', 'ada@example.com', '{}', $4, $5, $6, $7,
        now(), $8)
"""


async def insert_item(
    sql: Sql,
    *,
    id: UUID = ITEM,
    shard: int = 0,
    status: str = "queued",
    skipped: bool = False,
    in_doubt: bool = False,
    key: bytes | None = KEY,
) -> None:
    finalized_at = None if status == "queued" else await sql.fetchval("select now()")
    await sql.execute(INSERT_ITEM, shard, id, OWNER, status, skipped, in_doubt, key, finalized_at)


async def insert_job(sql: Sql, *, status: str, planned: int = 2, sent: int = 0, failed: int = 0) -> None:
    is_open = status in {"queued", "locked"}
    await sql.execute(
        "insert into jobs (shard, id, run_id, tenant_id, workspace_id, job_type, status, planned, sent, failed,"
        " created_at, ended_at) values (0, $1, $2, 'default', 'default', 'email_send_batch', $3, $4, $5, $6, now(),"
        " case when $7 then null else now() end)",
        *(ITEM, OWNER, status, planned, sent, failed, is_open),
    )


@pytest.mark.parametrize("status", ["queued", "sent", "called", "posted", "failed"])
async def test_c2_the_database_takes_every_status_of_the_contract(sql: Sql, status: str) -> None:
    await insert_item(sql, status=status)

    assert await sql.fetchval("select status from channel_outbox") == status


async def test_c2_the_database_takes_a_skipped_item(sql: Sql) -> None:
    await insert_item(sql, status="skipped", skipped=True)

    assert await sql.fetchval("select skipped from channel_outbox")


@pytest.mark.parametrize("status", ["delivered", "", "QUEUED", "processing"])
async def test_c2_the_database_rejects_an_invalid_status(sql: Sql, status: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_status_check"):
        await insert_item(sql, status=status)


@pytest.mark.parametrize(
    ("status", "skipped"), [("queued", True), ("sent", True), ("failed", True), ("skipped", False)]
)
async def test_c2_the_database_rejects_a_skipped_flag_that_does_not_match_the_status(
    sql: Sql, status: str, skipped: bool
) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_skipped_status_check"):
        await insert_item(sql, status=status, skipped=skipped)


async def test_c2_the_database_rejects_a_missing_idempotency_key(sql: Sql) -> None:
    with pytest.raises(asyncpg.NotNullViolationError, match="idempotency_key"):
        await insert_item(sql, key=None)


@pytest.mark.parametrize("key", [b"", b"short", bytes(33)])
async def test_c2_the_database_rejects_a_key_that_is_no_digest(sql: Sql, key: bytes) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_idempotency_key_check"):
        await insert_item(sql, key=key)


async def test_c2_the_database_rejects_a_duplicate_idempotency_key_of_a_workspace(sql: Sql) -> None:
    await insert_item(sql)

    with pytest.raises(asyncpg.UniqueViolationError, match="channel_outbox_idempotency_key"):
        await insert_item(sql, id=OWNER)


@pytest.mark.parametrize("elsewhere", ["another workspace", "another tenant", "another owner", "another time"])
async def test_c2_the_database_rejects_a_duplicate_key_from_anywhere(sql: Sql, elsewhere: str) -> None:
    """A key names its owner by an id, so nobody else can mean the same by it."""
    await insert_item(sql)
    changed = {
        "another workspace": "workspace_id = 'other'",
        "another tenant": "tenant_id = 'other'",
        "another owner": f"execution_id = '{ITEM}'",
        "another time": "created_at = created_at - interval '1 year', status = 'sent', finalized_at = now()",
    }
    await sql.execute(f"update outbox set {changed[elsewhere]}")

    with pytest.raises(asyncpg.UniqueViolationError, match="channel_outbox_idempotency_key"):
        await insert_item(sql, id=OWNER)


async def test_c2_the_database_rejects_a_key_outside_its_shard(sql: Sql) -> None:
    """So the same key cannot be there twice, however it is written."""
    await insert_item(sql)

    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_idempotency_key_check"):
        await insert_item(sql, id=ELSEWHERE, shard=1)
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_shard_check"):
        await insert_item(sql, id=OWNER, shard=1)
    with pytest.raises(asyncpg.CheckViolationError, match=r"channel_outbox_(shard|idempotency_key)_check"):
        await sql.execute("update outbox set shard = 1, id = $1", ELSEWHERE)


@pytest.mark.parametrize("status", ["sent", "called", "posted", "failed"])
async def test_the_database_rejects_doubt_about_a_terminal_item(sql: Sql, status: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_in_doubt_check"):
        await insert_item(sql, status=status, in_doubt=True)


async def test_the_database_rejects_a_mark_without_a_frozen_payload(sql: Sql) -> None:
    await insert_item(sql)

    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_payload_check"):
        await sql.execute("update outbox set marked_at = now(), payload = null")


async def test_the_database_rejects_an_item_with_two_owners_or_none(sql: Sql) -> None:
    await insert_item(sql)

    for owners in ("job_id = id, run_id = id", "execution_id = null"):
        with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_owner_check"):
            await sql.execute(f"update outbox set {owners}")


@pytest.mark.parametrize("status", ["completed", "partial", "failed", "dead"])
async def test_the_database_rejects_a_terminal_job_with_open_items(sql: Sql, status: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="jobs_terminal_check"):
        await insert_job(sql, status=status, planned=2, sent=1)


async def test_the_database_rejects_more_results_than_items(sql: Sql) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="jobs_counts_check"):
        await insert_job(sql, status="queued", planned=2, sent=2, failed=1)


async def test_the_database_rejects_a_job_with_an_invalid_status(sql: Sql) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await insert_job(sql, status="done", sent=2)


async def test_the_database_rejects_a_terminal_run_whose_audience_is_not_planned(sql: Sql) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="runs_planned_check"):
        await sql.execute(
            "insert into runs (shard, id, tenant_id, workspace_id, campaign_id, idempotency_key, channel, provider,"
            " content_id, content, status, created_at, ended_at) values (0, $1, 't', 'w', $1, 'k', 'email', 'fake',"
            " '1', '{}', 'completed', now(), now())",
            ITEM,
        )


async def test_a_check_ties_the_shard_of_an_item_to_its_id(sql: Sql) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_shard_check"):
        await insert_item(sql, shard=1)
    with pytest.raises(asyncpg.CheckViolationError, match="channel_outbox_shard_check"):
        await insert_item(sql, id=ELSEWHERE, key=ELSEWHERE.bytes[:8] + bytes(24))


@pytest.mark.parametrize("table", ["queue", "executions", "runs", "jobs", "outbox", "audit_log"])
async def test_every_hot_table_ties_its_shard_to_its_id(sql: Sql, table: str) -> None:
    definition = await sql.fetchval(
        "select pg_get_constraintdef(oid) from pg_constraint"
        " where conrelid = $1::text::regclass and conname like '%\\_shard\\_check'",
        table,
    )

    assert definition == "CHECK ((shard = shard_of(id)))"


async def test_every_unique_index_of_a_hot_table_begins_with_the_shard(sql: Sql) -> None:
    hot = [
        "queue",
        "executions",
        "runs",
        "run_parts",
        "audience",
        "jobs",
        "outbox",
        "attempts",
        "execution_log",
        "audit_log",
    ]

    indexes = await sql.fetch(
        "select tablename, indexdef from pg_indexes where tablename = any($1) and indexdef like 'CREATE UNIQUE%'", hot
    )

    assert {index["tablename"] for index in indexes} == set(hot)
    assert [index["indexdef"] for index in indexes if "(shard" not in index["indexdef"]] == []
