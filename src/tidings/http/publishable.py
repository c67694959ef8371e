"""What a publishable key may do: start the workflows it names, and see the state of what it started.

Everybody who opens a page has its key, so nothing here shows what another key, or the workspace, has.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from msgspec import structs

from tidings.domain.errors import Conflict, NotFound
from tidings.http.access import RequestContext
from tidings.http.errors import Forbidden
from tidings.resources.identity import Identity
from tidings.views.executions import Execution, StartedExecution

Shown = TypeVar("Shown", bound=Execution)


class KeyUsedOtherwise(Conflict):
    """The idempotency key stands for an execution with other data, which may be another visitor's."""


async def start_published(
    context: RequestContext, workflow: UUID | str, data: Mapping[str, Any], key: str | None
) -> StartedExecution:
    """Start a workflow that the key names; the same idempotency key and data return the same execution.

    Idempotency keys are the publishable key's own: a visitor can neither take one that the workspace uses, nor learn of
    it. Where the data differ nothing is told of the first, for it may be another visitor's.
    """
    identity = context.identity
    if workflow not in identity.workflows:
        named = ", ".join(sorted(identity.workflows))
        raise Forbidden(f"this key may not start {str(workflow)!r}; it may start {named}, by name")
    own_key = None if key is None else f"{_own(identity)}{key}"
    started = await context.engine.executions.trigger(
        context.caller, workflow, data, own_key, triggered_by=_starter(identity), correlated=True
    )
    if started.duplicate and started.input_payload != data:
        raise KeyUsedOtherwise("this idempotency key was used with other data; use another, one that nobody guesses")
    return started


def of_starter(identity: Identity, execution: Shown) -> Shown:
    """Return the state of an execution that this key started; any other is not found."""
    if execution.triggered_by != _starter(identity):
        raise NotFound(f"there is no execution {execution.id}")
    return structs.replace(
        execution,
        vars={},
        input_payload={},
        triggered_by=None,
        idempotency_key=execution.idempotency_key.removeprefix(_own(identity)),
        contact_id=None,
        contact=None,
        waiting=None,
    )


def _starter(identity: Identity) -> str:
    return f"publishable:{identity.id}"


def _own(identity: Identity) -> str:
    return f"{identity.id}:"
