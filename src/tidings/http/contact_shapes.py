"""Contacts and their imports, as models: what goes in is described here and read by domain/people/contact.py."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tidings.domain.channels import CONTACT_CHANNELS
from tidings.http.shapes import AT, ID, Given, Json, ProblemPlace, Shape, example

EXAMPLE_CONTACT: Json = {
    "externalId": "crm-1815",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "phone": "+442071838750",
    "company": "Engines",
    "status": "customer",
    "timeZone": "Europe/London",
    "locale": "en-GB",
    "tags": ["vip"],
    "attributes": {"plan": "pro"},
    "consent": {"email": {"status": "granted", "at": AT, "source": "signup form"}},
    "suppressions": {"sms": {"reason": "unsubscribed", "at": AT}},
}
Label = Annotated[str, Field(min_length=1, max_length=100)]
Token = Annotated[str, Field(min_length=1, max_length=4_096)]


class GivenContact(Given):
    """What is given of a contact: what is left out stays, what is null is cleared.

    `attributes`, `consent` and `suppressions` go over what is there, name by name; null takes a name away.
    """

    model_config = example(EXAMPLE_CONTACT)
    external_id: str | None = Field(
        None, min_length=1, max_length=200, description="The contact's id in your own system; never changes."
    )
    name: str | None = Field(None, max_length=500)
    email: str | None = Field(None, max_length=500)
    phone: str | None = Field(None, max_length=500, description="With its country's code; kept as E.164 writes it.")
    whatsapp: str | None = Field(None, max_length=500, description="A number, likewise.")
    push_tokens: list[Token] | None = Field(None, max_length=20)
    company: str | None = Field(None, max_length=500)
    status: str | None = Field(None, max_length=100, description="A word of your own; `active` unless given.")
    time_zone: str | None = Field(None, max_length=500)
    locale: str | None = Field(None, max_length=500)
    tags: list[Label] | None = Field(None, max_length=100, description="These and no others.")
    attributes: Json | None = Field(None, description="Your own; templates see them as `contact.attributes.*`.")
    consent: Json | None = Field(
        None, description=f"By channel ({', '.join(CONTACT_CHANNELS)}): `granted` or `withdrawn`."
    )
    suppressions: Json | None = Field(
        None, description="By channel: `unsubscribed`, `bounced`, `complained`, `invalid` or `manual`. Nothing is sent."
    )


class GivenContacts(Given):
    """Many contacts, each brought to what is given by its `externalId`; without one it is new."""

    model_config = example({"contacts": [EXAMPLE_CONTACT]})
    contacts: list[GivenContact] = Field(min_length=1, max_length=10_000)


class Contact(Shape):
    """Somebody who can be written to."""

    model_config = example({"id": ID, **EXAMPLE_CONTACT, "createdAt": AT, "updatedAt": AT})
    id: UUID
    external_id: str
    name: str | None
    email: str | None
    phone: str | None
    whatsapp: str | None
    push_tokens: list[str]
    company: str | None
    status: str
    time_zone: str | None
    locale: str | None
    tags: list[str]
    attributes: Json
    consent: Json
    suppressions: Json
    created_at: datetime
    updated_at: datetime


class UpsertedContact(Shape):
    """What became of one of many."""

    id: UUID
    external_id: str
    change: Literal["created", "updated", "unchanged"]


class RejectedLine(Shape):
    """A line that was not stored, and why."""

    line: int
    problems: list[ProblemPlace]


class Imported(Shape):
    """What became of a file's lines: `lines` = created + updated + unchanged + repeated + rejected."""

    lines: int
    created: int
    updated: int
    unchanged: int
    repeated: int = Field(description="About somebody who comes again further down: the later line holds.")
    rejected: int
    rejected_by_field: dict[str, int] = Field(description="How many by the field that was wrong; `line` for the whole.")
    rejected_lines: list[RejectedLine] = Field(description="The first 1,000.")
