"""Every operation × every role × {own, another workspace's, another tenant's, absent}.

The operations are taken from the description itself, so that none can be forgotten. What each role may is written down
here a second time, from the role table, so that a slip in the domain's table shows.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.http.conftest import ADA, HOME, OTHER_TENANT, OTHER_WORKSPACE, WELCOME, Person, caller, person, start
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.flow.failure_text import failure_id
from tidings.domain.flow.hosts import host_rest_name
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Rejected
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http.app import create_app
from tidings.providers.fake import FakeProvider
from tidings.storage.rests import StoredRest, rest_unavailable
from tidings.storage.vault import Vault
from tidings.views.sequences import SequenceStatus

MANAGER, OPERATOR, ADMIN, WORKER = (
    *(Role.WORKFLOW_MANAGER, Role.TRIGGER_OPERATOR),
    *(Role.SYSTEM_ADMIN, Role.WORKER_SERVICE),
)
EVERYBODY = frozenset(Role) - {Role.PUBLISHABLE}
READER = Role.READER
NOBODY: frozenset[Role] = frozenset()
"""What is about people who sign in, whatever key comes along; tests/http/test_sessions.py has them do it."""
WITHOUT_A_KEY = {
    "get_sign_in": 200,
    "sign_in": 401,
    "redeem_link": 401,
    "get_health": 200,
    "start_oidc": 404,
    "finish_oidc": 404,
}
ALLOWED: dict[str, frozenset[Role]] = {
    **dict.fromkeys(
        [
            *("create_workflow", "update_workflow", "delete_workflow", "validate_workflow"),
            *("create_draft", "save_draft", "delete_draft", "publish_draft"),
            *("validate_campaign", "validate_rule", "validate_sequence"),
            *("activate_workflow", "deactivate_workflow"),
            *("create_sequence", "update_sequence", "delete_sequence", "add_step", "update_step", "delete_step"),
            *("create_rule", "update_rule", "delete_rule", "enable_rule", "disable_rule"),
            *("create_campaign", "update_campaign", "delete_campaign"),
            *("create_segment", "update_segment", "delete_segment"),
            *("create_template", "update_template", "delete_template"),
            *("create_sender", "update_sender", "delete_sender"),
        ],
        frozenset([MANAGER, ADMIN]),
    ),
    **dict.fromkeys(
        [
            *("get_session", "update_own_user", "sign_out", "list_sessions", "sign_out_everywhere"),
            *("get_sign_in", "sign_in", "redeem_link", "start_oidc", "finish_oidc"),
        ],
        NOBODY,
    ),
    **dict.fromkeys(["list_workflows", "get_workflow", "list_versions", "list_rules", "get_rule"], EVERYBODY),
    **dict.fromkeys(["list_node_types", "list_drafts", "get_draft", "get_funnel", "get_rule_matrix"], EVERYBODY),
    **dict.fromkeys(["list_sequences", "get_sequence", "list_sequence_versions"], EVERYBODY),
    **dict.fromkeys(["list_campaigns", "get_campaign", "list_segments", "get_segment"], EVERYBODY),
    **dict.fromkeys(["list_connections", "get_connection", "list_provider_kinds"], EVERYBODY),
    **dict.fromkeys(["list_templates", "get_template", "list_template_versions", "preview_template"], EVERYBODY),
    **dict.fromkeys(["list_senders", "get_sender"], EVERYBODY),
    **dict.fromkeys(
        [
            *("trigger_workflow", "trigger_bulk", "replay_dead_letters", "replay_failures"),
            *("cancel_execution", "pause_execution", "resume_execution", "retry_execution"),
            *("send_event", "cancel_event", "cancel_event_by_key"),
            *("enroll_contact", "batch_enroll", "update_enrollment", "update_enrollments"),
            *("test_campaign", "deploy_campaign", "pause_run", "resume_run", "cancel_run", "retry_run"),
            *("resolve_run", "resolve_item", "resolve_items"),
        ],
        frozenset([OPERATOR, ADMIN]),
    ),
    **dict.fromkeys(
        [
            *("list_executions", "get_execution_log", "get_execution_path", "follow_execution", "list_dead_letters"),
            *("explain_event", "list_events", "get_event"),
            *("list_enrollments", "list_enrollments_of_contact", "get_enrollment", "explain_enrollment"),
            *("get_enrollment_logs", "list_contact_logs", "list_step_logs"),
            *("list_runs", "get_run", "list_jobs", "list_run_items", "get_run_history", "trace_run", "export_run"),
            *("get_overview", "list_failures", "list_failure_items"),
            *("list_outbox", "get_item", "list_contact_items", "tell_story", "list_job_history"),
        ],
        frozenset([MANAGER, OPERATOR, ADMIN, READER]),
    ),
    **dict.fromkeys(
        [
            *("create_contact", "upsert_contacts", "import_contacts"),
            *("erase_address", "export_contact"),
            *("update_contact", "delete_contact", "simulate_workflow", "simulate_sequence", "simulate_campaign"),
        ],
        frozenset([MANAGER, OPERATOR, ADMIN]),
    ),
    **dict.fromkeys(
        [
            *("list_contacts", "get_contact", "count_campaign_audience", "count_segment_audience"),
            *("preview_campaign", "preview_workflow", "preview_sequence", "preview_rule"),
            *("preview_unsaved", "count_audience"),
        ],
        frozenset([MANAGER, OPERATOR, ADMIN, READER]),
    ),
    **dict.fromkeys(["get_metrics", "list_workers"], frozenset([WORKER, ADMIN])),
    **dict.fromkeys(
        [
            *("create_key", "list_keys", "revoke_key", "list_audit_log"),
            *("list_users", "invite_user", "get_user", "update_user", "remove_user", "link_user", "sign_out_user"),
            *("list_functions", "set_function", "delete_function", "list_providers"),
            *("get_signing_secret", "rotate_signing_secret", "list_function_hosts", "reset_function_host"),
            *("list_workspaces", "get_workspace", "create_connection", "update_connection", "delete_connection"),
            *("enable_connection", "disable_connection", "reset_connection"),
            *("try_connection",),
        ],
        frozenset([ADMIN]),
    ),
    **dict.fromkeys(["trigger_named", "workflow_enqueue"], frozenset([OPERATOR, ADMIN, Role.PUBLISHABLE])),
    "get_execution": frozenset([MANAGER, OPERATOR, ADMIN, READER, Role.PUBLISHABLE]),
    "get_health": frozenset(Role),
}
ALLOWED |= dict.fromkeys(["set_workspace", "list_tenants", "set_tenant"], frozenset([Role.OPERATOR]))
ALLOWED = {
    operation: roles | {Role.OPERATOR} if ADMIN in roles else roles  # all that an administrator may
    for operation, roles in ALLOWED.items()
}
OF_THE_TENANT = {
    "get_user",
    "update_user",
    "remove_user",
    "link_user",
    "sign_out_user",
    "list_users",
    "revoke_key",
    "list_keys",
    "list_audit_log",
    "get_workspace",
}
"""An administrator's affair in every workspace of the tenant."""
OF_THE_INSTALLATION = {"get_workspace", "set_workspace", "set_tenant"}
"""An operator's affair in every tenant; one without settings has the defaults."""
PLACES: dict[str, Workspace | None] = {
    "own": HOME,
    "other workspace": OTHER_WORKSPACE,
    "other tenant": OTHER_TENANT,
    "absent": None,
}
STEP = {"dayOffset": 0, "channel": "email", "content": "Hi"}
MESSAGE = {"template": {"subject": "Hi", "body": "Your quote"}, "delay": "P1D"}
RULE = {"trigger": "quote_sent", "channel": "email", "audience": "lead", "steps": [MESSAGE]}
EVENT = {"trigger": "quote_sent", "lead": ADA}
CAMPAIGN = {"name": "spring", "channel": "sms", "content": {"body": "News"}, "audience": {"all": True}}


