"""How an enrollment stands, from what is stored of it and of its messages: status, outcome, and the reason in words."""

from collections.abc import Sequence

from tidings.domain.flow.graph import Graph
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.domain.sequences.enrollment import EnrollmentOutcome, EnrollmentStatus
from tidings.domain.sequences.form import WAIT
from tidings.domain.words import WORDS, ShownStatus
from tidings.resources import why
from tidings.resources.shown_enrollments import MessageCounts, ShownEnrollment
from tidings.storage.enrollments import StepTally, StoredEnrollment
from tidings.views.contacts import ContactName


def shown_of(
    found: StoredEnrollment, contact: ContactName | None, graph: Graph, tallies: Sequence[StepTally]
) -> ShownEnrollment:
    """An enrollment as a person sees it; the graph of its version tells which step is which."""
    steps = [step.id for step in why.steps_of(graph)]
    ready = found.frontier.ready[0] if found.frontier.ready else None
    step = ready.node.removeprefix(WAIT) if ready else steps[-1]
    status = EnrollmentStatus(WORDS[found.status].enrollment)
    messages = counts_of(tallies)
    return ShownEnrollment(
        id=found.id,
        contact_id=found.contact_id,
        contact=contact,
        sequence_id=found.sequence_id,
        sequence_name=found.sequence_name,
        sequence_version=found.version,
        current_step_index=steps.index(step),
        current_step_id=step,
        next_step_at=ready.due_at if ready and not status.has_ended else None,
        status=status,
        outcome=outcome_of(messages) if status.has_ended else None,
        messages=messages,
        enrolled_at=found.created_at,
        created_at=found.created_at,
        completed_at=found.ended_at,
        reason=_reason(found, steps) or (_shortfall(messages, tallies) if status.has_ended else None),
    )


def counts_of(tallies: Sequence[StepTally]) -> MessageCounts:
    """How many messages have come to what."""
    counts = {one.status: one.messages for one in tallies}
    return MessageCounts(
        sent=sum(count for status, count in counts.items() if status in SUCCESSES),
        failed=counts.get(ItemStatus.FAILED, 0),
        skipped=counts.get(ItemStatus.SKIPPED, 0),
        pending=counts.get(ItemStatus.QUEUED, 0),
    )


def outcome_of(messages: MessageCounts) -> EnrollmentOutcome | None:
    """What came of an enrollment that has ended; None where nothing was to be sent, or nobody knows yet."""
    if messages.failed:
        return EnrollmentOutcome.PARTIAL if messages.sent or messages.pending else EnrollmentOutcome.FAILED
    if messages.sent:
        return EnrollmentOutcome.SENT
    return EnrollmentOutcome.SKIPPED if messages.skipped and not messages.pending else None


def _reason(found: StoredEnrollment, steps: Sequence[str]) -> str | None:
    match found.status:
        case ShownStatus.FAILED:
            failed = (found.error_node or "").removeprefix(WAIT)
            which = f"step {steps.index(failed) + 1} of {len(steps)}" if failed in steps else "a step"
            return f"{which} failed: {found.error}"
        case ShownStatus.CANCELLED:
            return found.error or "it was cancelled"
        case ShownStatus.PAUSED:
            return "it is paused"
        case ShownStatus.COMPLETED:
            return None
        case ShownStatus.ENQUEUED | ShownStatus.PROCESSING:
            return "the sequence is paused" if found.sequence_paused else None


def _shortfall(messages: MessageCounts, tallies: Sequence[StepTally]) -> str | None:
    """What was not sent by an enrollment that went through every step, and why."""
    errors = {one.status: one.error for one in tallies}
    nothing = "" if messages.sent else "nothing was sent: "
    if messages.failed:
        return f"{nothing}{messages.failed} of {messages.total} messages failed: {errors[ItemStatus.FAILED]}"
    if messages.skipped and not messages.sent and not messages.pending:
        return f"{nothing}{messages.skipped} of {messages.total} messages were skipped: {errors[ItemStatus.SKIPPED]}"
    return None
