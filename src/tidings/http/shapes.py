"""Answers that are not views yet, as models."""

from datetime import datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tidings.domain.channels import Channel
from tidings.http.requests import AT, ID, ContactReference, Given, Json, Name, example

__all__ = [
    "AT",
    "CONTACT",
    "ID",
    "Attempt",
    "ContactName",
    "ContactReference",
    "Everything",
    "Given",
    "Json",
    "List",
    "Name",
    "NotReady",
    "Printed",
    "Shape",
    "Waiting",
    "example",
]

CONTACT: Json = {"externalId": "crm-1815", "name": "Ada Lovelace", "email": "ada@example.com"}


class Shape(BaseModel):
    """What goes out."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


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


Waiting = Annotated[
    str | None, Field(description="Why nobody can do what comes next, if so: `no worker serves smtp`, say.")
]
Printed = Annotated[bool, Field(description="Whether it is only printed, not sent, because that was asked for.")]
NotReady = Annotated[
    list[Channel],
    Field(description="Channels it needs that no provider is set up for: until then it starts nothing (409)."),
]


class Attempt(Shape):
    """A call that did not succeed."""

    attempt: int
    outcome: str
    error: str
    started_at: datetime
    ended_at: datetime
