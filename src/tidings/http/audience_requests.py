"""Audiences in bodies: the same object for campaigns, segments and enrolling."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tidings.domain.channels import CONTACT_CHANNELS
from tidings.domain.comparison import Op
from tidings.http.requests import ContactReference, Given, Json

Label = Annotated[str, Field(min_length=1, max_length=100)]
Tags = Annotated[list[Label], Field(min_length=1, max_length=100)]
Reached = Annotated[str, Field(json_schema_extra={"enum": [str(one) for one in CONTACT_CHANNELS]})]
Operator = Annotated[str, Field(json_schema_extra={"enum": [str(one) for one in Op]})]
Contacts = Annotated[list[ContactReference], Field(max_length=10_000)]


class GivenContactFilter(Given):
    """Conditions on a contact; all that are given must hold."""

    company: str | None = Field(None, max_length=500)
    tag: Label | None = None
    tags: "GivenTags | None" = None
    status: Label | None = None
    attributes: Json | None = Field(None, description="What attributes must be: `{plan: pro, address: {city: Paris}}`.")
    has: Reached | None = Field(None, description="The contact has an address for this channel.")
    consent: dict[Reached, Literal["granted", "withdrawn", "unknown"]] | None = Field(
        None, description="What the contact said about channels; `unknown` means nothing."
    )
    allows: Reached | None = Field(None, description="Neither suppressed nor withdrawn for this channel.")
    path: str | list[str] | None = Field(
        None,
        description="What is compared: `attributes.plan`, `company`, `createdAt` …; a list if a name has a dot.",
    )
    op: Operator | None = Field(None, description="How it is compared; `equals` unless given.")
    value: str | float | bool | list[str | float | bool] | None = Field(
        None, description="What it is compared with; a time may be relative, as `30 days ago`."
    )
    any: "list[GivenContactFilter] | None" = Field(None, description="Filters of which one must hold.")
    not_: "GivenContactFilter | None" = Field(None, alias="not", description="What must not hold.")
    all: "bool | list[GivenContactFilter] | None" = Field(
        None, description="Filters that all must hold, as two tags; or true, for everyone, where nothing else is asked."
    )


class GivenTags(Given):
    """Tags of which one, all or none must be there."""

    any: Tags | None = None
    all: Tags | None = None
    none: Tags | None = None


class GivenAudience(GivenContactFilter):
    """Whom: filters are joined by "and" and united with `contactIds`; who is excluded is left out. `{}` is refused."""

    exclude: GivenContactFilter | None = Field(None, description="A filter on those who are left out.")
    contact_ids: Contacts | None = None
    exclude_contact_ids: Contacts | None = None


class GivenCampaignAudience(GivenAudience):
    """An audience, or the contacts of a segment, which the filters beside it narrow."""

    segment_id: UUID | None = None
