"""Contacts, as other answers name them."""

from typing import Annotated

from tidings.views.view import View, doc


class ContactName(View, frozen=True, kw_only=True):
    """What a contact is called."""

    external_id: Annotated[str, doc(example="crm-1815")]
    name: Annotated[str | None, doc(example="Ada Lovelace")] = None
    email: Annotated[str | None, doc(example="ada@example.com")] = None

    def __str__(self) -> str:
        """For a table: the name or else the address, and the external id, by which every command knows it."""
        called = self.name or self.email
        return f"{called} ({self.external_id})" if called and called != self.external_id else self.external_id
