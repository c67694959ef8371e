"""What tests about contacts have in common: somebody to write to, and work for them."""

from collections.abc import Mapping
from uuid import UUID

from tests.kernel.scenes import graph
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine

ANN = Caller(Workspace(), "ann")
ADA: Mapping[str, object] = {
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "phone": "+442071838750",
    "pushTokens": ["token-1", "token-2"],
    "tags": ["vip"],
    "attributes": {"plan": "pro", "since": "2026-03-02T10:00:00Z"},
}


async def make(engine: Engine, external_id: str | None = "ada", **more: object) -> UUID:
    """A contact; without an external id, in a shard that chance decides."""
    given = {**ADA, **more} | ({"externalId": external_id} if external_id else {})
    return (await engine.contacts.create(ANN, given))[0].id


async def change(engine: Engine, id: UUID, **fields: object) -> None:
    await engine.contacts.update(ANN, id, fields)


async def start_for(
    engine: Engine, contact_id: UUID, *nodes: Mapping[str, object], key: str = "k1", **data: object
) -> UUID:
    """Define a workflow of these nodes and trigger it for a contact."""
    await engine.define("flow", graph(*nodes))
    return (await engine.executions.trigger(ANN, "flow", data, key, contact_id=contact_id)).id


def to_contact(id: str = "hello", channel: str = "email", **more: object) -> dict[str, object]:
    """A send without `to`."""
    content = {"script": f"This is {id}"} if channel == "voice" else {"body": f"This is {id}"}
    return {"id": id, "type": channel, **content, **({"subject": "Hi"} if channel == "email" else {})} | more
