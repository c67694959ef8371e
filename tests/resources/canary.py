"""Somebody with a canary in every field, and where any of it is found: tables, columns and log lines."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, NoReturn

import structlog

from tests.kernel.scenes import Sql
from tidings.domain.people.contact_fields import FIELDS, camel_case

CANARY: dict[str, Any] = {
    "externalId": "crm-canary-7",
    "name": "Canary Yellow",
    "email": "canary@example.com",
    "phone": "+442071838701",
    "whatsapp": "+442071838702",
    "pushTokens": ["canary-token-1", "canary-token-2"],
    "company": "Canary Wharf Ltd",
    "status": "canary-status",
    "timeZone": "Antarctica/Troll",
    "locale": "fo-FO",
    "tags": ["canary-tag"],
    "attributes": {"plan": "canary plan", "nested": {"list": ["canary note"]}},
    "consent": {"voice": {"status": "granted", "source": "canary form"}},
    "suppressions": {"whatsapp": {"reason": "manual", "source": "a canary said so"}},
}
NEEDLES = ("canary", "44207183870", "antarctica/troll", "fo-fo")
STRANGER: dict[str, Any] = {
    "name": "Wanderer Grey",
    "email": "wanderer@example.com",
    "phone": "+44 20 7183 8795",
    "pushTokens": ["wanderer-token"],
    "note": "a wanderer wrote",
}
"""Somebody who is no contact: known by what triggers, lists and events say."""
STRANGERS_NEEDLES = ("wanderer", "44207183879", "44 20 7183 879")

COLUMNS = """
select n.nspname, c.relname, a.attname, a.atttypid = 'bytea'::regtype as is_bytes
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
 where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
"""


assert {camel_case(name) for name in FIELDS} == CANARY.keys(), "a field of a contact has no canary"


async def found_in_tables(sql: Sql, needles: tuple[str, ...]) -> dict[str, str]:
    """Every column of every table that holds any of it, by the catalog, with an example; bytes are looked into."""
    found: dict[str, str] = {}
    for schema, table, column, is_bytes in await sql.fetch(COLUMNS):
        text = f"""encode("{column}", 'escape')""" if is_bytes else f'"{column}"::text'
        query = f"select {text} from {schema}.{table} where lower({text}) like any($1) limit 1"
        example = await sql.fetchval(query, [f"%{needle}%" for needle in needles])
        if example is not None:
            found[f"{table}.{column}"] = example[:300]
    return found


def found_in(text: str, needles: tuple[str, ...] = NEEDLES + STRANGERS_NEEDLES) -> list[str]:
    return [needle for needle in needles if needle in text.lower()]


@contextmanager
def written_lines() -> Iterator[list[str]]:
    """Every log line, as it would be written, with tracebacks."""
    lines: list[str] = []
    before = structlog.get_config()["processors"]
    show = structlog.processors.JSONRenderer(default=str)

    def keep(logger: Any, name: str, event: MutableMapping[str, Any]) -> NoReturn:
        lines.append(str(show(logger, name, event)))
        raise structlog.DropEvent

    structlog.configure(processors=[structlog.processors.format_exc_info, keep])
    try:
        yield lines
    finally:
        structlog.configure(processors=before)
