"""Everything that the API shows of one kind, page by page and oldest first: what tests ask instead of the tables."""

from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import LARGEST_LIMIT
from tidings.engine import Engine
from tidings.resources.outbox import OutboxFilter
from tidings.views.executions import Execution
from tidings.views.keys import AuditLine
from tidings.views.outbox import Item
from tidings.views.pages import Page
from tidings.views.runs import Run

One = TypeVar("One")


async def items_of(engine: Engine, workspace: Workspace, where: OutboxFilter | None = None) -> list[Item]:
    return await _everything(lambda cursor: engine.outbox.list(workspace, where, limit=LARGEST_LIMIT, cursor=cursor))


async def executions_of(engine: Engine, workspace: Workspace) -> list[Execution]:
    return await _everything(lambda cursor: engine.executions.list(workspace, limit=LARGEST_LIMIT, cursor=cursor))


async def runs_of(engine: Engine, workspace: Workspace) -> list[Run]:
    return await _everything(lambda cursor: engine.runs.list(workspace, limit=LARGEST_LIMIT, cursor=cursor))


async def audited(engine: Engine, caller: Caller, event: str = "", subject: UUID | None = None) -> list[AuditLine]:
    """The tenant's audit log, as far as it is about a subject or of events whose names begin like this."""
    lines = await _everything(
        lambda cursor: engine.access.audit(caller, subject=subject, limit=LARGEST_LIMIT, cursor=cursor)
    )
    return [one for one in lines if one.event.startswith(event)]


async def _everything(ask: Callable[[str | None], Awaitable[Page[One]]]) -> list[One]:
    page = await ask(None)
    found = [*page.items]
    while page.next_cursor:
        page = await ask(page.next_cursor)
        found += page.items
    return found[::-1]
