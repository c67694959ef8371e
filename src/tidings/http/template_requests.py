"""The bodies of requests about templates."""

from pydantic import Field

from tidings.http.requests import Given, Json, example
from tidings.views.templates import EXAMPLE_TEXT, TemplateFormat, TemplateKind


class ChangedTemplate(Given):
    """What a template should say: a new version, unless the newest says the same."""

    model_config = example({"text": EXAMPLE_TEXT})
    text: str = Field(min_length=1, max_length=200_000, description="Liquid; a layout prints `{{ content }}`.")
    format: TemplateFormat | None = Field(
        None, description="What it is written in; left out, what it was before, and `html` at first."
    )
    description: str | None = Field(None, max_length=10_000)


class NewTemplate(ChangedTemplate):
    """A template to create."""

    model_config = example({"name": "footer", "text": EXAMPLE_TEXT})
    name: str = Field(min_length=1, max_length=64, pattern="^[a-z0-9]+([-_][a-z0-9]+)*$")
    kind: TemplateKind = TemplateKind.PARTIAL


class GivenTemplatePreview(Given):
    """What to try a template out with."""

    model_config = example({"data": {"company": {"name": "Acme", "street": "1 High Street"}}})
    data: Json = Field(default_factory=dict, description="What a message that renders it would have.")
    version: int | None = Field(None, ge=1, description="Which version; without one the newest.")
    content: str | None = Field(None, max_length=200_000, description="What a layout wraps.")
