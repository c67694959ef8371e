"""Stored secrets: never what they are, only which key sealed how many."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.view import View, doc


class SealingKey(View, frozen=True, kw_only=True):
    """One of the keys of a process, the newest first."""

    key: Annotated[str, doc("The start of the key's SHA-256: it tells keys apart and opens nothing.", "3f1c09ab")]
    secrets: Annotated[int, doc("How many stored secrets it has sealed.", 12)]
    seals: Annotated[bool, doc("Whether new secrets are sealed with it.", True)]


class SecretsStatus(View, frozen=True, kw_only=True):
    """Which key sealed the stored secrets."""

    keys: Sequence[SealingKey]
    unopened: Annotated[int, doc("How many none of the keys opens.", 0)]
    unopened_places: Annotated[Sequence[str], doc("Where the first of these are.", [])] = ()


class Resealed(View, frozen=True, kw_only=True):
    """What sealing everything with the newest key came to."""

    resealed: Annotated[int, doc("How many were sealed anew.", 12)]
    already: Annotated[int, doc("How many had been sealed with the newest key.", 0)]
    unopened: Annotated[int, doc("How many none of the keys opens; they stay as they are.", 0)]
