"""POST /functions/v1/workflow-enqueue: the endpoint that existing front ends call, in their words.

`{action: enqueue | status | health, payload}` is answered with `{success, data}` or `{success: false, error}`.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import structs
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from tidings.domain.errors import ChannelNotReady, Conflict, InputInvalid, NotFound, StorageUnavailable, TidingsError
from tidings.domain.roles import Permission
from tidings.domain.words import WORDS
from tidings.http.access import ORIGIN_ALLOWED, RequestContext, admit, api_of, by_key, recognise, refusal_of
from tidings.http.answers import JSON, encode
from tidings.http.bodies import LARGEST_BODY, decode, read_body
from tidings.http.body_memory import WORKSPACE
from tidings.http.errors import RETRY_AFTER, BodyTooLarge, RequestRefused, request_id_of, status_of
from tidings.http.publishable import KeyUsedOtherwise, of_starter, start_published
from tidings.log import log
from tidings.resources.identity import Identity
from tidings.views.executions import Execution, StartedExecution

PATH = "/functions/v1/workflow-enqueue"
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "authorization, x-client-info, apikey, content-type",
    "Access-Control-Allow-Methods": "POST, OPTIONS",
}
PERMISSIONS: Mapping[str, Permission] = {"enqueue": Permission.ENQUEUE, "status": Permission.READ_STATUS}
DEADLINE_SECONDS = 25.0
LARGEST_OF_A_STRANGER = 1_000
"""Bytes of a body that are read before there is a valid key: `health` needs none."""
DUPLICATE = "Workflow already exists (idempotent)"


class WorkflowEnqueue:
    """An ASGI app of its own: it answers every method, and shares no form with the rest of the API."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        if request.method == "OPTIONS":
            answer: Response = PlainTextResponse("ok", headers=CORS)
        elif request.method != "POST":
            answer = _failure(405, "Method not allowed", {"Allow": "POST, OPTIONS"})
        else:
            answer = await _answer(request)
            if origin := scope.get(ORIGIN_ALLOWED):
                answer.headers.update({"Access-Control-Allow-Origin": origin, "Vary": "Origin"})
        await answer(scope, receive, send)


async def _answer(request: Request) -> Response:
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):  # before the edge's own, whose answer has another form
            return _envelope(200, {"success": True, "data": await _act(request)})
    except InputInvalid as error:
        return _failure(400, str(error))
    except RequestRefused as error:
        return _failure(status_of(error), str(error), error.headers())
    except StorageUnavailable as error:
        log.warning("request_failed", request_id=request_id_of(request), code=error.code, reason=str(error))
        return _failure(503, "The database is not available; try again in a moment", RETRY_AFTER)
    except TidingsError as error:
        log.warning("request_failed", request_id=request_id_of(request), code=error.code, reason=str(error))
    except Exception:
        log.exception("request_crashed", request_id=request_id_of(request), path=PATH)
    return _failure(500, "An unexpected error occurred")


async def _act(request: Request) -> Mapping[str, Any]:
    admitted = await _recognise(request)
    body = await _read(request, is_known=admitted is not None)
    if not isinstance(body, dict):
        raise InputInvalid("the body must be an object with action and payload")
    action, payload = _required(body, "action"), body.get("payload")
    if action == "health":
        return {"status": "healthy", "timestamp": datetime.now(UTC)}
    if action not in ("enqueue", "status"):
        raise InputInvalid(f"Unknown action: {action}")
    if admitted is None:
        raise _no_key(request)
    context = admit(request, admitted[0], PERMISSIONS[action], by_key(api_of(request).engine, admitted[1]))
    if not isinstance(payload, dict):
        raise InputInvalid("payload is required")
    return await (_enqueue if action == "enqueue" else _status)(context, payload)


