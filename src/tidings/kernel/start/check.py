"""Check triggers before anything is stored: what each lacks, which contact it names, and which were started before.

Reached from trigger.py, trigger_batch.py and resources/bulk.py; the unique index, in trigger.py, is what starts each
only once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from uuid import UUID

import msgspec

from tidings.domain.errors import ChannelNotReady, Conflict, InputInvalid, NotFound, Problem, TriggersInvalid
from tidings.domain.flow.ids import Bucket, Shard, Workspace
from tidings.domain.people.contact import ContactReference
from tidings.domain.storable import (
    TOO_DEEP,
    UNSTORABLE,
    is_storable,
    is_surely_storable,
    is_too_deep,
    unstorable_places,
)
from tidings.domain.workflows.requirements import Requirements, requirements_of
from tidings.kernel.graphs import graph_of
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.references import Found, find_contacts, no_contact
from tidings.kernel.process.breaks import Breaks
from tidings.kernel.readiness import find_unrouted
from tidings.kernel.templates import know_stored_templates
from tidings.storage import define, start
from tidings.storage.database import Tx
from tidings.storage.define import FoundWorkflow, Version

LONGEST_KEY = 500
MOST_PROBLEMS = 100
"""How many of a call's triggers get their problems reported."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """One request to start a workflow."""

    idempotency_key: str
    data: Mapping[str, object] = field(default_factory=dict)
    contact_id: ContactReference | None = None
    """The contact it is for, by id or external id: `contact` in templates, and where a send without `to` goes."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Triggers that may be started, by key, and the executions of those that were started before."""

    workflow: FoundWorkflow
    requests: Sequence[Trigger]
    fresh: Mapping[str, Trigger]
    known: Mapping[str, UUID]
    contacts: Found
    correlated: bool = False
    """Whether their keys belong to the workspace, as a `correlation_id` does, and not to their workflow alone."""

    def contact_of(self, one: Trigger) -> UUID | None:
        """Return the id of the contact that a trigger is for."""
        return None if one.contact_id is None else self.contacts[one.contact_id]


async def find_workflow(kernel: Kernel, workspace: Workspace, workflow: UUID | str) -> FoundWorkflow:
    """Return a workflow by id or by name, or raise NotFound."""

    async def find(tx: Tx) -> FoundWorkflow | None:
        if isinstance(workflow, UUID):
            return await define.find_workflow_by_id(tx, workspace=workspace, id=workflow)
        return await define.find_workflow(tx, workspace=workspace, name=workflow)

    found = await kernel.db.persist(find, alone=True)
    if found is None:
        raise NotFound(f"there is no workflow {str(workflow)!r} in workspace {workspace.name!r}; define it first")
    return found


async def check_triggers(
    kernel: Kernel,
    workspace: Workspace,
    workflow: FoundWorkflow,
    triggers: Sequence[Trigger],
    *,
    correlated: bool = False,
) -> tuple[Checked, Mapping[int, InputInvalid | Conflict]]:
    """Return what may be started, and what is wrong with each trigger that may not, by its place.

    A repeat is answered even if the workflow was deactivated since, a channel has lost its provider or the data lacks
    something now, so triggers with problems are looked up by their keys. That refuses or answers them; the unique index
    is still what starts them only once. Of very many wrong triggers only the first are reported: each may lack
    thousands of names.
    """
    wrong: dict[int, InputInvalid | Conflict] = {}
    first: dict[str, int] = {}
    breaks = Breaks()
    for place, one in enumerate(triggers):
        await breaks.take_if_due()
        if error := _wrong_in(one):
            wrong[place] = error
        else:
            first.setdefault(one.idempotency_key, place)
    needs = await _requirements(kernel, workspace, workflow.version)
    contacts = await find_contacts(kernel, workspace, [triggers[place].contact_id for place in first.values()])
    lacking = []
    for key, place in first.items():
        await breaks.take_if_due()
        if not _is_complete(triggers[place], needs, contacts):
            lacking.append(key)
    refusal = await _refusal(kernel, workspace, workflow)
    known = await _find_known(kernel, workspace, workflow, first if refusal else lacking, correlated)
    for place in islice((first[key] for key in lacking if key not in known), MOST_PROBLEMS):
        await breaks.take_if_due()
        wrong[place] = _lack_in(triggers[place], needs, contacts)
    if refusal:
        wrong |= {place: refusal for key, place in first.items() if key not in known}
    fresh = {key: triggers[place] for key, place in first.items() if key not in known}
    return Checked(workflow, triggers, fresh, known, contacts, correlated), wrong


