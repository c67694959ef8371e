"""The people of a simulation: drawn from the live database, copied into the scratch one with their ids."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
from itertools import islice
from uuid import UUID

from tidings.domain.content.lacks import attributes_in, lacking, lacks_of
from tidings.domain.errors import InputInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.domain.people.audience import Audience
from tidings.domain.people.audience_filter import matches
from tidings.domain.people.contact_fields import FIELDS, LIST_FIELDS, ContactChange
from tidings.domain.simulation import Scenario
from tidings.engine import Engine
from tidings.kernel.process.breaks import Breaks
from tidings.resources import contact_store
from tidings.storage import simulation
from tidings.storage.acting import for_workspace
from tidings.views.contacts import Contact
from tidings.views.lacks import Lack

COPIED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Crowd:
    """Those who are simulated, out of how many."""

    people: Sequence[Contact]
    audience: int


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a crowd is simulated: on how many shards, and in steps of how long at least."""

    shards: int = 1
    step: timedelta = timedelta()


@for_workspace
async def draw_crowd(
    live: Engine, workspace: Workspace, audience: Audience, scenario: Scenario, *, only: bool = False
) -> Crowd:
    """Draw a sample of an audience and add the contacts that were asked about; an empty audience is refused.

    With `only`, a contact that is asked about and is not in the audience is refused as well.
    """
    kernel, now = live.kernel, await live.kernel.clock.now()
    count = partial(simulation.count_audience, workspace=workspace, audience=audience, now=now)
    draw = partial(
        simulation.sample_audience,
        workspace=workspace,
        audience=audience,
        now=now,
        seed=scenario.seed,
        limit=scenario.sample,
    )
    shards = kernel.every_shard()
    counts = await asyncio.gather(*(kernel.db.persist(partial(count, shard=one), alone=True) for one in shards))
    draws = await asyncio.gather(*(kernel.db.persist(partial(draw, shard=one), alone=True) for one in shards))
    drawn = islice(merge(*(share.items() for share in draws), key=lambda one: one[0]), scenario.sample)
    asked = await _asked_about(live, workspace, scenario.messages_of)
    strangers = [one.external_id for one in asked if only and not is_in(audience, one, now)]
    if strangers:
        raise InputInvalid(f"messagesOf: {', '.join(strangers)} would get nothing: not in the audience")
    people = {one.id: one for one in [*asked, *(contact for _, contact in drawn)]}
    if not people:
        raise InputInvalid("the audience has no contacts, so nothing would happen; name another")
    return Crowd([*people.values()][: max(scenario.sample, len(asked))], sum(counts))


async def _asked_about(live: Engine, workspace: Workspace, ids: Sequence[UUID]) -> list[Contact]:
    try:
        return [await live.contacts.get(workspace, id) for id in ids]
    except NotFound as error:
        raise InputInvalid(f"messagesOf: {error}") from error


def is_in(audience: Audience, one: Contact, now: datetime) -> bool:
    """Whether a contact is in an audience at a moment, as sample_audience finds its people."""
    return matches(audience.everybody, one, now)


async def lacks_in(crowd: Crowd, templates: Iterable[str]) -> list[Lack]:
    """Attributes that templates print and that some of the people lack."""
    printed = attributes_in(templates)
    counts, breaks = Counter[str](), Breaks()
    for one in crowd.people:
        await breaks.take_if_due()
        counts.update(lacking(printed, one.attributes))
    return lacks_of(counts, len(crowd.people))


async def copy_crowd(scratch: Engine, workspace: Workspace, people: Sequence[Contact]) -> None:
    """Store them as they are, under the ids they have: templates may name them, and so may the caller."""
    for first in range(0, len(people), COPIED_AT_ONCE):
        some = people[first : first + COPIED_AT_ONCE]
        changes = [_change(one) for one in some]
        await contact_store.upsert(scratch.kernel, workspace, changes, ids={one.external_id: one.id for one in some})


def _change(one: Contact) -> ContactChange:
    given = {name: getattr(one, name) for name in FIELDS}
    return ContactChange(**given | {name: tuple(given[name]) for name in LIST_FIELDS})
