"""Everything about one person."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.contacts import Contact
from tidings.views.enrollments import Enrollment
from tidings.views.events import Event
from tidings.views.executions import Execution, LogLine
from tidings.views.keys import AuditLine
from tidings.views.outbox import HistoryLine, ItemDetail
from tidings.views.view import ChannelName, Id, Time, View, doc


class KeptSuppression(View, frozen=True, kw_only=True):
    """An opt-out that is stored as the hash of one of the contact's addresses."""

    channel: ChannelName
    reason: Annotated[str, doc(example="unsubscribed")]
    since: Time


class ExportedExecution(Execution, frozen=True, kw_only=True):
    """An execution with what each of its nodes did, and what people did about it."""

    log: Sequence[LogLine] = ()
    history: Sequence[HistoryLine] = ()


class Membership(View, frozen=True, kw_only=True):
    """A run that a contact was in the audience of, or that showed the contact in a test."""

    run_id: Id
    campaign_name: Annotated[str | None, doc(example="spring")] = None
    test: Annotated[bool, doc("Whether it went to somebody else, with this contact's data.")] = False


class ContactExport(View, frozen=True, kw_only=True):
    """Everything that is stored about one contact; each list is complete."""

    contact: Contact
    kept_suppressions: Sequence[KeptSuppression] = ()
    enrollments: Sequence[Enrollment] = ()
    executions: Sequence[ExportedExecution] = ()
    items: Annotated[Sequence[ItemDetail], doc("What was sent or is to be sent to the contact, with the message.")] = ()
    events: Annotated[Sequence[Event], doc("Events that name the contact, with what was sent about them.")] = ()
    audiences: Sequence[Membership] = ()
    audit_log: Sequence[AuditLine] = ()
