"""/v1/providers: what may be called, by whom, and what rests; /v1/workers: who is there to call."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from tidings.domain.flow.item import Channel
from tidings.http.access import Administrator, WorkerService
from tidings.http.resource import resource_router
from tidings.http.shapes import AT, ID, Everything, Shape, example
from tidings.resources.providers import ListedWorker

router = resource_router("Administration")


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
            "routedSince": AT,
            "printing": False,
            "servedBy": [ID],
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
    provider_class: str | None = Field(description="`keyed`, `resolvable` or `blind`; null while nobody serves it.")
    channels: list[Channel] = Field(description="What goes through it.")
    routed_since: datetime | None = Field(description="Since when.")
    printing: bool = Field(description="Whether it prints messages instead of sending them.")
    served_by: list[UUID] = Field(description="The workers that live and can call it.")
    concurrency: int | None = Field(description="The most calls of one process in the air.")
    limit: int | None = Field(description="The most calls of all workers in the air; null without a limit.")
    workers: list[WorkerShare]
    # Without the reason of a 429 or a timeout: it may quote what the provider said about another tenant's message.
    rests_until: datetime | None = Field(description="Until when all workers leave it alone.")
    unavailable_since: datetime | None = Field(description="When it could first not be used; null when it can be.")
    unavailable_times: int = Field(description="How often it was left alone since then.")
    unavailable_reason: str | None = Field(description="Why the last call could not begin.")
    is_refused: bool = Field(description="Our settings (credentials, sender) are refused: somebody must mend them.")


class Served(Shape):
    """What a worker can call through one provider."""

    provider: str
    provider_class: str
    channels: list[Channel] = Field(description="What its own settings send through it.")
    concurrency: int = Field(description="The most calls of it in the air.")


class Worker(Shape):
    """A worker that was seen a moment ago."""

    model_config = example(
        {
            "id": ID,
            "host": "mail-1",
            "pid": 4711,
            "version": "0.1.0",
            "lanes": ["transactional", "sequences", "campaigns", "runs"],
            "serves": [{"provider": "smtp", "providerClass": "blind", "channels": ["email"], "concurrency": 10}],
            "startedAt": AT,
            "lastSeenAt": AT,
        }
    )
    id: UUID
    host: str
    pid: int
    version: str
    lanes: list[str]
    serves: list[Served]
    started_at: datetime
    last_seen_at: datetime


@router.get("/v1/providers")
async def list_providers(context: Administrator) -> Everything[Provider]:
    """Every provider, who serves it, who holds how many of its slots, and whether it rests; for all workspaces."""
    return Everything(data=[Provider.model_validate(one) for one in await context.engine.providers.list()])


@router.get("/v1/workers")
async def list_workers(context: WorkerService) -> Everything[Worker]:
    """The workers that live, the longest at work first; the same for all workspaces."""
    return Everything(data=[_worker(one) for one in await context.engine.providers.workers()])


def _worker(worker: ListedWorker) -> Worker:
    return Worker(
        id=worker.id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        lanes=[lane.name.lower() for lane in worker.lanes],
        serves=[
            Served(
                provider=name,
                provider_class=one.provider_class,
                channels=list(one.channels),
                concurrency=one.concurrency,
            )
            for name, one in worker.serves.items()
        ],
        started_at=worker.started_at,
        last_seen_at=worker.last_seen_at,
    )