def _slug() -> str:
    return f"n-{uuid4()}"


BODIES: dict[str, Any] = {
    "create_workflow": lambda: {"name": f"w-{uuid4()}", **WELCOME},
    "update_workflow": lambda: {**WELCOME},
    "validate_workflow": lambda: {**WELCOME},
    "validate_campaign": lambda: CAMPAIGN,
    "create_draft": lambda: {"name": f"w-{uuid4()}", "definition": {"nodes": []}},
    "preview_unsaved": lambda: {"channel": "sms", "content": {"body": "Hi"}},
    "count_audience": lambda: {"audience": {"all": True}, "channel": "email"},
    "save_draft": lambda: {"definition": WELCOME},
    "validate_rule": lambda: RULE,
    "validate_sequence": lambda: {"steps": [STEP]},
    "trigger_workflow": lambda: {"data": ADA},
    "trigger_named": lambda: {"workflow": "welcome", "data": ADA},
    "trigger_bulk": lambda: {"triggers": [{"workflow": "welcome", "data": ADA}]},
    "workflow_enqueue": lambda: {"action": "enqueue", "payload": {"workflow": "welcome", "data": ADA}},
    "replay_dead_letters": lambda: {"where": {}, "dryRun": True},
    "resolve_items": lambda: {"where": {}, "outcome": "sent", "note": "in its log", "dryRun": True},
    "replay_failures": lambda: {"dryRun": True},
    "create_connection": lambda: {**_new_connection()},
    "update_connection": lambda: {"weight": 2},
    "try_connection": lambda: {"to": "ada@example.com", "waitSeconds": 0},
    "set_function": lambda: {"url": "https://example.com/f"},
    "create_key": lambda: {"name": "another", "role": "workerService"},
    "set_workspace": lambda: {"weight": 2},
    "set_tenant": lambda: {"weight": 2},
    "create_sequence": lambda: {"name": f"s-{uuid4()}", "steps": [STEP]},
    "update_sequence": lambda: {"status": "active"},
    "add_step": lambda: STEP,
    "update_step": lambda: {"dayOffset": 2},
    "enroll_contact": lambda: {"contactId": str(uuid4())},
    "batch_enroll": lambda: {"all": True},
    "update_enrollment": lambda: {"status": "paused"},
    "update_enrollments": lambda: {"where": {"all": True}, "status": "paused"},
    "create_contact": lambda: {"externalId": f"c-{uuid4()}"},
    "update_contact": lambda: {"name": "Ada"},
    "erase_address": lambda: {"address": f"{uuid4()}@example.com", "dryRun": True},
    "upsert_contacts": lambda: {"contacts": [{"externalId": "ada"}]},
    "simulate_workflow": lambda: {"data": [ADA], "days": 1},
    "simulate_sequence": lambda: {"days": 1},
    "simulate_campaign": lambda: {"days": 1},
    "create_campaign": lambda: CAMPAIGN,
    "update_campaign": lambda: {"name": "autumn"},
    "test_campaign": lambda: {"to": "me@example.com"},
    "create_segment": lambda: {"name": f"s-{uuid4()}", "audience": {"all": True}},
    "create_template": lambda: {"name": _slug(), "text": "Hi"},
    "update_template": lambda: {"text": "Good day"},
    "create_sender": lambda: {"name": _slug(), "email": "us@example.com"},
    "update_sender": lambda: {"replyTo": "help@example.com"},
    "update_segment": lambda: {"audience": {"tag": "vip"}},
    "resolve_run": lambda: {"outcome": "sent", "note": "seen"},
    "resolve_item": lambda: {"outcome": "sent", "note": "seen"},
}
BODIES |= {
    "create_rule": lambda: {**RULE, "trigger": f"t-{uuid4()}"},
    "update_rule": lambda: {**RULE, "trigger": f"t-{uuid4()}"},
    "send_event": lambda: EVENT,
    "explain_event": lambda: EVENT,
    "cancel_event_by_key": lambda: {"trigger": "quote_sent", "idempotencyKey": "k"},
}
BODIES |= {
    "invite_user": lambda: {"email": f"{uuid4()}@example.com", "name": "Somebody", "workspaces": []},
    "update_user": lambda: {"name": "Somebody else"},
    "sign_in": lambda: {"email": "ada@example.com", "password": "no password of hers"},
    "redeem_link": lambda: {"token": "none"},
}
MADE = {"/v1/contacts", "/v1/sequences", "/v1/rules", "/v1/events"}
CONTENT = {"import_contacts": b"externalId\nada\n"}