async def _recognise(request: Request) -> tuple[Identity, str] | None:
    """Return who asks, by `apikey`, which such clients always send, or else by the bearer, maybe a user's token."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    candidates = [request.headers.get("apikey", ""), bearer if scheme.lower() == "bearer" else ""]
    for secret in filter(None, (one.strip() for one in candidates)):
        if identity := await recognise(request, secret):
            request.scope[WORKSPACE] = identity.workspace  # whose memory the body takes
            return identity, secret
    return None


async def _read(request: Request, *, is_known: bool) -> Any:
    """Read the body; of a stranger, who may only ask for health, no more than that takes."""
    try:
        return decode(await read_body(request, LARGEST_BODY if is_known else LARGEST_OF_A_STRANGER))
    except BodyTooLarge as error:
        if is_known:
            raise
        raise _no_key(request) from error


def _no_key(request: Request) -> RequestRefused:
    return refusal_of(request, "a valid key is needed, in apikey or Authorization")


async def _enqueue(context: RequestContext, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    workflow, data = _required(payload, "workflow"), _required(payload, "data")
    key = payload.get("correlation_id") or None
    if not isinstance(workflow, str):
        raise InputInvalid("workflow must be a workflow's name")
    if not isinstance(data, dict):
        raise InputInvalid("data must be an object")
    if key is not None and not isinstance(key, str):
        raise InputInvalid("correlation_id must be a string")
    execution = await _start(context, workflow, data, key)
    named = {"execution_id": execution.id, "workflow_name": workflow}
    if execution.duplicate:
        return named | {"status": WORDS[execution.status].steps, "message": DUPLICATE}
    return named | {"status": "queued", "total_steps": execution.total_steps}


async def _start(context: RequestContext, workflow: str, data: Mapping[str, Any], key: str | None) -> StartedExecution:
    try:
        if context.identity.is_publishable:
            return await start_published(context, workflow, data, key)
        return await context.engine.executions.trigger(
            context.caller, workflow, data, key, triggered_by="frontend", correlated=True
        )
    except KeyUsedOtherwise as error:
        raise InputInvalid(str(error)) from error
    except ChannelNotReady as error:
        raise InputInvalid(f"Workflow not ready: {error}") from error
    except (NotFound, Conflict) as error:
        raise InputInvalid(f"Workflow not found: {workflow}") from error


async def _status(context: RequestContext, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    id = _required(payload, "execution_id")
    try:
        execution, accumulated = await context.engine.executions.get_with_context(context.workspace, UUID(id))
        if context.identity.is_publishable:
            shown = of_starter(context.identity, execution)
            execution = structs.replace(shown, input_payload=execution.input_payload, triggered_by="frontend")
        return _row(execution, accumulated)
    except (NotFound, ValueError, AttributeError, TypeError) as error:
        raise InputInvalid(f"Execution not found: {id}") from error


def _row(execution: Execution, context: Mapping[str, object]) -> Mapping[str, Any]:
    """Return an execution with the columns that such front ends know."""
    return {
        "id": execution.id,
        "execution_id": execution.id,
        "workflow_name": execution.workflow_name,
        "workflow_version": execution.workflow_version,
        "status": WORDS[execution.status].steps,
        "current_step": execution.current_step,
        "total_steps": execution.total_steps,
        "input_payload": execution.input_payload,
        "context": context,
        "error_message": execution.error_message,
        "error_step": execution.error_step,
        "retry_count": execution.retry_count,
        "correlation_id": execution.idempotency_key,
        "triggered_by": execution.triggered_by,
        "created_at": execution.created_at,
        "started_at": execution.started_at,
        "completed_at": execution.completed_at,
    }


def _required(fields: Mapping[str, Any], name: str) -> Any:
    """Return a field that must have a value: null and the empty string are refused."""
    value = fields.get(name)
    if value is None or value == "":
        raise InputInvalid(f"{name} is required")
    return value


def _failure(status: int, error: str, headers: Mapping[str, str] | None = None) -> Response:
    return _envelope(status, {"success": False, "error": error}, headers)


def _envelope(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(body), status, headers={**CORS, **(headers or {})}, media_type=JSON)
