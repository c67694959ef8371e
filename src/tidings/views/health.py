"""The health of a process."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from tidings.views.view import View, doc


class HealthReport(View, frozen=True, kw_only=True):
    """Whether this process can do its work."""

    status: Annotated[Literal["healthy", "unhealthy"], Meta(extra_json_schema={"type": "string"})]
    version: Annotated[str | None, doc("Null without a key.", "0.1.0")] = None
    workers: Annotated[int | None, doc("The number of live workers; shown to operators only.", 2)] = None
    waiting: Annotated[
        Sequence[str] | None,
        doc("What no live worker can do, for example `no worker serves smtp`; null without a key.", []),
    ] = None
    problems: Annotated[
        Sequence[str],
        doc("What somebody should look at; an unavailable provider leaves this process healthy.", []),
    ] = ()