def body_of(operation: str) -> dict[str, Any]:
    if operation in CONTENT:
        return {"content": CONTENT[operation]}
    return {"json": BODIES[operation]()} if operation in BODIES else {}


def query_of(operation: str, contact: UUID) -> str:
    return f"?contactId={contact}" if operation in {"explain_enrollment", "list_enrollments_of_contact"} else ""


@cache
def operations() -> dict[str, tuple[str, str]]:
    described = create_app(_NoEngine(), Config()).openapi()  # type: ignore[arg-type]
    return {
        operation["operationId"]: (method.upper(), path)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }


class _NoEngine:
    """Describing the API needs none."""


def test_every_operation_is_in_the_table_of_this_test() -> None:
    assert operations().keys() == ALLOWED.keys()


async def _key(engine: Engine, by: Caller) -> UUID:
    return (await engine.access.create_key(by, "some key", WORKER)).id


async def _connection(engine: Engine, by: Caller) -> UUID:
    return (await engine.connections.create(by, _new_connection())).id


def _new_connection() -> dict[str, Any]:
    settings = {"host": "smtp.example.com", "from": "you@example.com"}
    # Disabled, so that what others start goes on as it did.
    return {"name": f"c-{uuid4()}", "provider": "smtp", "settings": settings, "enabled": False}


