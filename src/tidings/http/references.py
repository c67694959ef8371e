"""What a path names by its id or its name."""

from typing import Annotated, Protocol, TypeVar
from uuid import UUID

from fastapi import Path

from tidings.domain.errors import NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.storable import is_storable

Reference = Annotated[str, Path(min_length=1, max_length=64, description="Its id or its name.")]
Found_co = TypeVar("Found_co", covariant=True)


class FoundByName(Protocol[Found_co]):
    """A resource whose records have ids and names."""

    async def get(self, workspace: Workspace, id: UUID, /) -> Found_co:
        """Return what has this id."""
        ...

    async def find(self, workspace: Workspace, name: str, /) -> Found_co:
        """Return what has this name."""
        ...


async def find_by_reference(of: FoundByName[Found_co], workspace: Workspace, reference: str) -> Found_co:
    """Return what has this id or, if it is none, this name."""
    try:
        id = UUID(reference)
    except ValueError:
        if not is_storable(reference):
            raise NotFound("there is nothing of this name") from None
        return await of.find(workspace, reference)
    return await of.get(workspace, id)
