"""/v1/providers: what may be called, by whom, and what rests."""

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from tidings.domain.item import Channel
from tidings.http.access import Administrator
from tidings.http.shapes import AT, ID, Everything, Shape, example

router = APIRouter(tags=["Administration"])


class WorkerShare(Shape):
    """What one worker holds of a provider's limit."""

    worker_id: UUID = Field(description="As the worker's log line `worker_started` gives it.")
    slots: int = Field(description="The calls it may have in the air.")
    wanted: int = Field(description="The calls it would make at once if it could; 0 when it is idle.")
    until: datetime = Field(description="When its slots come free if it does not renew them.")


class Provider(Shape):
    """A provider, and who may call it."""

    model_config = example(
        {
            "name": "smtp",
            "providerClass": "blind",
            "channels": ["email"],
            "concurrency": 10,
            "limit": 20,
            "workers": [{"workerId": ID, "slots": 10, "wanted": 10, "until": AT}],
            "restsUntil": None,
            "unavailableSince": None,
            "unavailableTimes": 0,
            "unavailableReason": None,
            "isRefused": False,
        }
    )
    name: str
    provider_class: str | None = Field(description="`keyed`, `resolvable` or `blind`; null if only workers have it.")
    channels: list[Channel] = Field(description="What goes through it here.")
    concurrency: int | None = Field(description="The most calls of one process in the air.")
    limit: int | None = Field(description="The most calls of all workers in the air; null without a limit.")
    workers: list[WorkerShare]
    # Without the reason of a 429 or a timeout: it may quote what the provider said about another tenant's message.
    rests_until: datetime | None = Field(description="Until when all workers leave it alone.")
    unavailable_since: datetime | None = Field(description="When it could first not be used; null when it can be.")
    unavailable_times: int = Field(description="How often it was left alone since then.")
    unavailable_reason: str | None = Field(description="Why the last call could not begin.")
    is_refused: bool = Field(description="Our settings (credentials, sender) are refused: somebody must mend them.")


@router.get("/v1/providers")
async def list_providers(visit: Administrator) -> Everything[Provider]:
    """Every provider, who holds how many of its slots, and whether it rests; the same for all workspaces."""
    return Everything(data=[Provider.model_validate(one) for one in await visit.engine.providers.list()])
