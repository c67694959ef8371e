"""Row-level security by the columns of the row alone: a cluster refuses a policy that looks into another table."""

import re
from typing import TypeAlias

import asyncpg
import pytest

from tidings.storage.migrate import migrations

Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
POLICY = re.compile(r"create policy[^;]*;", re.IGNORECASE)


def policies_with_subqueries(text: str) -> list[str]:
    code = re.sub(r"--[^\n]*", "", text)
    return [one for one in POLICY.findall(code) if re.search(r"\bselect\b(?!\s+(?:to|using)\b)", one, re.IGNORECASE)]


def test_no_policy_has_a_subquery() -> None:
    assert [found for one in migrations() for found in policies_with_subqueries(one.text)] == []


@pytest.mark.parametrize("using", ["exists (select 1 from b where b.id = a.id)", "id in (SELECT id from b)"])
def test_a_policy_with_a_subquery_is_noticed(using: str) -> None:
    assert policies_with_subqueries(f"create policy p on a for select\n    using ({using});") != []
    assert policies_with_subqueries("create policy p on a for select using (is_own(tenant_id, workspace_id));") == []


async def test_no_policy_in_a_database_has_a_subquery(sql: Sql) -> None:
    rows = await sql.fetch("select tablename, coalesce(qual, '') || coalesce(with_check, '') as says from pg_policies")

    assert len(rows) > 10
    assert [row["tablename"] for row in rows if "SELECT" in row["says"]] == []
