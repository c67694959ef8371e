"""Tidings over HTTP, for Python programs that do not hold the database themselves.

    from tidings.client import Client

    async with Client("http://127.0.0.1:8080", key) as client:
        started = await client.trigger("proposal_accepted", {"guest_email": "ada@example.com"}, "proposal-17")
        ended = await client.wait(started.execution.id, on_progress=print)

Imports nothing else of Tidings but its views, so that it can be lifted out with them.
"""

from tidings.client.campaigns import Deployed
from tidings.client.client import Client, Triggered
from tidings.client.enrollments import Enrolled
from tidings.client.errors import (
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    ServerUnreachable,
    Unauthorized,
    WaitTimeout,
)
from tidings.client.keys import NewKey
from tidings.client.transport import Retrying
from tidings.client.workflows import Applied
from tidings.views.campaigns import AudienceCount, Campaign
from tidings.views.contacts import Contact, ContactName, Imported, RejectedLine, UpsertedContact
from tidings.views.enrollments import EnrolledCounts as BatchEnrolled
from tidings.views.enrollments import Enrollment, StepFate, StepLog, Why
from tidings.views.events import Decision, Event, EventItem
from tidings.views.executions import Execution, LogLine, Replay
from tidings.views.keys import ApiKey
from tidings.views.lacks import Lack
from tidings.views.outbox import ItemDetail as Item
from tidings.views.outbox import Resolved
from tidings.views.previews import Preview
from tidings.views.problems import ProblemPlace as Problem
from tidings.views.providers import LiveWorker as Worker
from tidings.views.providers import ProviderStatus as Provider
from tidings.views.providers import WorkerShare
from tidings.views.rules import Rule
from tidings.views.runs import Counts, Job, Retry, Run, TraceLine
from tidings.views.segments import Segment
from tidings.views.senders import NamedSender as Sender
from tidings.views.simulations import Simulation
from tidings.views.templates import NamedTemplate as Template
from tidings.views.templates import TemplatePreview, TemplateUser, TemplateVersion
from tidings.views.users import User, UserLink
from tidings.views.workflows import Workflow
from tidings.views.workflows import WorkflowVersion as Version
from tidings.views.workspaces import TenantSettings, WorkspaceSettings

__all__ = [
    "ApiError",
    "ApiKey",
    "Applied",
    "AudienceCount",
    "BatchEnrolled",
    "Campaign",
    "Client",
    "Conflict",
    "Contact",
    "ContactName",
    "Counts",
    "Decision",
    "Deployed",
    "Enrolled",
    "Enrollment",
    "Event",
    "EventItem",
    "Execution",
    "Imported",
    "Invalid",
    "Item",
    "Job",
    "Lack",
    "LogLine",
    "NewKey",
    "NotFound",
    "Preview",
    "Problem",
    "Provider",
    "RejectedLine",
    "Replay",
    "Resolved",
    "Retry",
    "Retrying",
    "Rule",
    "Run",
    "Segment",
    "Sender",
    "ServerUnreachable",
    "Simulation",
    "StepFate",
    "StepLog",
    "Template",
    "TemplatePreview",
    "TemplateUser",
    "TemplateVersion",
    "TenantSettings",
    "TraceLine",
    "Triggered",
    "Unauthorized",
    "UpsertedContact",
    "User",
    "UserLink",
    "Version",
    "WaitTimeout",
    "Why",
    "Worker",
    "WorkerShare",
    "Workflow",
    "WorkspaceSettings",
]
