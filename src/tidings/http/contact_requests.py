"""Contacts in bodies, made from the list of their fields; domain/people/contact.py reads them."""

from typing import Annotated, Any

from pydantic import Field, create_model

from tidings.domain.people.contact_fields import FIELDS, LONGEST_TOKEN, ContactField, camel_case
from tidings.http.requests import Given, Json, example
from tidings.http.view_schemas import describe_views
from tidings.resources.contacts import MOST_CONTACTS
from tidings.views.contacts import Contact

_SHOWN: Json = describe_views([Contact])["Contact"]["examples"][0]
EXAMPLE_CONTACT = {name: _SHOWN[name] for name in map(camel_case, FIELDS) if _SHOWN[name]}
_LIST: Any = list
"""The type of models that are made at run time, which a type checker cannot follow."""


class _OneContact(Given):
    """What is given of a contact: what is left out stays, what is null is cleared.

    `attributes`, `consent` and `suppressions` go over what is there, name by name; null takes a name away.
    """

    model_config = example(EXAMPLE_CONTACT)


class _ManyContacts(Given):
    """Many contacts, each brought to what is given by its `externalId`; without one it is new."""

    model_config = example({"contacts": [EXAMPLE_CONTACT]})


def _given(name: str, one: ContactField) -> tuple[Any, Any]:
    """Return a contact's field, as a body may have it."""
    if one.is_merged:
        return Json | None, Field(None, description=one.description)
    if one.most:
        word = Annotated[str, Field(min_length=1, max_length=one.longest)]
        return _LIST[word] | None, Field(None, max_length=one.most, description=one.description)
    least = 1 if name == "external_id" else None
    return str | None, Field(None, min_length=least, max_length=one.longest, description=one.description)


_FIELDS: dict[str, Any] = {name: _given(name, one) for name, one in FIELDS.items()}
GivenContact = create_model("GivenContact", __base__=_OneContact, __doc__=_OneContact.__doc__, **_FIELDS)
GivenContacts = create_model(
    "GivenContacts",
    __base__=_ManyContacts,
    __doc__=_ManyContacts.__doc__,
    contacts=(_LIST[GivenContact], Field(min_length=1, max_length=MOST_CONTACTS)),
)


class GivenErasure(Given):
    """Whose address is erased."""

    model_config = example({"address": "eve@example.com", "dryRun": True})

    address: Annotated[
        str, Field(min_length=1, max_length=LONGEST_TOKEN, description="An e-mail address, phone number or push token.")
    ]
    dry_run: Annotated[bool, Field(description="Only count.")] = False
    cursor: Annotated[str | None, Field(max_length=100, description="The `nextCursor` of the call before.")] = None
