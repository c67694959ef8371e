"""The description of the API: FastAPI's, with the bodies, the hot operations and every error added."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from tidings.domain.channels import Channel
from tidings.domain.paging import LARGEST_LIMIT, Created, read_created
from tidings.domain.people.contact_fields import LONGEST_EXTERNAL_ID
from tidings.domain.roles import Permission, Role
from tidings.http.administration_requests import (
    GivenFunction,
    GivenKey,
    GivenRotation,
    GivenTenantSettings,
    GivenWorkspaceSettings,
)
from tidings.http.campaign_requests import ChangedCampaign, GivenCampaign, GivenDeploy, GivenPreview, GivenTest
from tidings.http.connection_requests import ChangedConnection, GivenConnection, GivenConnectionTest
from tidings.http.contact_requests import GivenContact, GivenContacts, GivenErasure
from tidings.http.draft_requests import GivenPublication, NewDraft, SavedDraft
from tidings.http.enrollment_requests import (
    GivenEnrolling,
    GivenEnrollment,
    GivenEnrollmentStatus,
    GivenEnrollmentStatuses,
)
from tidings.http.errors import PROBLEM_JSON, TITLES
from tidings.http.preview_requests import GivenContactPreview, GivenCount, GivenMessagePreview, GivenUnsavedPreview
from tidings.http.resource import ViewRoute
from tidings.http.rule_requests import GivenCancel, GivenEvent, GivenRule
from tidings.http.run_requests import (
    GivenFailureReplay,
    GivenManyResolutions,
    GivenResolution,
    GivenResolutions,
    GivenRetry,
)
from tidings.http.segment_requests import ChangedSegment, GivenSegment
from tidings.http.sender_requests import ChangedSender, GivenSender
from tidings.http.sequence_requests import ChangedSequence, ChangedStep, DraftedSequence, GivenSequence, GivenStep
from tidings.http.session_cookie import COOKIE, SECURE_COOKIE
from tidings.http.simulation_requests import (
    GivenCampaignSimulation,
    GivenSequenceSimulation,
    GivenWorkflowSimulation,
)
from tidings.http.template_requests import ChangedTemplate, GivenTemplatePreview, NewTemplate
from tidings.http.trigger_requests import GivenNamedTrigger, GivenReplay, GivenTrigger, GivenTriggers
from tidings.http.user_requests import ChangedOwnUser, ChangedUser, GivenRedeem, GivenSignIn, GivenUser
from tidings.http.view_schemas import describe_views, reference
from tidings.http.workflow_requests import ChangedWorkflow, GivenDefinition, GivenWorkflow
from tidings.version import __version__
from tidings.views.executions import StartedExecution, StartedOne
from tidings.views.pages import Everything
from tidings.views.problems import ProblemDetails
from tidings.views.view import View

Limit = Annotated[int, Query(ge=1, le=LARGEST_LIMIT, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`nextCursor` of the page before.")]
OfContact = Annotated[
    str | None,
    Query(
        alias="contactId",
        min_length=1,
        max_length=LONGEST_EXTERNAL_ID,
        description="Only what is for this contact, or about it: its id or its externalId.",
    ),
]
ContactPath = Annotated[
    str, Path(min_length=1, max_length=LONGEST_EXTERNAL_ID, description="The contact's id or its externalId.")
]
Described = dict[str, Any]

GIVEN: tuple[type[BaseModel], ...] = (
    *(GivenWorkflow, ChangedWorkflow, GivenDefinition, GivenReplay, GivenKey, GivenFunction),
    *(GivenTrigger, GivenNamedTrigger, GivenTriggers, GivenContact, GivenContacts, GivenErasure),
    *(GivenSequence, ChangedSequence, DraftedSequence, GivenStep, ChangedStep),
    *(NewDraft, SavedDraft, GivenPublication, GivenUnsavedPreview, GivenCount),
    *(GivenRule, GivenEvent, GivenCancel),
    *(GivenEnrollment, GivenEnrolling, GivenEnrollmentStatus, GivenEnrollmentStatuses),
    *(GivenSequenceSimulation, GivenWorkflowSimulation, GivenCampaignSimulation),
    *(GivenCampaign, ChangedCampaign, GivenSegment, ChangedSegment, GivenPreview, GivenTest, GivenDeploy),
    *(GivenSender, ChangedSender, NewTemplate, ChangedTemplate, GivenTemplatePreview),
    *(GivenSignIn, GivenRedeem, ChangedOwnUser, GivenUser, ChangedUser),
    *(GivenFailureReplay, GivenManyResolutions),
    *(NewDraft, SavedDraft, GivenPublication, GivenUnsavedPreview, GivenCount, DraftedSequence),
    *(GivenRetry, GivenResolution, GivenResolutions, GivenMessagePreview, GivenContactPreview),
    *(
        GivenWorkspaceSettings,
        GivenTenantSettings,
        GivenRotation,
        GivenConnection,
        ChangedConnection,
        GivenConnectionTest,
    ),
)
BY_HAND_VIEWS: tuple[type[View], ...] = (StartedExecution, Everything[StartedOne], ProblemDetails)
"""The answers of operations that are described here, not at their routes."""
SESSION = f"Of a person who has signed in; under TLS it is called {SECURE_COOKIE}."
PUBLIC = frozenset(["/v1/health", "/functions/v1/workflow-enqueue"])
STRANGERS = frozenset(
    [
        *(("/v1/sign-in", "get"), ("/v1/sessions", "post"), ("/v1/sessions/redeem", "post")),
        *(("/v1/oidc/{name}/start", "get"), ("/v1/oidc/{name}/callback", "get")),
    ]
)
"""Operations by which somebody unknown signs in."""
OF_A_PERSON = frozenset(["/v1/session", "/v1/sessions", "/v1/session/user"])
"""What is about whoever is signed in: a key is nobody there."""
NAME_SOMETHING = frozenset(
    [
        *("/v1/triggers", "/v1/executions", "/v1/dead-letters", "/v1/dead-letters/replay", "/v1/events/cancel"),
        *("/v1/outbox", "/v1/events", "/v1/enrollments", "/v1/signing-secret"),
    ]
)
DESCRIPTION = """
Tidings sends each message once. Every operation needs a key, `Authorization: Bearer KEY`, or the cookie of somebody who
has signed in at `POST /v1/sessions`. In a session `X-Tidings-Workspace` names the workspace, and whatever is no GET
needs the header `X-Tidings-CSRF` with the `csrfToken` of `GET /v1/session`.

