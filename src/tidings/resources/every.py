"""Every resource of an engine, each imported and made when it is first used: a command uses one or two of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from tidings.kernel.kernel import Kernel

if TYPE_CHECKING:
    from tidings.kernel.start.trigger_batch import TriggerBatches
    from tidings.resources.access import Access
    from tidings.resources.audiences import UnsavedAudiences
    from tidings.resources.campaigns import Campaigns
    from tidings.resources.connections import Connections
    from tidings.resources.contacts import Contacts
    from tidings.resources.drafts import WorkflowDrafts
    from tidings.resources.enrollments import Enrollments
    from tidings.resources.events import Events
    from tidings.resources.executions import Executions
    from tidings.resources.failures import Failures
    from tidings.resources.functions import Functions
    from tidings.resources.health import Health
    from tidings.resources.outbox import Outbox
    from tidings.resources.overview import Overviews
    from tidings.resources.previews import MessagePreviews
    from tidings.resources.providers import Providers
    from tidings.resources.rules import Rules
    from tidings.resources.runs import Runs
    from tidings.resources.secrets import Secrets
    from tidings.resources.segments import Segments
    from tidings.resources.senders import Senders
    from tidings.resources.sequences import Sequences
    from tidings.resources.sessions import Sessions
    from tidings.resources.templates import Templates
    from tidings.resources.users import Users
    from tidings.resources.waiting import Waiting
    from tidings.resources.workflows import Workflows
    from tidings.resources.workspaces import TenancySettings

Made_co = TypeVar("Made_co", covariant=True)


class Part(Generic[Made_co]):
    """What is made of the kernel, and of the other resources that it names, when somebody asks for it."""

    def __init__(self, home: str, *others: str) -> None:
        self._module, _, self._class = home.partition(":")
        self._others = others

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, whole: "Resources | None", owner: type) -> Made_co:
        if whole is None:
            raise AttributeError(f"{self._name} is there once a {owner.__name__} is made")
        others = [getattr(whole, other) for other in self._others]
        made: Made_co = getattr(import_module(self._module), self._class)(whole.kernel, *others)
        vars(whole)[self._name] = made  # where it is found from now on
        return made


class Resources:
    """What people manage, list and control, over one kernel."""

    trigger_batches: Part["TriggerBatches"] = Part("tidings.kernel.start.trigger_batch:TriggerBatches")
    workflows: Part["Workflows"] = Part("tidings.resources.workflows:Workflows")
    drafts: Part["WorkflowDrafts"] = Part("tidings.resources.drafts:WorkflowDrafts", "workflows")
    executions: Part["Executions"] = Part("tidings.resources.executions:Executions", "trigger_batches")
    contacts: Part["Contacts"] = Part("tidings.resources.contacts:Contacts")
    previews: Part["MessagePreviews"] = Part(
        "tidings.resources.previews:MessagePreviews", "workflows", "sequences", "rules"
    )
    sequences: Part["Sequences"] = Part("tidings.resources.sequences:Sequences")
    enrollments: Part["Enrollments"] = Part("tidings.resources.enrollments:Enrollments", "sequences")
    rules: Part["Rules"] = Part("tidings.resources.rules:Rules")
    events: Part["Events"] = Part("tidings.resources.events:Events")
    segments: Part["Segments"] = Part("tidings.resources.segments:Segments")
    audiences: Part["UnsavedAudiences"] = Part("tidings.resources.audiences:UnsavedAudiences")
    campaigns: Part["Campaigns"] = Part("tidings.resources.campaigns:Campaigns")
    senders: Part["Senders"] = Part("tidings.resources.senders:Senders")
    templates: Part["Templates"] = Part("tidings.resources.templates:Templates")
    runs: Part["Runs"] = Part("tidings.resources.runs:Runs")
    outbox: Part["Outbox"] = Part("tidings.resources.outbox:Outbox")
    connections: Part["Connections"] = Part("tidings.resources.connections:Connections", "runs")
    functions: Part["Functions"] = Part("tidings.resources.functions:Functions")
    secrets: Part["Secrets"] = Part("tidings.resources.secrets:Secrets")
    providers: Part["Providers"] = Part("tidings.resources.providers:Providers")
    waiting: Part["Waiting"] = Part("tidings.resources.waiting:Waiting")
    failures: Part["Failures"] = Part("tidings.resources.failures:Failures")
    overview: Part["Overviews"] = Part("tidings.resources.overview:Overviews", "connections", "waiting")
    health: Part["Health"] = Part("tidings.resources.health:Health")
    access: Part["Access"] = Part("tidings.resources.access:Access")
    users: Part["Users"] = Part("tidings.resources.users:Users")
    sessions: Part["Sessions"] = Part("tidings.resources.sessions:Sessions", "access", "users")
    workspaces: Part["TenancySettings"] = Part("tidings.resources.workspaces:TenancySettings")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def make_all(self) -> None:
        """Import and make every resource now, for a process that must not stop for that once it answers."""
        for name, one in vars(Resources).items():
            if isinstance(one, Part):
                getattr(self, name)
