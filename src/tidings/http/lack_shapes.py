"""Attributes that contacts lack, as a model: in counts, dry runs and simulations."""

from typing import Annotated

from pydantic import Field

from tidings.http.shapes import Json, Shape

EXAMPLE_LACK: Json = {
    "path": "contact.attributes.city",
    "contacts": 12,
    "of": 40,
    "hint": "write {{ contact.attributes.city | default: … }}",
}


class Lack(Shape):
    """An attribute that is printed without a default, and how many contacts lack it: their message would fail."""

    path: str
    contacts: int
    of: int = Field(description="How many were looked at.")
    hint: str


Missing = Annotated[
    list[Lack], Field(description="Attributes that are printed and that some lack; their message would fail.")
]
