"""The bodies of requests about drafts of workflows."""

from pydantic import Field

from tidings.http.requests import Given, Json, Name, example
from tidings.views.workflows import EXAMPLE_DEFINITION

_DEFINITION = "The definition as it stands: any object, valid or not, of at most 500,000 bytes."
LARGEST_NUMBER = 2**31 - 1


class NewDraft(Given):
    """A workflow that begins as a draft."""

    model_config = example({"name": "welcome", "definition": EXAMPLE_DEFINITION})
    name: Name
    description: str | None = Field(None, max_length=10_000)
    definition: Json = Field(default_factory=dict, description=_DEFINITION)


class SavedDraft(Given):
    """A draft to save."""

    model_config = example({"definition": EXAMPLE_DEFINITION, "revision": 7})
    definition: Json = Field(description=_DEFINITION)
    base: int | None = Field(
        None,
        ge=0,
        le=LARGEST_NUMBER,
        description="The version that it is based on; else what it was, or the newest.",
    )
    revision: int | None = Field(
        None, ge=0, le=LARGEST_NUMBER, description="The revision that was read: 409 if it was saved since."
    )


class GivenPublication(Given):
    """What is to be published."""

    model_config = example({"revision": 7})
    revision: int | None = Field(
        None, ge=0, le=LARGEST_NUMBER, description="The revision that was read: 409 if it was saved since."
    )
