"""Attributes that templates print and that some contacts lack."""

from typing import Annotated

from tidings.views.view import View, doc


class Lack(View, frozen=True, kw_only=True):
    """An attribute that a template prints without a default, and how many lack it; their message would fail."""

    path: Annotated[str, doc(example="contact.attributes.city")]
    contacts: Annotated[int, doc(example=12)]
    of: Annotated[int, doc("The number of contacts that were checked.", 40)]
    hint: Annotated[str, doc("What to change in the template.", "write {{ contact.attributes.city | default: … }}")]

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.path} is missing for {self.contacts:,} of {self.of:,} contacts; {self.hint}"