async def _function(engine: Engine, by: Caller) -> UUID:
    id = uuid4()
    await engine.functions.set(by, str(id), "https://example.com/f")
    return id


async def _signed(engine: Engine, by: Caller) -> UUID:
    await engine.functions.rotate_signing_secret(by)
    return uuid4()


async def _contact(engine: Engine, by: Caller) -> UUID:
    return (await engine.contacts.create(by, {"name": "Somebody"}))[0].id


async def _workflow(engine: Engine, by: Caller) -> UUID:
    made = await engine.workflows.create(by, f"w-{uuid4()}", WELCOME)
    await engine.drafts.save(by, made.id, WELCOME)
    return made.id


async def _sequence(engine: Engine, by: Caller) -> UUID:
    return (await engine.sequences.create(by, f"s-{uuid4()}", steps=[STEP])).id


async def _rule(engine: Engine, by: Caller) -> UUID:
    return (await engine.rules.create(by, {**RULE, "trigger": f"t-{uuid4()}"})).id


async def _event(engine: Engine, by: Caller) -> UUID:
    await engine.rules.apply(by, RULE)
    return (await engine.events.send(by, EVENT)).id


async def _enrolled(engine: Engine, by: Caller) -> UUID:
    sequence = await engine.sequences.create(by, str(uuid4()), steps=[STEP])
    await engine.sequences.update(by, sequence.id, status=SequenceStatus.ACTIVE)
    contact, _ = await engine.contacts.create(by, {"name": "Somebody"})
    return (await engine.enrollments.enroll(by, sequence.id, contact.id)).id


