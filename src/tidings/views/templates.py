"""Templates: what is written once, and rendered in many messages or wraps them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from tidings.views.view import Id, Time, View, doc

EXAMPLE_TEXT = "<p>{{ company.name }}, {{ company.street }}</p>"


class TemplateKind(StrEnum):
    """What a template is for: to be rendered inside of others, or to wrap a message."""

    PARTIAL = "partial"
    LAYOUT = "layout"


class TemplateFormat(StrEnum):
    """What a template is written in."""

    HTML = "html"
    TEXT = "text"


class TemplateUserKind(StrEnum):
    """What may use a template."""

    WORKFLOW = "workflow"
    SEQUENCE = "sequence"
    RULE = "rule"
    CAMPAIGN = "campaign"
    TEMPLATE = "template"


class TemplateUser(View, frozen=True, kw_only=True):
    """Something that uses a template, as it is published now."""

    kind: Annotated[TemplateUserKind, doc(example="workflow")]
    id: Id
    name: Annotated[str, doc("Its name; of a rule its key.", "welcome")]
    version: Annotated[
        int | None,
        doc("The version of the template that it keeps until it is published again; null where the newest is taken."),
    ] = None


class NamedTemplate(View, frozen=True, kw_only=True):
    """A template with its newest version."""

    id: Id
    name: Annotated[str, doc("What `render` and `layout` call it.", "footer")]
    kind: Annotated[TemplateKind, doc(example="partial")]
    format: Annotated[TemplateFormat, doc(example="html")]
    text: Annotated[str, doc(example=EXAMPLE_TEXT)]
    description: str | None = None
    version: Annotated[int, doc(example=1)]
    users: Annotated[
        Sequence[TemplateUser] | None, doc("What uses it; null in a list, and in the answer to a change.")
    ] = None
    created_at: Time
    updated_at: Time


class TemplateVersion(View, frozen=True, kw_only=True):
    """One version of a template; it never changes."""

    number: Annotated[int, doc(example=1)]
    format: Annotated[TemplateFormat, doc(example="html")]
    text: Annotated[str, doc(example=EXAMPLE_TEXT)]
    created_by: Annotated[str | None, doc(example="ann")] = None
    created_at: Time


class TemplatePreview(View, frozen=True, kw_only=True):
    """What a template prints with some data, or why it cannot."""

    version: Annotated[int, doc(example=1)]
    text: Annotated[str | None, doc(example="<p>Acme, 1 High Street</p>")] = None
    error: str | None = None
