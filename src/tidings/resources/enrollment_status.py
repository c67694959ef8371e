"""Turn a stored enrollment into what people see: its status, its outcome, and the reason in words."""

from collections.abc import Sequence

from tidings.domain.flow.graph import Graph
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.domain.sequences.form import WAIT
from tidings.domain.words import WORDS, ShownStatus
from tidings.resources import why
from tidings.storage.enrollments import StepTally, StoredEnrollment
from tidings.views.contacts import ContactName
from tidings.views.enrollments import Enrollment, EnrollmentOutcome, EnrollmentStatus, MessageCounts


def shown_of(
    found: StoredEnrollment, contact: ContactName | None, graph: Graph, tallies: Sequence[StepTally]
) -> Enrollment:
    """Return an enrollment as a person sees it; the graph of its version tells which step is which."""
    steps = [step.id for step in why.steps_of(graph)]
    step = found.next_node.removeprefix(WAIT) if found.next_node else steps[-1]
    status = EnrollmentStatus(WORDS[found.status].enrollment)
    messages = counts_of(tallies)
    return Enrollment(
        id=found.id,
        contact_id=found.contact_id,
        contact=contact,
        sequence_id=found.sequence_id,
        sequence_name=found.sequence_name,
        sequence_version=found.version,
        current_step_index=steps.index(step),
        current_step_id=step,
        next_step_at=None if status.has_ended else found.next_at,
        status=status,
        outcome=outcome_of(messages) if status.has_ended else None,
        messages=messages,
        enrolled_at=found.created_at,
        created_at=found.created_at,
        completed_at=found.ended_at,
        reason=_reason(found, steps) or (_shortfall(messages, tallies) if status.has_ended else None),
    )


def counts_of(tallies: Sequence[StepTally]) -> MessageCounts:
    """Count the messages by what became of them."""
    counts = {one.status: one.messages for one in tallies}
    return MessageCounts(
        sent=sum(count for status, count in counts.items() if status in SUCCESSES),
        failed=counts.get(ItemStatus.FAILED, 0),
        skipped=counts.get(ItemStatus.SKIPPED, 0),
        pending=counts.get(ItemStatus.QUEUED, 0),
    )


def outcome_of(messages: MessageCounts) -> EnrollmentOutcome | None:
    """Return what an ended enrollment achieved; None when nothing was to be sent, or when it is not known yet."""
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
    """Say what an enrollment that went through every step did not send, and why."""
    errors = {one.status: one.error for one in tallies}
    nothing = "" if messages.sent else "nothing was sent: "
    if messages.failed:
        return f"{nothing}{messages.failed} of {messages.total} messages failed: {errors[ItemStatus.FAILED]}"
    if messages.skipped and not messages.sent and not messages.pending:
        return f"{nothing}{messages.skipped} of {messages.total} messages were skipped: {errors[ItemStatus.SKIPPED]}"
    return None
