"""What an editor makes its forms and its completion of."""

from collections.abc import Sequence
from typing import Annotated, Any

from tidings.views.view import ChannelName, Json, View, doc

EXAMPLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"body": {"title": "Body", "description": "What it says.", "type": "string", "format": "liquid"}},
    "required": ["body"],
    "additionalProperties": False,
}
Schema = Annotated[
    Json,
    doc(
        "A JSON schema. `format` says what a string or an object holds: liquid, html, duration, time, condition, json, "
        "or the name of a template, a sender or a function; `sameAs` names the field that this is another name of.",
        EXAMPLE_SCHEMA,
    ),
]


class NodeForm(View, frozen=True, kw_only=True):
    """A type of node, and the form of one."""

    type: Annotated[str, doc(example="sms")]
    about: Annotated[str, doc(example="Sends over sms.")]
    is_branch: Annotated[bool, doc("Whether the edges out of it have conditions.", example=False)] = False
    sends: Annotated[bool, doc("Whether it sends a message over the channel of its name.", example=True)] = False
    schema: Schema


class WorkflowForms(View, frozen=True, kw_only=True):
    """The forms of the rest of a workflow."""

    options: Schema
    edge: Schema
    step: Schema


class ChannelForm(View, frozen=True, kw_only=True):
    """What a message over a channel is made of, in nodes as in campaigns, rules and steps of sequences."""

    channel: ChannelName
    reaches_contacts: Annotated[bool, doc("Whether contacts have addresses for it.", example=True)]
    needs_to: Annotated[bool, doc("Whether a node must say whom it is for.", example=False)]
    in_steps: Annotated[bool, doc("Whether rules and steps of sequences send over it.", example=True)]
    text: Annotated[str | None, doc("The field that holds what it says.", "body")]
    subject: Annotated[str | None, doc("The field above that, where the channel shows one.", "subject")] = None
    schema: Schema


class LiquidTag(View, frozen=True, kw_only=True):
    """A tag of Liquid, and the tag that ends it if it holds something."""

    name: Annotated[str, doc(example="if")]
    end: Annotated[str | None, doc(example="endif")] = None


class LiquidWords(View, frozen=True, kw_only=True):
    """The words that templates may use."""

    filters: Annotated[Sequence[str], doc(example=["default", "upcase"])]
    tags: Sequence[LiquidTag]


class Operator(View, frozen=True, kw_only=True):
    """How conditions and filters compare."""

    name: Annotated[str, doc(example="equals")]
    takes_value: Annotated[bool, doc(example=True)]


class NodeTypes(View, frozen=True, kw_only=True):
    """Everything that the forms of an editor are made of."""

    nodes: Sequence[NodeForm]
    workflow: WorkflowForms
    channels: Sequence[ChannelForm]
    liquid: LiquidWords
    operators: Sequence[Operator]
    contact_filters: Annotated[Sequence[str], doc("What a condition may ask of a contact.", ["tag", "company"])]