Bodies are JSON in camelCase; snake_case is accepted. Lists answer `{data, nextCursor}`. Errors are
`application/problem+json` with a stable `code`, and every problem with its place. Times are ISO 8601 in UTC. What
starts work takes an `idempotencyKey`: a repeat answers 200 with the first result and `duplicate: true`.
"""


NAMED = (Channel, Role, Permission)
"""Components that views refer to by name (ChannelName, RoleName, PermissionName) and hold as strings."""


def created_in(
    created_after: Annotated[
        str | None,
        Query(
            alias="createdAfter",
            max_length=100,
            description="Only what was created at this time or later: ISO 8601; a date alone is its midnight in UTC.",
        ),
    ] = None,
    created_before: Annotated[
        str | None, Query(alias="createdBefore", max_length=100, description="Only what was created before this time.")
    ] = None,
) -> Created:
    """Return the times of creation that a list is limited to."""
    return read_created(created_after, created_before)


CreatedIn = Annotated[Created, Depends(created_in)]


def takes(model: type[BaseModel], *, required: bool = True) -> Described:
    """Return the part of an operation's description that describes its body."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": reference(model)}}}}


def _answers(description: str, schema: Described, media_type: str = "application/json") -> Described:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _starts(name: str, summary: str, model: type[BaseModel], parameters: list[Described]) -> Described:
    started = reference(StartedExecution)
    return {
        "tags": ["Triggers"],
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        **takes(model),
        "responses": {
            "201": _answers("It was started.", started),
            "200": _answers("It had been started with this key before.", started),
        },
    }


