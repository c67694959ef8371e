"""Add names to ids for a whole page at once: one statement in each shard.

Names are read when they are shown and never stored, so a renamed campaign has its new name and an erased contact none.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from msgspec import structs

from tidings.domain.connections.connection import connection_id
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.readiness import is_printing
from tidings.kernel.kernel import Kernel
from tidings.resources.by_shard import read_in_their_shards
from tidings.storage import connections, names
from tidings.views.contacts import ContactName
from tidings.views.keys import AuditLine
from tidings.views.outbox import Item

__all__ = [
    "name_contacts",
    "name_definitions",
    "name_executions",
    "name_items",
    "name_providers",
    "name_runs",
    "name_subjects",
]

Name = TypeVar("Name")
AnyItem = TypeVar("AnyItem", bound=Item)
Names = Mapping[UUID, str]
WALKS = frozenset(["execution", "enrollment", "dead_letter"])


async def name_contacts(
    kernel: Kernel, workspace: Workspace, ids: Iterable[UUID | None]
) -> Mapping[UUID | None, ContactName]:
    """Return the names of contacts; deleted contacts are left out."""
    found = await _in_their_shards(kernel, workspace.tenant, ids, names.name_contacts)
    return dict(found.items())


async def name_executions(kernel: Kernel, workspace: Workspace, ids: Iterable[UUID | None]) -> Names:
    """Return the names of the workflows or sequences of executions."""
    return await _in_their_shards(kernel, workspace.tenant, ids, names.name_executions)


async def name_runs(kernel: Kernel, workspace: Workspace, ids: Iterable[UUID | None]) -> Names:
    """Return the names of the campaigns of runs."""
    return await _in_their_shards(kernel, workspace.tenant, ids, names.name_runs)


async def name_definitions(kernel: Kernel, workspace: Workspace, ids: Iterable[UUID | None]) -> Names:
    """Return the names of workflows, sequences, campaigns, segments, rules and keys."""
    return await _definitions(kernel, workspace.tenant, ids)


async def name_items(kernel: Kernel, workspace: Workspace, items: Sequence[AnyItem]) -> list[AnyItem]:
    """Return items with the names of their contacts and owners, and with whether they are only printed."""
    tenant = workspace.tenant
    contacts, through, executions, runs, events = await asyncio.gather(
        name_contacts(kernel, workspace, [one.contact_id for one in items]),
        name_providers(kernel, workspace, [one.provider for one in items]),
        _in_their_shards(kernel, tenant, [one.execution_id for one in items], names.name_executions),
        _in_their_shards(kernel, tenant, [one.run_id for one in items], names.name_runs),
        _in_their_shards(kernel, tenant, [one.event_id for one in items], names.name_events),
    )
    return [
        structs.replace(
            one,
            printed=is_printing(one.provider),
            connection=through.get(one.provider),
            contact=contacts.get(one.contact_id),
            workflow_name=executions.get(one.execution_id) if one.execution_id else None,
            campaign_name=runs.get(one.run_id) if one.run_id else None,
            trigger=events.get(one.event_id) if one.event_id else None,
        )
        for one in items
    ]


async def name_subjects(kernel: Kernel, tenant: str, lines: Sequence[AuditLine]) -> list[AuditLine]:
    """Return entries of the audit log with the names of their subjects; a contact's is its external id."""
    of: dict[str, list[UUID]] = defaultdict(list)
    for line in lines:
        kind = line.subject_kind
        of["walk" if kind in WALKS else kind if kind in {"contact", "run", "event"} else "definition"].append(
            line.subject_id
        )
    contacts, walks, runs, events, definitions = await asyncio.gather(
        _in_their_shards(kernel, tenant, of["contact"], names.name_contacts),
        _in_their_shards(kernel, tenant, of["walk"], names.name_executions),
        _in_their_shards(kernel, tenant, of["run"], names.name_runs),
        _in_their_shards(kernel, tenant, of["event"], names.name_events),
        _definitions(kernel, tenant, of["definition"]),
    )
    named = {**walks, **runs, **events, **definitions, **{id: one.external_id for id, one in contacts.items()}}
    return [structs.replace(line, subject_name=named.get(line.subject_id)) for line in lines]


async def name_providers(kernel: Kernel, workspace: Workspace, providers: Iterable[str]) -> Mapping[str, str]:
    """Return the names of the connections that some providers' names stand for."""
    ids = {name: id for name in providers if (id := connection_id(name))}
    if not ids:
        return {}
    read = partial(connections.name_connections, workspace=workspace, ids=[*{*ids.values()}])
    found = await kernel.db.persist(read, alone=True)
    return {name: found[id] for name, id in ids.items() if id in found}


async def _definitions(kernel: Kernel, tenant: str, ids: Iterable[UUID | None]) -> Names:
    named = [*{id for id in ids if id is not None}]
    read = partial(names.name_definitions, tenant=tenant, ids=named)
    return await kernel.db.persist(read, alone=True) if named else {}


async def _in_their_shards(
    kernel: Kernel, tenant: str, ids: Iterable[UUID | None], read: Callable[..., Awaitable[Mapping[UUID, Name]]]
) -> Mapping[UUID, Name]:
    return await read_in_their_shards(kernel, ids, partial(read, tenant=tenant))
