"""The contacts that product measurements are about: the same people for an import, a campaign and a sequence."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from bench.database import Fresh
from bench.settings import SHARDS
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace, make_id, shard_of

WORKSPACE = Workspace()
BY = Caller(WORKSPACE, "bench")
COLUMNS = [
    *("shard", "id", "tenant_id", "workspace_id", "external_id", "name", "email", "phone", "company", "time_zone"),
    *("attributes", "created_at", "updated_at"),
]
CONTENT = {"subject": "Hello {{ contact.name }}", "body": "Good to see you, {{ contact.name }}."}


def line(number: int) -> bytes:
    """A line of the file that is imported."""
    return (
        f"crm-{number},Person {number},p{number}@Example.com,+44 20 {7_000_0000 + number:08d},Company {number % 1000},"
        f"Europe/London,pro\n"
    ).encode()


def rows(count: int) -> Iterator[tuple[object, ...]]:
    """The rows that the import makes of the same lines."""
    at = datetime.now(UTC)
    for number in range(count):
        external_id = f"crm-{number}"
        id: UUID = make_id(WORKSPACE.bucket_of(external_id), at, number)
        yield (
            *(shard_of(id, SHARDS), id, WORKSPACE.tenant, WORKSPACE.name, external_id, f"Person {number}"),
            *(f"p{number}@example.com", f"+4420{7_000_0000 + number:08d}", f"Company {number % 1000}", "Europe/London"),
            *('{"plan": "pro"}', at, at),
        )


def write_rows(path: Path, count: int) -> None:
    """The same rows as COPY reads them: made before the clock starts, and not in memory."""
    with path.open("w") as file:
        for row in rows(count):
            file.write("\t".join(map(str, row)) + "\n")


async def store_contacts(fresh: Fresh, count: int) -> None:
    """Put so many contacts into a database."""
    await fresh.sql.copy_records_to_table("contacts", records=rows(count), columns=COLUMNS, schema_name="tidings")


async def deploy_to_everybody(fresh: Fresh) -> UUID:
    """Make a campaign for every contact and deploy it; gives the run, of which nobody is planned yet."""
    given = {"name": "bench", "channel": "email", "content": CONTENT, "audience": {"all": True}}
    made = await fresh.engine.campaigns.create(BY, given)
    return (await fresh.engine.campaigns.deploy(BY, made.id)).id
