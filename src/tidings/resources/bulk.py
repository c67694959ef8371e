"""Start many executions of any workflows in one call: everything is checked before anything is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from tidings.domain.caller import Caller
from tidings.domain.errors import ChannelNotReady, InputInvalid, NotFound, Problem, TriggersInvalid
from tidings.domain.people.contact import ContactReference
from tidings.kernel.kernel import Kernel
from tidings.kernel.process.breaks import Breaks
from tidings.kernel.start import trigger
from tidings.kernel.start.check import MOST_PROBLEMS, Checked, Trigger, check_triggers, find_workflow
from tidings.views.executions import StartedOne

MOST_TRIGGERS = 10_000


@dataclass(frozen=True, slots=True)
class BulkTrigger:
    """One of many requests to start a workflow, by id or by name."""

    workflow: UUID | str
    data: Mapping[str, object] = field(default_factory=dict)
    idempotency_key: str | None = None
    contact_id: ContactReference | None = None


async def trigger_many(
    kernel: Kernel, caller: Caller, triggers: Sequence[BulkTrigger], triggered_by: str
) -> list[StartedOne]:
    """Start them in one transaction per workflow and shard; return the answers in the order of the triggers."""
    if len(triggers) > MOST_TRIGGERS:
        raise InputInvalid(f"{len(triggers)} triggers are more than the {MOST_TRIGGERS} of one call; split them")
    groups = _by_workflow(triggers)
    checked: dict[UUID | str, Checked] = {}
    problems: dict[int, Problem] = {}
    not_ready: dict[int, ChannelNotReady] = {}
    for workflow, places in groups.items():
        if len(problems) >= MOST_PROBLEMS:
            break
        requests = await _with_keys([triggers[place] for place in places])
        try:
            found = await find_workflow(kernel, caller.workspace, workflow)
        except NotFound as error:
            problems |= {place: Problem(f"triggers[{place}].workflow", str(error)) for place in places[:MOST_PROBLEMS]}
            continue
        checked[workflow], wrong = await check_triggers(kernel, caller.workspace, found, requests)
        problems |= {places[at]: Problem(f"triggers[{places[at]}]", str(error)) for at, error in wrong.items()}
        not_ready |= {places[at]: error for at, error in wrong.items() if isinstance(error, ChannelNotReady)}
    if not_ready and problems.keys() == not_ready.keys():  # the request has no problems
        raise ChannelNotReady(dict.fromkeys(channel for one in not_ready.values() for channel in one.channels))
    if problems:
        raise TriggersInvalid([problems[place] for place in sorted(problems)[:MOST_PROBLEMS]])
    results: dict[int, StartedOne] = {}
    for workflow, places in groups.items():
        started = await trigger.store_triggers(kernel, caller.workspace, checked[workflow], triggered_by=triggered_by)
        results |= {
            place: StartedOne(id=one.id, duplicate=one.duplicate) for place, one in zip(places, started, strict=True)
        }
    return [results[place] for place in range(len(triggers))]


def _by_workflow(triggers: Sequence[BulkTrigger]) -> Mapping[UUID | str, list[int]]:
    """Return, for each workflow, the positions of its triggers in the request."""
    groups: dict[UUID | str, list[int]] = {}
    for place, one in enumerate(triggers):
        groups.setdefault(one.workflow, []).append(place)
    return groups


async def _with_keys(triggers: Sequence[BulkTrigger]) -> list[Trigger]:
    made, breaks = [], Breaks()
    for one in triggers:
        await breaks.take_if_due()
        made.append(_with_key(one))
    return made


def _with_key(one: BulkTrigger) -> Trigger:
    return Trigger(new_key() if one.idempotency_key is None else one.idempotency_key, one.data, one.contact_id)


def new_key() -> str:
    """Return a unique key: a trigger without a key always starts a new execution."""
    return str(uuid4())
