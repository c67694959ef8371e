"""The bodies of requests about workflows."""

from pydantic import BaseModel, ConfigDict, Field

from tidings.http.requests import Json, Name
from tidings.views.workflows import EXAMPLE_DEFINITION


class GivenDefinition(BaseModel):
    """A definition, either beside the other fields or under `definition`.

    As a graph (`entryNodeId`, `nodes`, `edges`) or as steps (`steps`); camelCase or snake_case.
    """

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra={"examples": [EXAMPLE_DEFINITION]})
    description: str | None = Field(None, max_length=10_000)
    definition: Json | None = Field(None, description="The definition, when its fields do not stand beside this.")


class GivenWorkflow(GivenDefinition):
    """A workflow to create: its name and its definition."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "welcome", **EXAMPLE_DEFINITION}]})
    name: Name
    active: bool = True


class ChangedWorkflow(GivenDefinition):
    """A workflow as it should be; a name, description or `active` that is left out stays as it is."""

    name: Name | None = None
    active: bool | None = None
