"""Segments: named audiences."""

from typing import Annotated

from tidings.views.view import Id, Json, Time, View, doc


class Segment(View, frozen=True, kw_only=True):
    """A named audience, evaluated again each time it is used."""

    id: Id
    name: Annotated[str, doc(example="vips of Acme")]
    audience: Annotated[Json, doc(example={"tag": "vip", "company": "Acme"})]
    in_words: Annotated[str, doc("The audience as a sentence.", "contacts at Acme and with the tag vip")] = ""
    created_at: Time
    updated_at: Time
