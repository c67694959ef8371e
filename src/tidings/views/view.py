"""What every view is made of: the record, and the types and descriptions of its fields."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct


class View(Struct, frozen=True, rename="camel"):
    """A part of an answer: snake_case in Python, camelCase in JSON. Its own fields are `kw_only`."""

    def in_json(self) -> dict[str, Any]:
        """Return its fields by their names in JSON."""
        named = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {in_json: getattr(self, name) for in_json, name in named}


def doc(description: str | None = None, example: object = None) -> Meta:
    """Describe a field for OpenAPI: what it means, and an example of its value."""
    return Meta(description=description, examples=None if example is None else [example])


Json = Mapping[str, Any]
"""What users wrote or nodes produced: names inside it are never changed."""
Id = Annotated[UUID, doc(example="019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f")]
Time = Annotated[datetime, Meta(tz=True, examples=["2026-03-02T09:00:00Z"])]
Duration = Annotated[str, Meta(extra_json_schema={"format": "duration"}, examples=["PT12H"])]
"""A duration in ISO 8601."""
ChannelName = Annotated[str, Meta(extra_json_schema={"$ref": "#/components/schemas/Channel"}, examples=["email"])]
"""One of the channels in domain/channels.py; a string, so that an older client can read a newer server's channel."""
