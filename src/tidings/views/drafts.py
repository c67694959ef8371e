"""Drafts of workflows, and what publishing one changed."""

from collections.abc import Sequence
from typing import Annotated, Literal

from tidings.views.problems import ProblemPlace
from tidings.views.view import ChannelName, Id, Time, View, doc
from tidings.views.workflows import Definition


class ListedDraft(View, frozen=True, kw_only=True):
    """A workflow that is being changed, or was never published."""

    id: Id
    name: Annotated[str, doc(example="welcome")]
    description: str | None = None
    base: Annotated[int, doc("The version that it was begun from; 0 where there was none.", 3)]
    version: Annotated[int, doc("The newest version now; above `base`, somebody has published meanwhile.", 3)]
    revision: Annotated[int, doc("Rises whenever it is saved.", 7)]
    saved_by: Annotated[str | None, doc(example="ann")] = None
    saved_at: Time
    created_at: Time


class Drafted(ListedDraft, frozen=True, kw_only=True):
    """A draft as it was saved, and everything that keeps it from being published."""

    definition: Definition
    valid: bool
    errors: Sequence[ProblemPlace] = ()


class VersionInFlight(View, frozen=True, kw_only=True):
    """How many executions are under way on one version."""

    version: Annotated[int, doc(example=3)]
    count: Annotated[int, doc(example=1815)]


class Publication(View, frozen=True, kw_only=True):
    """What publishing a draft made of its workflow."""

    id: Id
    name: Annotated[str, doc(example="welcome")]
    version: Annotated[int, doc(example=4)]
    change: Annotated[Literal["created", "updated", "unchanged"], doc(example="updated")]
    active: bool
    in_flight: Annotated[
        Sequence[VersionInFlight], doc("Executions under way, by version: each goes on with the version it began with.")
    ]
    not_ready: Annotated[Sequence[ChannelName], doc("The channels it needs for which no provider is set up.", [])] = ()
