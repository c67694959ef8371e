"""What goes in and out, as models: camelCase in JSON, snake_case accepted; nothing inside a user's data is renamed."""

from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tidings.domain.flow.item import Channel
from tidings.domain.names import LONGEST_NAME, problem_of_name
from tidings.domain.people.contact import LONGEST_EXTERNAL_ID
from tidings.domain.roles import Role
from tidings.views.workflows import EXAMPLE_DEFINITION

Json = dict[str, Any]
ContactReference = Annotated[
    str, Field(min_length=1, max_length=LONGEST_EXTERNAL_ID, description="A contact: its id or its externalId.")
]


def _named(given: str) -> str:
    if wrong := problem_of_name(given):
        raise ValueError(wrong)
    return given


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_named)]
"""What something is called."""
ID = "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f"
AT = "2026-03-02T09:00:00Z"
CONTACT: Json = {"externalId": "crm-1815", "name": "Ada Lovelace", "email": "ada@example.com"}
EXAMPLE_WORKFLOW: Json = {"name": "welcome", **EXAMPLE_DEFINITION}


def example(value: Json) -> ConfigDict:
    """A configuration with an example for the documentation."""
    return ConfigDict(json_schema_extra={"examples": [value]})


class Shape(BaseModel):
    """What goes out."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class Given(BaseModel):
    """What comes in: nothing is guessed, and nothing that nobody reads is taken."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)


class ContactName(Shape):
    """What a contact is called."""

    external_id: str
    name: str | None
    email: str | None


Item = TypeVar("Item", bound=Shape)


class List(Shape, Generic[Item]):
    """A page: ask with `cursor=nextCursor` for the next, until that is null."""

    data: list[Item]
    next_cursor: str | None


class Everything(Shape, Generic[Item]):
    """A list that is never long."""

    data: list[Item]


class ProblemPlace(Shape):
    """One thing that is wrong, and where."""

    place: str
    message: str


class GivenDefinition(BaseModel):
    """A definition, either beside the other fields or under `definition`.

    As a graph (`entryNodeId`, `nodes`, `edges`) or as steps (`steps`); camelCase or snake_case.
    """

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra={"examples": [EXAMPLE_DEFINITION]})
    description: str | None = Field(None, max_length=10_000)
    definition: Json | None = Field(None, description="The definition, when its fields do not stand beside this.")


class GivenWorkflow(GivenDefinition):
    """A workflow to be made: its name and its definition."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE_WORKFLOW]})
    name: Name
    active: bool = True


class ChangedWorkflow(GivenDefinition):
    """A workflow as it should be; a name, description or `active` that is left out stays as it is."""

    name: Name | None = None
    active: bool | None = None


Waiting = Annotated[
    str | None, Field(description="Why nobody can do what comes next, if so: `no worker serves smtp`, say.")
]
Printed = Annotated[bool, Field(description="Whether it is only printed, not sent, because that was asked for.")]
NotReady = Annotated[
    list[Channel],
    Field(description="Channels it needs that no provider is set up for: until then it starts nothing (409)."),
]


class GivenTrigger(Given):
    """Start one execution; without a key each call starts its own."""

    model_config = example({"idempotencyKey": "signup-1", "data": {"email": "ada@example.com", "name": "Ada"}})
    idempotency_key: str | None = Field(None, min_length=1, max_length=500)
    data: Json = Field(default_factory=dict)
    contact_id: ContactReference | None = Field(
        None, description="Whom it is for, by id or externalId: `contact.*` in templates, and the default of `to`."
    )


class GivenNamedTrigger(GivenTrigger):
    """The same for a workflow named in the body, by its name or id."""

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


class Attempt(Shape):
    """A call that did not succeed."""

    attempt: int
    outcome: str
    error: str
    started_at: datetime
    ended_at: datetime


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


class GivenKey(Given):
    """A key to be made, for a workspace of this tenant; left out, it is the caller's own."""

    model_config = example({"name": "signup form", "role": "triggerOperator"})
    name: Name
    role: Role
    workspace: Name | None = None
    expires_at: AwareDatetime | None = None


class GivenFunction(Given):
    """Where a function is, and the secret that its calls carry."""

    model_config = example({"url": "https://example.com/functions/v1/send-email", "secret": "…"})
    url: str = Field(min_length=1, max_length=2_000)
    secret: str | None = Field(None, min_length=1, max_length=4_000, description="Write-only; stored encrypted.")