async def _segment(engine: Engine, by: Caller) -> UUID:
    return (await engine.segments.create(by, {"name": f"s-{uuid4()}", "audience": {"all": True}})).id


async def _campaign(engine: Engine, by: Caller) -> UUID:
    await engine.contacts.create(by, {"externalId": "ada", "phone": "+442071838750"})
    return (await engine.campaigns.create(by, CAMPAIGN)).id


async def _run(engine: Engine, by: Caller) -> UUID:
    return (await engine.campaigns.deploy(by, await _campaign(engine, by))).id


async def _item(engine: Engine, by: Caller) -> UUID:
    run = await _run(engine, by)
    await engine.work_everything()
    return (await engine.runs.items(by.workspace, run)).items[0].id


async def _template(engine: Engine, by: Caller) -> UUID:
    return (await engine.templates.create(by, {"name": _slug(), "text": "Hi"})).id


async def _sender(engine: Engine, by: Caller) -> UUID:
    return (await engine.senders.create(by, {"name": _slug(), "email": "us@example.com"})).id


async def _failure(engine: Engine, by: Caller) -> UUID:
    """A group of its own: only letters tell it from others."""
    error = "".join(chr(ord("a") + int(digit, 16)) for digit in uuid4().hex)
    provider = engine.kernel.providers["fake"]
    assert isinstance(provider, FakeProvider)
    provider.script[f"{error}@example.com"] = [Rejected(error)]
    await engine.executions.trigger(by, "welcome", {"email": f"{error}@example.com", "name": "Ada"})
    await engine.work_everything()
    return failure_id(error)


async def _user(engine: Engine, by: Caller) -> UUID:
    return (await engine.users.invite(by, f"{uuid4()}@example.com", "Somebody", {})).user.id


MAKERS = {
    "/v1/users": _user,
    "/v1/failures": _failure,
    "/v1/templates": _template,
    "/v1/senders": _sender,
    "/v1/segments": _segment,
    "/v1/campaigns": _campaign,
    "/v1/runs": _run,
    "/v1/outbox": _item,
    "/v1/api-keys": _key,
    "/v1/functions": _function,
    "/v1/connections": _connection,
    "/v1/signing-secret": _signed,
    "/v1/contacts": _contact,
    "/v1/workflows": _workflow,
    "/v1/sequences": _sequence,
    "/v1/rules": _rule,
    "/v1/events": _event,
    "/v1/enrollments": _enrolled,
}


async def make(engine: Engine, path: str, workspace: Workspace | None) -> UUID:
    """Something of the kind that the path is about; of any other it is an execution."""
    if workspace is None:
        return uuid4()
    maker = next((maker for prefix, maker in MAKERS.items() if path.startswith(prefix)), None)
    if maker:
        return await maker(engine, caller(workspace))
    execution = await start(engine, workspace)
    if path.endswith("/events"):
        await engine.work_everything()  # its stream ends
    return execution


async def _path_to_one(engine: Engine, path: str, workspace: Workspace | None) -> str:
    """The path with something that is there, in a workspace."""
    if "{tenant}" in path:
        there = workspace or Workspace("nobody", "nothing")
        return path.replace("{tenant}", there.tenant).replace("{workspace}", there.name)
    id = await make(engine, path, workspace)
    if "{stepId}" in path:
        path = path.replace("{stepId}", await _first_step(engine, workspace, id))
    if "{host}" in path:
        path = path.replace("{host}", await _silent_host(engine, workspace))
    # A route is everybody's: the first who may removes it, and the next finds none.
    return path.replace("{id}", str(id)).replace("{name}", str(id)).replace("{channel}", "sms")


async def _silent_host(engine: Engine, workspace: Workspace | None) -> str:
    """A host that rests, in a workspace."""
    host, now = f"{uuid4()}:443", await engine.kernel.clock.now()
    if workspace:
        rest = StoredRest(host_rest_name(workspace, host), now + timedelta(hours=1), "silent", now, 1, rested_at=now)
        await engine.kernel.db.persist(lambda tx: rest_unavailable(tx, rest=rest, started_at=now))
    return host


