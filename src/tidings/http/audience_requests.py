"""Audiences in bodies: the same object for campaigns, segments and enrolling."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from tidings.http.requests import ContactReference, Given, Json

Label = Annotated[str, Field(min_length=1, max_length=100)]
Contacts = Annotated[list[ContactReference], Field(max_length=10_000)]


class GivenContactFilter(Given):
    """Conditions on a contact; all that are given must hold."""

    company: str | None = Field(None, max_length=500)
    tag: Label | None = None
    status: Label | None = None
    attributes: Json | None = Field(None, description="What attributes must be: `{plan: pro, address: {city: Paris}}`.")
    any: "list[GivenContactFilter] | None" = Field(None, description="Filters of which one must hold.")
    not_: "GivenContactFilter | None" = Field(None, alias="not", description="What must not hold.")
    all: "bool | list[GivenContactFilter] | None" = Field(
        None, description="Filters that all must hold, as two tags; or true, for everyone, where nothing else is asked."
    )


class GivenAudience(GivenContactFilter):
    """Whom: filters are joined by "and" and united with `contactIds`; who is excluded is left out. `{}` is refused."""

    contact_ids: Contacts | None = None
    exclude_contact_ids: Contacts | None = None


class GivenCampaignAudience(GivenAudience):
    """An audience, or the contacts of a segment, which the filters beside it narrow."""

    segment_id: UUID | None = None
