"""Why a contact did or did not receive what a sequence sends: for each step what happened, what will, or why not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.content.lacks import attributes_in, hint_of, lacking
from tidings.domain.flow.graph import Delay, Graph, Send
from tidings.domain.flow.item import ItemStatus
from tidings.domain.people.contact import LoadedContact, addresses_of, lack_of
from tidings.domain.sequences.form import WAIT
from tidings.domain.sequences.step_time import due_of, zone_of
from tidings.kernel.flow.addressees import is_for_contact
from tidings.resources.step_logs import status_of
from tidings.storage.enrollments import StepItem
from tidings.views.enrollments import Enrollment, EnrollmentStatus, Fate, StepFate, Why
from tidings.views.sequences import OffsetFrom, Step


@dataclass(frozen=True, slots=True)
class WhyFacts:
    """What is known about a contact in a sequence."""

    graph: Graph
    person: LoadedContact
    enrollment: Enrollment | None
    items: Sequence[StepItem]


def steps_of(graph: Graph) -> list[Send]:
    """Return the steps of a sequence, in their order."""
    return [node for node in graph.nodes.values() if isinstance(node, Send)]


def of_draft(contact_id: UUID, sequence_id: UUID, steps: Sequence[Step]) -> Why:
    """Explain a draft: a sequence that was never published has sent nobody anything."""
    reason = "the sequence is a draft: nobody can be in it before it is published"
    fates = [
        StepFate(step_id=str(step.id), step_index=index, channel=step.channel, fate=Fate.NEVER, reason=reason)
        for index, step in enumerate(steps)
    ]
    return Why(contact_id=contact_id, sequence_id=sequence_id, enrolled=False, reason=reason, steps=fates)


def reason_of(facts: WhyFacts) -> str:
    """Say in one sentence whether the contact is in the sequence, and why or why not."""
    enrollment = facts.enrollment
    if enrollment is None:
        return "the contact was deleted" if facts.person.is_deleted else "the contact was never enrolled"
    since = f"the contact was enrolled at {enrollment.enrolled_at:%Y-%m-%d %H:%M:%S}Z"
    match enrollment.status:
        case EnrollmentStatus.COMPLETED:
            return f"{since} and went through every step" + (f"; {enrollment.reason}" if enrollment.reason else "")
        case EnrollmentStatus.CANCELLED:
            return f"{since}, and it ended before the last step: {enrollment.reason or 'it was cancelled'}"
        case EnrollmentStatus.PAUSED:
            return f"{since}, and is paused: nothing leaves until it is resumed"
        case EnrollmentStatus.ACTIVE:
            return since + (f"; {enrollment.reason}" if enrollment.reason else "")


def fates(facts: WhyFacts) -> Iterator[StepFate]:
    """Yield what happened to each step, in their order, or will happen."""
    by_step: dict[str, list[StepItem]] = {}
    for item in facts.items:
        by_step.setdefault(item.step_id, []).append(item)
    planned = planned_times(facts)
    for index, step in enumerate(steps_of(facts.graph)):
        if own := by_step.get(step.id):
            yield _happened(facts, step, index, own)
        elif step.id in planned:
            yield _told(step, index, Fate.PLANNED, planned[step.id], _in_the_way(facts, step))
        else:
            yield _told(step, index, Fate.NEVER, None, _never(facts, index))


def _told(step: Send, index: int, fate: Fate, at: datetime | None, reason: str | None) -> StepFate:
    return StepFate(step_id=step.id, step_index=index, channel=step.channel, fate=fate, at=at, reason=reason)


def planned_times(facts: WhyFacts) -> Mapping[str, datetime]:
    """Return when each step that is still to come is due, as far as is known now."""
    enrollment = facts.enrollment
    if enrollment is None or enrollment.status.has_ended or enrollment.next_step_at is None:
        return {}
    times: dict[str, datetime] = {}
    at = enrollment.next_step_at
    for step in steps_of(facts.graph)[enrollment.current_step_index :]:
        if times:
            at = _due(facts, step, enrollment.enrolled_at, at)
        times[step.id] = at
    return times


def _due(facts: WhyFacts, step: Send, enrolled_at: datetime, previous: datetime) -> datetime:
    wait = facts.graph.nodes[f"{WAIT}{step.id}"]
    if not isinstance(wait, Delay) or wait.schedule is None:
        return previous
    base = enrolled_at if wait.schedule.offset_from is OffsetFrom.ENROLLMENT else previous
    return max(previous, due_of(wait.schedule, base, zone_of(facts.person.data)))


def _happened(facts: WhyFacts, step: Send, index: int, items: Sequence[StepItem]) -> StepFate:
    """Return the result of a step; of several addresses, the one that went best."""
    best = min(items, key=lambda item: list(Fate).index(Fate(status_of(item))))
    done = next((item for item in items if Fate(status_of(item)) is Fate.COMPLETED), best)
    reason = "the provider's answer is not known" if done.in_doubt else done.error
    if done.status is ItemStatus.FAILED and (hints := _hints(facts, step)):
        reason = f"{reason}; {hints}"
    return _told(step, index, Fate(status_of(done)), done.finalized_at or done.retry_at, reason)


def _in_the_way(facts: WhyFacts, step: Send) -> str | None:
    """Return what would keep the step from being sent if it were due now."""
    if is_for_contact(step) and (refused := facts.person.refusal(step.channel)):
        return f"it would be skipped: {refused}"
    if not step.to and not addresses_of(facts.person.data, step.channel):
        return f"it would be skipped: {lack_of(step.channel)}"
    if hints := _hints(facts, step):
        return f"it would fail: {hints}"
    return facts.enrollment.reason if facts.enrollment else None


def _hints(facts: WhyFacts, step: Send) -> str:
    """Return hints for attributes that a step prints and that the contact lacks."""
    missing = lacking(attributes_in(step.every_template.values()), facts.person.data.get("attributes"))
    return "; ".join(f"the contact has no {path}: {hint_of(path)}" for path in missing)


def _never(facts: WhyFacts, index: int) -> str:
    enrollment = facts.enrollment
    if enrollment is None:
        return "the contact is not enrolled"
    if enrollment.status.has_ended and index >= enrollment.current_step_index:
        return enrollment.reason or f"the enrollment is {enrollment.status}"
    return "the contact had passed this place when the step was added"
