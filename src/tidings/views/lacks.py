"""What contacts lack that templates print."""

from typing import Annotated

from tidings.views.view import View, doc


class Lack(View, frozen=True, kw_only=True):
    """An attribute that is printed without a default, and how many contacts lack it: their message would fail."""

    path: Annotated[str, doc(example="contact.attributes.city")]
    contacts: Annotated[int, doc(example=12)]
    of: Annotated[int, doc("How many were looked at.", 40)]
    hint: Annotated[str, doc("What helps.", "write {{ contact.attributes.city | default: … }}")]

    def __str__(self) -> str:
        """As one line."""
        return f"{self.path} is missing for {self.contacts:,} of {self.of:,} contacts; {self.hint}"
