"""Read what messages say in a few words. Reached from resources/contact_story.py. Never writes."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec import Struct

from tidings.domain.flow.ids import Shard, Workspace
from tidings.storage.database import Tx
from tidings.storage.statements import load

_SQL = load("stories")


class MessageWords(Struct, frozen=True, kw_only=True):
    """The subject or first words of a message, and what sent it if that is an execution."""

    words: str | None
    workflow_id: UUID | None
    is_step: bool | None


@_SQL.statement
async def read_words(tx: Tx, *, shard: Shard, workspace: Workspace, ids: Sequence[UUID]) -> Mapping[UUID, MessageWords]:
    """Some messages of one shard, by id."""