_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid", "title": "Id"}}
_BULK = {
    "tags": ["Triggers"],
    "operationId": "trigger_bulk",
    "summary": "Start up to 10,000 executions",
    "description": "Checks all of them before anything is stored; safe to repeat. The body may have 10 MB.",
    **takes(GivenTriggers),
    "responses": {
        "200": _answers(
            "Each was started, or had been: one answer for each trigger, in their order.",
            reference(Everything[StartedOne]),
        )
    },
}
_ENVELOPE = {
    "type": "object",
    "required": ["success"],
    "properties": {"success": {"type": "boolean"}, "data": {"type": "object"}, "error": {"type": "string"}},
    "examples": [{"success": True, "data": {"execution_id": "…", "workflow_name": "welcome", "status": "queued"}}],
}
_ENQUEUE_BODY = {
    "type": "object",
    "required": ["action"],
    "properties": {
        "action": {"enum": ["enqueue", "status", "health"]},
        "payload": {
            "type": "object",
            "properties": {
                "workflow": {"type": "string"},
                "data": {"type": "object"},
                "correlation_id": {"type": ["string", "null"]},
                "execution_id": {"type": "string"},
            },
        },
    },
    "examples": [{"action": "enqueue", "payload": {"workflow": "welcome", "data": {"email": "ada@example.com"}}}],
}
_ENQUEUE = {
    "tags": ["Triggers"],
    "operationId": "workflow_enqueue",
    "summary": "Start a workflow or ask for its status, as existing front ends do",
    "description": "The key is taken from `apikey` or `Authorization`; `health` needs none.",
    "security": [{}, {"apikey": []}, {"bearer": []}],
    "requestBody": {"required": True, "content": {"application/json": {"schema": _ENQUEUE_BODY}}},
    "responses": {
        "200": _answers("Done.", _ENVELOPE),
        **{
            status: _answers(text, _ENVELOPE)
            for status, text in {
                "400": "The caller's mistake.",
                "401": "A key is needed.",
                "403": "The key may not.",
                "413": "The body is too large.",
                "429": "Too many requests.",
                "500": "Ours.",
            }.items()
        },
    },
}
BY_HAND: Mapping[str, Described] = {
    "/v1/workflows/{id}/triggers": {
        "post": _starts("trigger_workflow", "Start an execution of this workflow", GivenTrigger, [_ID])
    },
    "/v1/triggers": {
        "post": _starts("trigger_named", "Start an execution by the workflow's name", GivenNamedTrigger, [])
    },
    "/v1/triggers/bulk": {"post": _BULK},
    "/functions/v1/workflow-enqueue": {"post": _ENQUEUE},
}


def describe(app: FastAPI) -> Described:
    """Return the whole description; it is made once."""
    if app.openapi_schema is None:
        found = get_openapi(title="Tidings", version=__version__, description=DESCRIPTION, routes=app.routes)
        for path, operations in BY_HAND.items():
            found["paths"].setdefault(path, {}).update(operations)
        views = [route.view for route in app.routes if isinstance(route, ViewRoute) and route.view]
        _add_components(found, [*BY_HAND_VIEWS, *views])
        for path, method, operation in _operations(found):
            _add_errors(path, method, operation)
        app.openapi_schema = found
    return app.openapi_schema


def _operations(found: Described) -> Iterator[tuple[str, str, Described]]:
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def _add_components(found: Described, views: Sequence[type[View]]) -> None:
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in GIVEN]
    _, described = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas |= {name: schema for name, schema in described["$defs"].items() if name not in schemas}
    schemas |= describe_views(views) | {one.__name__: TypeAdapter(one).json_schema() for one in NAMED}
    for name in ("HTTPValidationError", "ValidationError"):  # FastAPI's own form, which no answer has
        schemas.pop(name, None)
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "An API key."},
        "apikey": {"type": "apiKey", "in": "header", "name": "apikey"},
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": SESSION},
    }


def _security(path: str, method: str) -> list[Described]:
    """Return what an operation can be asked with."""
    if (path, method) in STRANGERS:
        return [{}]
    return [{"session": []}] if path in OF_A_PERSON else [{"bearer": []}, {"session": []}]


def _add_errors(path: str, method: str, operation: Described) -> None:
    """Declare every error an operation can answer, in one form."""
    if path == "/functions/v1/workflow-enqueue":
        return
    statuses = {500, 503}
    if path not in PUBLIC:
        operation["security"] = _security(path, method)
        statuses |= {401, 403, 422, 429}
    if "requestBody" in operation:
        statuses |= {400, 413}
    if "{" in path or path in NAME_SOMETHING:
        statuses |= {404}
    if method != "get":
        statuses |= {409}
    operation["responses"].pop("422", None)
    for status in sorted(statuses):
        answer = _answers(TITLES[status], reference(ProblemDetails), PROBLEM_JSON)
        if str(status) in operation["responses"]:  # it has a form of its own beside this one
            operation["responses"][str(status)].setdefault("content", {}).update(answer["content"])
        else:
            operation["responses"][str(status)] = answer
