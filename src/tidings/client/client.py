"""The client: trigger, look and wait; everything else is under its resource."""

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

from msgspec import Struct

from tidings.client.campaigns import Campaigns, Segments
from tidings.client.connections import WorkspaceConnections
from tidings.client.contacts import Contacts
from tidings.client.drafts import Drafts
from tidings.client.enrollments import Enrollments
from tidings.client.errors import WaitTimeout
from tidings.client.events import Events
from tidings.client.executions import DeadLetters, Executions
from tidings.client.failures import FailuresClient
from tidings.client.functions import FunctionAddresses
from tidings.client.keys import Keys
from tidings.client.overview import OverviewClient
from tidings.client.previews import Audiences, Previews
from tidings.client.providers import Providers, Workers
from tidings.client.rules import Rules
from tidings.client.runs import Outbox, Runs
from tidings.client.senders import SendersClient
from tidings.client.sequences import Sequences
from tidings.client.simulations import Simulations
from tidings.client.templates import TemplatesClient
from tidings.client.transport import ApiRequest, Retrying, Transport
from tidings.client.users import UsersClient
from tidings.client.workflows import Workflows
from tidings.client.workspaces import Tenants, Workspaces
from tidings.views.executions import Execution, StartedExecution

OnProgress = Callable[[Execution], Awaitable[None] | None]


class Triggered(Struct, frozen=True, kw_only=True):
    """The execution of a key, and whether the key had started it before."""

    execution: Execution
    idempotency_key: str
    duplicate: bool = False


class Client:
    """Tidings over HTTP, with one key; safe to use from many tasks at once.

    What may be repeated without harm is tried again when the connection breaks or the server is away for a moment; the
    rest only when the request cannot have arrived. `url` and `key` default to TIDINGS_URL and TIDINGS_KEY.
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, *, timeout: float = 30.0, retrying: Retrying | None = None
    ) -> None:
        url = url or os.environ.get("TIDINGS_URL")
        if not url or not url.startswith(("http://", "https://")):
            raise ValueError(f"the API's address is {url!r}: give a url like http://host:port, or set TIDINGS_URL")
        transport = Transport(url, key or os.environ.get("TIDINGS_KEY"), timeout, retrying or Retrying())
        self._transport = transport
        self.overview = OverviewClient(transport)
        self.workflows = Workflows(transport)
        self.drafts = Drafts(transport)
        self.previews = Previews(transport)
        self.audiences = Audiences(transport)
        self.executions = Executions(transport)
        self.dead_letters = DeadLetters(transport)
        self.failures = FailuresClient(transport)
        self.contacts = Contacts(transport)
        self.sequences = Sequences(transport)
        self.rules = Rules(transport)
        self.events = Events(transport)
        self.enrollments = Enrollments(transport)
        self.simulate = Simulations(transport)
        self.campaigns = Campaigns(transport)
        self.segments = Segments(transport)
        self.senders = SendersClient(transport)
        self.templates = TemplatesClient(transport)
        self.runs = Runs(transport)
        self.outbox = Outbox(transport)
        self.connections = WorkspaceConnections(transport)
        self.providers = Providers(transport)
        self.workers = Workers(transport)
        self.functions = FunctionAddresses(transport)
        self.keys = Keys(transport)
        self.users = UsersClient(transport)
        self.workspaces = Workspaces(transport)
        self.tenants = Tenants(transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def trigger(
        self,
        workflow: UUID | str,
        data: Mapping[str, Any],
        idempotency_key: str | None = None,
        *,
        contact_id: UUID | str | None = None,
    ) -> Triggered:
        """Start one execution of a workflow, by name or id, perhaps for a contact; the same key returns the same one.

        Without a key each call starts its own, and still only once, however often the connection breaks.
        """
        # Made before the first attempt, so that a second attempt cannot start another.
        key = str(uuid4()) if idempotency_key is None else idempotency_key
        body = {"workflow": str(workflow), "idempotencyKey": key, "data": data}
        if contact_id is not None:
            body["contactId"] = str(contact_id)
        started = await self._transport.ask(ApiRequest("POST", "/v1/triggers", body), StartedExecution)
        # Our own new key was never used before: "duplicate" would only mean that our second attempt arrived as well.
        duplicate = idempotency_key is not None and started.duplicate
        return Triggered(execution=started, idempotency_key=key, duplicate=duplicate)

    async def status(self, execution_id: UUID | str) -> Execution:
        """Return an execution as it is now."""
        return await self.executions.get(execution_id)

    async def wait(
        self,
        execution_id: UUID | str,
        poll: float = 2.0,
        timeout: float = 60.0,
        on_progress: OnProgress | None = None,
    ) -> Execution:
        """Return the execution once it is completed, failed or cancelled; raise WaitTimeout after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            execution = await self.status(execution_id)
            if on_progress is not None:
                told = on_progress(execution)
                if inspect.isawaitable(told):
                    await told
            left = deadline - time.monotonic()
            if execution.has_ended:
                return execution
            if left <= 0:
                raise WaitTimeout(execution_id, timeout, execution.status)
            await asyncio.sleep(min(poll, left))
