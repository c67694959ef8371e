"""/v1/overview: what happens in a workspace just now."""

from typing import Annotated

from fastapi import Query

from tidings.http.access import WorkReader
from tidings.http.resource import resource_router
from tidings.resources.overview import DEFAULT_MINUTES, MOST_MINUTES
from tidings.views.overview import Overview

router = resource_router("Overview")


@router.get("/v1/overview")
async def get_overview(
    context: WorkReader,
    minutes: Annotated[
        int, Query(ge=1, le=MOST_MINUTES, description="How many of the last minutes to show calls of.")
    ] = DEFAULT_MINUTES,
) -> Overview:
    """What happens just now: calls by the minute, what is due, in doubt, resting or waiting, and what failed today.

    Made for a screen that asks every few seconds: it costs the same however much was sent, and two seconds' worth of
    questions cost one.
    """
    return await context.engine.overview.get(context.workspace, minutes)
