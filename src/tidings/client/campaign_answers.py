"""Segments, and the run of a deploy, as typed records."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tidings.views.runs import Run

Json = Mapping[str, Any]


class Segment(Struct, frozen=True, kw_only=True, rename="camel"):
    """An audience under a name."""

    id: UUID
    name: str
    audience: Json
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Deployed(Struct, frozen=True, kw_only=True):
    """A run that was started, or had been under the same key."""

    run: Run
    duplicate: bool
    note: str | None = None
    """What else is to be known: that the answer is a run that was cancelled."""
