"""Several things at once, of which none is left behind."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def all_of(*parts: Coroutine[Any, Any, Result]) -> list[Result]:
    """Run all at once and return what each gave; if one fails, the others still end before its error is raised.

    Nothing of a claim may go on after it, and a call that is cut off would be in doubt.
    """
    if len(parts) == 1:
        return [await parts[0]]
    results = list[Result]()
    for end in await asyncio.gather(*parts, return_exceptions=True):
        if isinstance(end, BaseException):
            raise end
        results.append(end)
    return results
