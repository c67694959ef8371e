"""Workflows, their versions, and the problems of a definition."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from tidings.views.problems import ProblemPlace
from tidings.views.view import ChannelName, Id, Json, Time, View, doc

EXAMPLE_DEFINITION: dict[str, Any] = {
    "entryNodeId": "hello",
    "nodes": [
        {"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Welcome, {{ name }}", "body": "Good day."},
        {"id": "wait", "type": "delay", "duration": "P3D"},
        {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"},
    ],
    "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
}
Definition = Annotated[Json, doc(example=EXAMPLE_DEFINITION)]
Templates = Annotated[
    Mapping[str, int],
    doc(
        "The templates that it renders, each with the version that was the newest when it was published.", {"footer": 3}
    ),
]
FormName = Annotated[str, Meta(extra_json_schema={"enum": ["graph", "steps"]}, examples=["graph"])]
"""How a definition is written: as a graph or as steps."""


class Workflow(View, frozen=True, kw_only=True):
    """A workflow with its newest definition, whose fields stand beside these as they were written."""

    id: Id
    name: Annotated[str, doc(example="welcome")]
    description: str | None = None
    active: Annotated[bool, doc(example=True)]
    version: int
    form: FormName = "graph"
    definition: Definition
    templates: Templates = {}
    not_ready: Annotated[
        Sequence[ChannelName],
        doc("The channels it needs for which no provider is set up; until each has one, it starts nothing (409).", []),
    ] = ()
    created_at: Time
    updated_at: Time

    def in_json(self) -> dict[str, Any]:
        """Return its fields and those of its definition, so that a caller can change either and send it back."""
        own = super().in_json()
        return own | {name: value for name, value in self.definition.items() if name not in own}


class WorkflowVersion(View, frozen=True, kw_only=True):
    """One version of a workflow; it never changes."""

    id: Id
    number: int
    definition: Definition
    templates: Templates = {}
    created_at: Time
    in_flight: Annotated[
        int | None, doc("How many executions under way go by it; told in the list of a workflow's versions.", 12)
    ] = None


Origin = Literal["contact", "data", "node", "event", "campaign", "error"]


class Variable(View, frozen=True, kw_only=True):
    """A name that templates and conditions may use."""

    name: Annotated[str, doc(example="vars.hello.status")]
    origin: Annotated[Origin, doc("Where it comes from; `data` is what whoever starts it gives.", "node")]
    node: Annotated[str | None, doc("The node whose result it is; known at those that it leads to.", "hello")] = None


class Validated(View, frozen=True, kw_only=True):
    """Every problem of what was given, and the names that its templates may use."""

    valid: bool = False
    errors: Sequence[ProblemPlace] = ()
    variables: Sequence[Variable] = ()
