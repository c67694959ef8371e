"""An enrollment as it is stored, without the product that enrolls."""

import json
from uuid import UUID

from tests.kernel.scenes import Sql
from tidings.domain.caller import Caller
from tidings.domain.flow.execution import begin
from tidings.domain.flow.ids import bucket_of_id
from tidings.domain.flow.queue import Lane
from tidings.engine import Engine
from tidings.storage.load import frontier_to_json
from tidings.views.sequences import Sequence as ShownSequence


async def enroll(engine: Engine, sql: Sql, caller: Caller, drip: ShownSequence, name: str, zone: str = "UTC") -> UUID:
    """A contact on its way to the first step."""
    contact, _ = await engine.contacts.create(
        caller, {"externalId": name, "email": f"{name}@example.com".replace(" ", "."), "timeZone": zone}
    )
    found, now = await engine.sequences.published(caller.workspace, drip.id), await engine.kernel.clock.now()
    frontier = begin(found.graph, now, {"timeZone": zone})
    id = engine.kernel.new_id(bucket_of_id(contact.id), now)
    shard = engine.kernel.shard_of(id)
    await sql.execute(
        "insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, "
        "key_hash, status, frontier, cursor, input, created_at, contact_id) values ($1, $2, $3, $4, $5, $6, $7, "
        "key_hash(length_prefixed(array[$3, $4, $5::uuid::text]), $7), 'enqueued', $8, $9, '{}', $10, $11)",
        *(shard, id, caller.workspace.tenant, caller.workspace.name, drip.id, found.version_id, f"{contact.id}:1"),
        *(json.dumps(frontier_to_json(frontier)), found.graph.entry, now, contact.id),
    )
    await sql.execute(
        "insert into queue (shard, id, kind, lane, due_at, workspace_hash) values ($1, $2, 'execution', $3, $4, 1)",
        *(shard, id, Lane.SEQUENCES, frontier.ready[0].due_at),
    )
    return id