async def _first_step(engine: Engine, workspace: Workspace | None, id: UUID) -> str:
    return str((await engine.sequences.get(workspace, id)).steps[0].id) if workspace else str(uuid4())


async def _started(engine: Engine, _: str, workspace: Workspace) -> UUID:
    return await start(engine, workspace)


@pytest.mark.parametrize("roles", sorted({tuple(sorted(roles)) for roles in ALLOWED.values()}), ids=" ".join)
async def test_a_role_may_what_its_table_says_and_only_at_home(
    roles: tuple[Role, ...], engine: Engine, http: httpx2.AsyncClient
) -> None:
    object.__setattr__(engine.kernel, "vault", Vault([bytes(32)]))
    for home in (HOME, OTHER_WORKSPACE, OTHER_TENANT):
        await engine.workflows.create(caller(home), "welcome", WELCOME)
        await engine.contacts.create(caller(home), {"externalId": "somebody"})
    contact = (await engine.contacts.find(HOME, "somebody")).id
    await engine.rules.apply(caller(), RULE)
    await engine.events.send(caller(), {**EVENT, "idempotencyKey": "k"})
    people = {role: await person(engine, http, role) for role in Role}

    wrong = [
        case
        for operation in ALLOWED
        if ALLOWED[operation] == {*roles}
        async for case in _wrong_answers(operation, engine, people, contact)
    ]

    assert wrong == []


async def _wrong_answers(
    operation: str, engine: Engine, people: Mapping[Role, Person], contact: UUID
) -> AsyncIterator[str]:
    """What each role is told about something in each place, as far as it is not what the tables say."""
    method, path = operations()[operation]
    paths: dict[str, str] = {}
    for role, somebody in people.items():
        for place, workspace in PLACES.items():
            if "{" not in path and place != "own":
                continue
            if place not in paths:
                paths[place] = await _path_to_one(engine, path, workspace)
            answer = await somebody.ask(method, paths[place] + query_of(operation, contact), **body_of(operation))
            if answer.status_code not in _expected(operation, role, workspace):
                yield f"{operation} by {role} on {place}: {answer.status_code} {answer.text}"
            if method != "GET" and answer.is_success:
                del paths[place]  # the next role gets another one, which nobody has changed


def _expected(operation: str, role: Role, workspace: Workspace | None) -> set[int]:
    """What may be answered to a role about something in a workspace, or about nothing."""
    if not ALLOWED[operation]:
        return {WITHOUT_A_KEY.get(operation, 401)}
    if role not in ALLOWED[operation]:
        return {403}
    if role is Role.PUBLISHABLE and operation == "get_execution":
        return {404}  # another key started it: test_publishable.py reads those of its own
    if (
        workspace == HOME
        or operation == "set_function"  # a name is one's own, whoever else has it
        or (role is Role.OPERATOR and operation in OF_THE_INSTALLATION)
        or (workspace == OTHER_WORKSPACE and operation in OF_THE_TENANT)
    ):
        return {200, 201, 204, 409}
    return {404}


@pytest.mark.usefixtures("guessing")
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer tid_nobody"}, {"Authorization": "Basic eDp5"}])
async def test_without_a_key_nothing_but_health_is_answered(headers: dict[str, str], http: httpx2.AsyncClient) -> None:
    for operation, (method, path) in operations().items():
        somewhere = path.replace("{id}", str(uuid4())).replace("{stepId}", str(uuid4())).replace("{name}", "f")
        somewhere = somewhere.replace("{tenant}", "acme").replace("{workspace}", "main").replace("{host}", "h:1")
        asked = somewhere.replace("{channel}", "sms") + query_of(operation, uuid4())

        answer = await http.request(method, asked, headers=headers, **body_of(operation))

        assert answer.status_code == WITHOUT_A_KEY.get(operation, 401), operation


