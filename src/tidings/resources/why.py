"""Why a contact did or did not get what a sequence sends: every step with what happened, what will, or why not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tidings.domain.content.lacks import attributes_in, hint_of, lacking
from tidings.domain.flow.graph import Delay, Graph, OffsetFrom, Send
from tidings.domain.flow.item import ItemStatus
from tidings.domain.people.contact import LoadedContact, addresses_of, lack_of
from tidings.domain.sequences.enrollment import EnrollmentStatus
from tidings.domain.sequences.form import WAIT, Step
from tidings.domain.sequences.step_time import due_of, zone_of
from tidings.resources.shown_enrollments import Fate, ShownEnrollment, StepFate, Why
from tidings.resources.step_logs import status_of
from tidings.storage.enrollments import StepItem


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of a contact in a sequence."""

    graph: Graph
    person: LoadedContact
    enrollment: ShownEnrollment | None
    items: Sequence[StepItem]


def steps_of(graph: Graph) -> list[Send]:
    """The steps of a sequence, in their order."""
    return [node for node in graph.nodes.values() if isinstance(node, Send)]


def of_draft(contact_id: UUID, sequence_id: UUID, steps: Sequence[Step]) -> Why:
    """A sequence that was never published has sent nobody anything."""
    reason = "the sequence is a draft: nobody can be in it before it is published"
    fates = [StepFate(step.id, index, step.channel, Fate.NEVER, None, reason) for index, step in enumerate(steps)]
    return Why(contact_id, sequence_id, False, reason, None, fates)


def reason_of(case: Case) -> str:
    """In one sentence, whether the contact is in the sequence, and why or why not."""
    enrollment = case.enrollment
    if enrollment is None:
        return "the contact was deleted" if case.person.is_deleted else "the contact was never enrolled"
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


def fates(case: Case) -> Iterator[StepFate]:
    """What became of each step, in their order, or will."""
    by_step: dict[str, list[StepItem]] = {}
    for item in case.items:
        by_step.setdefault(item.step_id, []).append(item)
    planned = planned_times(case)
    for index, step in enumerate(steps_of(case.graph)):
        if own := by_step.get(step.id):
            yield _happened(case, step, index, own)
        elif step.id in planned:
            yield StepFate(step.id, index, step.channel, Fate.PLANNED, planned[step.id], _in_the_way(case, step))
        else:
            yield StepFate(step.id, index, step.channel, Fate.NEVER, None, _never(case, index))


def planned_times(case: Case) -> Mapping[str, datetime]:
    """When each step that is still to come is due, as far as is known now."""
    enrollment = case.enrollment
    if enrollment is None or enrollment.status.has_ended or enrollment.next_step_at is None:
        return {}
    times: dict[str, datetime] = {}
    at = enrollment.next_step_at
    for step in steps_of(case.graph)[enrollment.current_step_index :]:
        if times:
            at = _due(case, step, enrollment.enrolled_at, at)
        times[step.id] = at
    return times


def _due(case: Case, step: Send, enrolled_at: datetime, previous: datetime) -> datetime:
    wait = case.graph.nodes[f"{WAIT}{step.id}"]
    if not isinstance(wait, Delay) or wait.schedule is None:
        return previous
    base = enrolled_at if wait.schedule.offset_from is OffsetFrom.ENROLLMENT else previous
    return max(previous, due_of(wait.schedule, base, zone_of(case.person.data)))


def _happened(case: Case, step: Send, index: int, items: Sequence[StepItem]) -> StepFate:
    """Of several addresses, the one that went best."""
    best = min(items, key=lambda item: list(Fate).index(Fate(status_of(item))))
    done = next((item for item in items if Fate(status_of(item)) is Fate.COMPLETED), best)
    reason = "the provider's answer is not known" if done.in_doubt else done.error
    if done.status is ItemStatus.FAILED and (hints := _hints(case, step)):
        reason = f"{reason}; {hints}"
    return StepFate(step.id, index, step.channel, Fate(status_of(done)), done.finalized_at or done.retry_at, reason)


def _in_the_way(case: Case, step: Send) -> str | None:
    """What would keep the step from being sent if it were due now."""
    if refused := case.person.refusal(step.channel):
        return f"it would be skipped: {refused}"
    if not addresses_of(case.person.data, step.channel):
        return f"it would be skipped: {lack_of(step.channel)}"
    if hints := _hints(case, step):
        return f"it would fail: {hints}"
    return case.enrollment.reason if case.enrollment else None


def _hints(case: Case, step: Send) -> str:
    """The attributes that a step prints and that the contact lacks, with what helps."""
    missing = lacking(attributes_in(step.every_template.values()), case.person.data.get("attributes"))
    return "; ".join(f"the contact has no {path}: {hint_of(path)}" for path in missing)


def _never(case: Case, index: int) -> str:
    enrollment = case.enrollment
    if enrollment is None:
        return "the contact is not enrolled"
    if enrollment.status.has_ended and index >= enrollment.current_step_index:
        return enrollment.reason or f"the enrollment is {enrollment.status}"
    return "the contact had passed this place when the step was added"
