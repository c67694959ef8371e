"""Campaigns: whom they reach."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.lacks import Lack
from tidings.views.view import View, doc


class AudienceCount(View, frozen=True, kw_only=True):
    """matching = reachable + withoutAddress + refused."""

    matching: Annotated[int, doc(example=1000)]
    reachable: Annotated[int | None, doc("Who have an address and may be written to; null without a channel.", 990)] = (
        None
    )
    without_address: Annotated[int | None, doc(example=6)] = None
    refused: Annotated[int | None, doc("Suppressed, or consent withdrawn.", 4)] = None
    missing: Annotated[
        Sequence[Lack], doc("Attributes that are printed and that some lack; their message would fail.")
    ] = ()
