"""What the API answers, as typed records; fields that a newer server adds are left out.

JSON's camelCase is snake_case here.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tidings.views.executions import Execution

Json = Mapping[str, Any]


class Workflow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A workflow with the definition of its current version."""

    id: UUID
    name: str
    version: int
    active: bool
    definition: Json
    description: str | None = None
    form: str | None = None
    not_ready: list[str] = []
    """Channels it needs that no provider is set up for: until then it starts nothing."""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Version(Struct, frozen=True, kw_only=True, rename="camel"):
    """One frozen version of a workflow."""

    number: int
    definition: Json
    id: UUID | None = None
    created_at: datetime | None = None


class Applied(Struct, frozen=True, kw_only=True):
    """A workflow that is now as asked for, and what had to be done."""

    workflow: Workflow
    change: Literal["created", "updated", "unchanged"]


class Triggered(Struct, frozen=True, kw_only=True):
    """The execution of a key, and whether the key had started it before."""

    execution: Execution
    idempotency_key: str
    duplicate: bool = False


class ApiKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """A key as it may be shown: never its secret."""

    id: UUID
    name: str
    role: str
    tenant: str | None = None
    workspace: str | None = None
    prefix: str | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class NewKey(Struct, frozen=True, kw_only=True):
    """A new key and its secret, which is shown this once."""

    key: ApiKey
    secret: str


class WorkerShare(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one worker holds of a provider's limit."""

    worker_id: UUID
    slots: int
    wanted: int = 0
    until: datetime | None = None


class Provider(Struct, frozen=True, kw_only=True, rename="camel"):
    """A provider, and who may call it."""

    name: str
    provider_class: str | None = None
    channels: list[str] = []
    routed_since: datetime | None = None
    printing: bool = False
    served_by: list[UUID] = []
    """The workers that live and can call it."""
    concurrency: int | None = None
    limit: int | None = None
    workers: list[WorkerShare] = []
    rests_until: datetime | None = None
    unavailable_since: datetime | None = None
    unavailable_times: int = 0
    unavailable_reason: str | None = None
    is_refused: bool = False


class Served(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a worker can call through one provider."""

    provider: str
    provider_class: str | None = None
    channels: list[str] = []
    concurrency: int | None = None


class Worker(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that was seen a moment ago."""

    id: UUID
    host: str
    pid: int
    version: str
    lanes: list[str] = []
    serves: list[Served] = []
    started_at: datetime | None = None
    last_seen_at: datetime | None = None