async def test_a_foreign_id_and_an_absent_one_are_told_in_the_same_words(
    engine: Engine, http: httpx2.AsyncClient
) -> None:
    reader = await person(engine, http, OPERATOR)
    await engine.workflows.create(caller(OTHER_TENANT), "welcome", WELCOME)
    foreign, absent = str(await start(engine, OTHER_TENANT)), str(uuid4())

    answers = [(await reader.get(f"/v1/executions/{id}")).json() | {"requestId": ""} for id in (foreign, absent)]

    assert str(answers[0]).replace(foreign, "ID") == str(answers[1]).replace(absent, "ID")


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/workflows", "/v1/executions", "/v1/dead-letters", "/v1/contacts", "/v1/sequences", "/v1/rules"),
        "/v1/events",
    ],
)
async def test_a_list_holds_only_what_is_of_the_workspace(path: str, engine: Engine, http: httpx2.AsyncClient) -> None:
    ids = {}
    for workspace in (HOME, OTHER_WORKSPACE, OTHER_TENANT):
        await engine.workflows.create(caller(workspace), "welcome", WELCOME)
        ids[workspace] = str(await (make if path in MADE else _started)(engine, path, workspace))
    reader = await person(engine, http, ADMIN)

    listed = (await reader.get(path)).json()["data"]

    assert len(listed) == (0 if path == "/v1/dead-letters" else 1)
    assert ids[OTHER_TENANT] not in str(listed)
    assert ids[OTHER_WORKSPACE] not in str(listed)


async def test_an_administrator_sees_the_keys_and_the_history_of_the_tenant_and_of_no_other(
    engine: Engine, http: httpx2.AsyncClient
) -> None:
    admin = await person(engine, http, ADMIN)
    await person(engine, http, WORKER, OTHER_WORKSPACE)
    await person(engine, http, WORKER, OTHER_TENANT)

    keys = (await admin.get("/v1/api-keys")).json()["data"]
    history = (await admin.get("/v1/audit-log")).json()["data"]

    assert {(key["tenant"], key["workspace"]) for key in keys} == {("acme", "second"), ("acme", "main")}
    assert {(line["workspace"], line["event"]) for line in history} == {("second", "created"), ("main", "created")}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"role": "operator"}, "neither makes nor revokes keys of role operator"),
        ({"role": "systemAdmin", "tenant": "rival"}, "of its own tenant only"),
    ],
)
async def test_an_administrator_makes_no_operator_and_no_key_of_another_tenant(
    asked: Mapping[str, str], reason: str, engine: Engine, http: httpx2.AsyncClient
) -> None:
    admin, host = await person(engine, http, ADMIN), await person(engine, http, Role.OPERATOR)

    refused = await admin.post("/v1/api-keys", {"name": "more", **asked})
    made = await host.post("/v1/api-keys", {"name": "more", **asked})

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert reason in refused.json()["detail"]
    assert (made.status_code, made.json()["role"], made.json()["tenant"]) == (
        *(201, asked["role"]),
        asked.get("tenant", HOME.tenant),
    )


async def test_an_administrator_names_its_own_tenant_and_locks_no_operator_out(
    engine: Engine, http: httpx2.AsyncClient
) -> None:
    admin, host = await person(engine, http, ADMIN), await person(engine, http, Role.OPERATOR)
    [key] = [key for key in (await admin.get("/v1/api-keys")).json()["data"] if key["role"] == "operator"]

    own = await admin.post("/v1/api-keys", {"name": "more", "role": "workerService", "tenant": HOME.tenant})
    refused = await admin.ask("DELETE", f"/v1/api-keys/{key['id']}")

    assert (own.status_code, refused.status_code) == (201, 403)
    assert (await host.ask("DELETE", f"/v1/api-keys/{key['id']}")).status_code == 204
