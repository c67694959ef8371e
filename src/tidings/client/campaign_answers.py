"""The run of a deploy, as a typed record."""

from msgspec import Struct

from tidings.views.runs import Run


class Deployed(Struct, frozen=True, kw_only=True):
    """A run that was started, or had been under the same key."""

    run: Run
    duplicate: bool
    note: str | None = None
    """What else is to be known: that the answer is a run that was cancelled."""
