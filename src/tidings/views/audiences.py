"""Audiences: how many they are, what they lack, and those that have a name."""

from typing import Annotated

from tidings.views.view import Id, Json, Time, View, doc


class Lack(View, frozen=True, kw_only=True):
    """An attribute that is printed without a default, and how many contacts lack it: their message would fail."""

    path: Annotated[str, doc(example="contact.attributes.city")]
    contacts: Annotated[int, doc(example=12)]
    of: Annotated[int, doc("How many were looked at.", 40)]
    hint: Annotated[str, doc(example="write {{ contact.attributes.city | default: … }}")]

    def __str__(self) -> str:
        """As one line."""
        return f"{self.path} is missing for {self.contacts:,} of {self.of:,} contacts; {self.hint}"


class AudienceCount(View, frozen=True, kw_only=True):
    """matching = reachable + withoutAddress + refused."""

    matching: Annotated[int, doc(example=1000)]
    reachable: Annotated[int | None, doc("Who have an address and may be written to; null without a channel.", 990)] = (
        None
    )
    without_address: Annotated[int | None, doc(example=6)] = None
    refused: Annotated[int | None, doc("Suppressed, or consent withdrawn.", 4)] = None
    missing: Annotated[
        list[Lack], doc("Attributes that are printed and that some lack; their message would fail.")
    ] = []

    def __add__(self, other: "AudienceCount") -> "AudienceCount":
        """Both together; what is missing is not added up."""
        return AudienceCount(
            matching=self.matching + other.matching,
            reachable=_sum(self.reachable, other.reachable),
            without_address=_sum(self.without_address, other.without_address),
            refused=_sum(self.refused, other.refused),
        )


class Segment(View, frozen=True, kw_only=True):
    """An audience under a name, looked at anew whenever it is used."""

    id: Id
    name: Annotated[str, doc(example="vips of Acme")]
    audience: Annotated[Json, doc(example={"tag": "vip", "company": "Acme"})]
    created_at: Time
    updated_at: Time


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
