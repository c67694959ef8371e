"""What a message is made of, as bodies write it: made from the table in domain/channels.py, which says what it means.

A type checker cannot follow that, and sees a body without fields.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, create_model

from tidings.domain.channels import MESSAGE_CHANNELS, Channel, ContentField, FieldKind
from tidings.domain.workflows.definition_reader import snake_case
from tidings.http.requests import Given, Json


class GivenAttachment(Given):
    """A file by reference: it is fetched when the e-mail is sent, and never stored."""

    url: str = Field(min_length=1, description="A template of its address.")
    filename: str = Field(min_length=1, description="A template of the name it is shown under.")
    content_type: str | None = None
    content_id: str | None = Field(None, description='Where html shows it: `<img src="cid:logo">`.')


class GivenApproved(Given):
    """A template that WhatsApp approved, and what goes into its places."""

    name: str = Field(min_length=1)
    language: str = Field(min_length=1)
    parameters: list[str] | None = None


_TYPES: Mapping[FieldKind, Any] = {
    FieldKind.TEXT: str,
    FieldKind.LIST: str | list[str],
    FieldKind.OBJECT: dict[str, str],
    FieldKind.JSON: str | Json,
    FieldKind.FILES: list[GivenAttachment],
    FieldKind.APPROVED: GivenApproved,
    FieldKind.NAME: str,
    FieldKind.NUMBER: int,
}


def _type_of(field: ContentField) -> Any:
    return Literal[field.choices] if field.choices else _TYPES[field.kind]


def _fields() -> dict[str, Any]:
    """Every field that some channel has, with what it is for each."""
    found: dict[str, list[tuple[Channel, ContentField]]] = {}
    for channel in MESSAGE_CHANNELS:
        for field in channel.fields:
            found.setdefault(snake_case(field.name), []).append((channel, field))
    return {name: _definition(uses) for name, uses in found.items()}


def _definition(uses: list[tuple[Channel, ContentField]]) -> tuple[Any, Any]:
    kind = _type_of(uses[0][1])
    for _, field in uses[1:]:
        kind |= _type_of(field)
    by_meaning: dict[str, list[str]] = {}
    for channel, field in uses:
        by_meaning.setdefault(field.about, []).append(channel)
    about = " ".join(f"{', '.join(channels)}: {meaning}" for meaning, channels in by_meaning.items())
    return kind | None, Field(None, description=about)


if TYPE_CHECKING:
    GivenMessage = Given
else:
    GivenMessage = create_model(
        "GivenMessage",
        __base__=Given,
        __doc__="The message, in Liquid: the fields that its channel has.",
        **_fields(),
    )


class GivenPost(GivenMessage):
    """A message to accounts, channels or addresses that the campaign itself names."""

    id: str | None = Field(None, description="What tells it from the others; its place unless given.")
    accounts: list[str] = Field(min_length=1, max_length=100)


class GivenContent(GivenMessage):
    """What a campaign says: the fields of its channel; over social, chat and webhook, posts."""

    version: str | int | None = Field(None, description="Of a script that is read out.")
    posts: list[GivenPost] | None = Field(None, min_length=1, max_length=100)
