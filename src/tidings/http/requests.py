"""The bodies of requests as models: camelCase in JSON, snake_case accepted; names inside a user's data stay.

Each resource has its own in NOUN_requests.py. Answers are in tidings/views.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tidings.domain.names import LONGEST_NAME, problem_of_name
from tidings.domain.people.contact_fields import LONGEST_EXTERNAL_ID

Json = dict[str, Any]
ContactReference = Annotated[
    str, Field(min_length=1, max_length=LONGEST_EXTERNAL_ID, description="A contact: its id or its externalId.")
]


def _named(given: str) -> str:
    if wrong := problem_of_name(given):
        raise ValueError(wrong)
    return given


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_named)]
"""The name of something."""
ID = "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f"
AT = "2026-03-02T09:00:00Z"


def example(value: Json) -> ConfigDict:
    """Return a configuration with an example for the documentation."""
    return ConfigDict(json_schema_extra={"examples": [value]})


class Given(BaseModel):
    """The base of every body: nothing is converted, and unknown fields are refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)