async def _refusal(kernel: Kernel, workspace: Workspace, workflow: FoundWorkflow) -> Conflict | None:
    """Why nothing of a workflow can be started, whatever the data."""
    if not workflow.active:
        return Conflict("the workflow is not active, so it cannot be triggered; activate it first")
    graph = graph_of(kernel, workflow.version.id, workflow.version.definition)
    missing = await find_unrouted(kernel, workspace, graph.channels)
    return ChannelNotReady(missing) if missing else None


def _is_complete(one: Trigger, needs: Requirements, contacts: Found) -> bool:
    return (one.contact_id is None or one.contact_id in contacts) and needs.are_met_by(
        one.data, names_contact=one.contact_id is not None
    )


def _lack_in(one: Trigger, needs: Requirements, contacts: Found) -> InputInvalid:
    """Why an incomplete trigger is refused."""
    missing = needs.missing(one.data, names_contact=one.contact_id is not None)
    if one.contact_id is None or one.contact_id in contacts:
        return missing or InputInvalid("data is not complete")
    unknown = no_contact("contactId", one.contact_id)
    return TriggersInvalid([unknown, *([Problem("data", str(missing))] if missing else [])])


def _wrong_in(one: Trigger) -> InputInvalid | None:
    try:
        check_key(one.idempotency_key)
        check_data(one.data, "data")
    except InputInvalid as error:
        return error
    return None


async def _requirements(kernel: Kernel, workspace: Workspace, version: Version) -> Requirements:
    if version.id not in kernel.requirements:
        await know_stored_templates(kernel, workspace, version.definition)
        kernel.requirements[version.id] = requirements_of(graph_of(kernel, version.id, version.definition))
    return kernel.requirements[version.id]


async def _find_known(
    kernel: Kernel, workspace: Workspace, workflow: FoundWorkflow, keys: Iterable[str], correlated: bool
) -> Mapping[str, UUID]:
    known: dict[str, UUID] = {}
    for shard, share in by_shard(kernel, workspace, keys).items():
        find = partial(
            existing, shard=shard, workspace=workspace, workflow=workflow, keys=list(share), correlated=correlated
        )
        known |= await kernel.db.persist(find, alone=True)
    return known


def by_shard(kernel: Kernel, workspace: Workspace, keys: Iterable[str]) -> Mapping[Shard, Mapping[str, Bucket]]:
    """Group keys by shard, with their buckets."""
    shares: dict[Shard, dict[str, Bucket]] = defaultdict(dict)
    for key in keys:
        bucket = workspace.bucket_of(key)
        shares[Shard(bucket % kernel.shards)][key] = bucket
    return shares


async def existing(
    tx: Tx, shard: Shard, workspace: Workspace, workflow: FoundWorkflow, keys: Sequence[str], *, correlated: bool
) -> Mapping[str, UUID]:
    """Return the executions that took these keys: of the workflow itself or, where keys are correlated, of another."""
    if not keys:
        return {}
    own = await start.find_executions_by_key(tx, shard=shard, workspace=workspace, workflow_id=workflow.id, keys=keys)
    others = [key for key in keys if key not in own] if correlated else []
    if not others:
        return own
    found = await start.find_correlated_executions(tx, shard=shard, workspace=workspace, keys=others)
    return {**found, **own}


def check_key(key: str) -> None:
    """Refuse a string that cannot be an idempotency key."""
    if not key or len(key) > LONGEST_KEY or not is_storable(key):
        raise InputInvalid(f"idempotencyKey {key[:50]!r}: use 1 to {LONGEST_KEY} characters, none of them NUL")


def check_data(data: Mapping[str, object], place: str) -> None:
    """Refuse data that could not be stored or read again, naming the place, before anything is stored."""
    try:
        with suppress(UnicodeEncodeError):  # half of a surrogate pair: the walk below says where
            if is_surely_storable(msgspec.json.encode(data)):
                return
        for wrong in unstorable_places(data, place):
            raise InputInvalid(f"{wrong} {UNSTORABLE}")
    except RecursionError as error:
        raise InputInvalid(f"{place} {TOO_DEEP}") from error
    except (TypeError, ValueError) as error:
        raise InputInvalid(f"{place} is not JSON: {error}") from error
    if is_too_deep(data):
        raise InputInvalid(f"{place} {TOO_DEEP}")
