"""Workflows, their versions, and what is wrong with a definition."""

from collections.abc import Sequence
from typing import Annotated, Any

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
FormName = Annotated[str, Meta(extra_json_schema={"enum": ["graph", "steps"]}, examples=["graph"])]
"""How a definition is written."""


class Workflow(View, frozen=True, kw_only=True):
    """A workflow with the definition of its newest version, whose fields stand beside these as they were written."""

    id: Id
    name: Annotated[str, doc(example="welcome")]
    description: str | None = None
    active: Annotated[bool, doc(example=True)]
    version: int
    form: FormName = "graph"
    definition: Definition
    not_ready: Annotated[
        Sequence[ChannelName],
        doc("Channels it needs that no provider is set up for: until then it starts nothing (409).", []),
    ] = ()
    created_at: Time
    updated_at: Time

    def in_json(self) -> dict[str, Any]:
        """Its fields, and those of its definition beside them: either can be changed and written back."""
        own = super().in_json()
        return own | {name: value for name, value in self.definition.items() if name not in own}


class WorkflowVersion(View, frozen=True, kw_only=True):
    """One frozen version."""

    id: Id
    number: int
    definition: Definition
    created_at: Time


class Validated(View, frozen=True, kw_only=True):
    """Everything that is wrong with a definition."""

    valid: bool = False
    errors: Sequence[ProblemPlace] = ()
