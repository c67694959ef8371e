"""The bodies of requests that start executions, or start failed ones again."""

from uuid import UUID

from pydantic import Field

from tidings.http.requests import ContactReference, Given, Json, example


class GivenTrigger(Given):
    """Start one execution; without a key each call starts its own."""

    model_config = example({"idempotencyKey": "signup-1", "data": {"email": "ada@example.com", "name": "Ada"}})
    idempotency_key: str | None = Field(None, min_length=1, max_length=500)
    data: Json = Field(default_factory=dict)
    contact_id: ContactReference | None = Field(
        None, description="Whom it is for, by id or externalId: `contact.*` in templates, and the default of `to`."
    )


class GivenNamedTrigger(GivenTrigger):
    """Start one execution of a workflow, given in the body by its name or id; without a key each call starts one."""

    model_config = example(
        {"workflow": "welcome", "idempotencyKey": "signup-1", "data": {"email": "ada@example.com", "name": "Ada"}}
    )
    workflow: str = Field(min_length=1, max_length=200)


class GivenTriggers(Given):
    """Start many executions, of one workflow or of several; safe to repeat with the same keys."""

    model_config = example(
        {"triggers": [{"workflow": "welcome", "idempotencyKey": "signup-1", "data": {"email": "ada@example.com"}}]}
    )
    triggers: list[GivenNamedTrigger] = Field(min_length=1, max_length=10_000)


class GivenFilter(Given):
    """Which dead letters; what is left out does not matter."""

    workflow: str | None = Field(None, max_length=200, description="Name or id.")
    error: str | None = Field(None, max_length=2_000, description="Part of the error's text.")
    node: str | None = Field(None, max_length=200)
    ids: list[UUID] | None = Field(None, max_length=10_000)


class GivenReplay(Given):
    """Start again what failed; a dry run only says what it would start."""

    model_config = example({"where": {"workflow": "welcome", "error": "timeout"}, "dryRun": True})
    where: GivenFilter
    dry_run: bool = False
