"""Options that several commands share, each declared once, and how a command reads one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from tidings.cli.given import read_where
from tidings.domain.errors import InputInvalid
from tidings.domain.names import problem_of_name
from tidings.domain.paging import Created, read_created


@dataclass(frozen=True, slots=True)
class Read:
    """Beside an option: `read` converts what was typed before the command gets it, and before a database is opened.

    `default` stands in for an option that was not typed.
    """

    read: Callable[[Any], object]
    default: object = Parameter.empty
    typed: type = str


def named(text: str) -> UUID | str:
    """Return what names something: its id, or else its name."""
    try:
        return UUID(text)
    except ValueError:
        return text


def _checked_name(parameter: typer.CallbackParam, given: str) -> str:
    if wrong := problem_of_name(given):
        raise InputInvalid(f"--{parameter.name}: {wrong}")
    return given


Tenant = Annotated[str, typer.Option(help="The tenant.", callback=_checked_name)]
WorkspaceName = Annotated[str, typer.Option("--workspace", help="The tenant's workspace.", callback=_checked_name)]
Actor = Annotated[str, typer.Option(help="Who does it, for the audit log.", envvar="USER")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(help="PostgreSQL to use instead of the embedded one.  [env: DATABASE_URL]", show_default=False),
]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Where the embedded PostgreSQL keeps its files.  [env: TIDINGS_DATA_DIR]", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


@dataclass(frozen=True, slots=True)
class Shared:
    """The options of a command beside its own, in the order of `--help`."""

    tenant: Tenant = "default"
    workspace: WorkspaceName = "default"
    actor: Actor = "cli"
    database_url: DatabaseUrl = None
    data_dir: DataDir = None
    as_json: AsJson = False


Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
AppReference = Annotated[
    str | None,
    typer.Option(
        "--app", help="A host application's providers, functions and fallbacks, as module:name.", show_default=False
    ),
]

Workflow = Annotated[UUID | str, typer.Argument(metavar="WORKFLOW", help="The workflow's name or id."), Read(named)]
OfWorkflow = Annotated[
    UUID | str | None,
    typer.Option("--workflow", help="Only of this workflow: its name or id.", show_default=False),
    Read(named),
]
Sequence = Annotated[UUID | str, typer.Argument(metavar="SEQUENCE", help="The sequence's name or id."), Read(named)]
Contact = Annotated[str, typer.Argument(metavar="CONTACT", help="The contact's id or external id.")]
Where = Annotated[
    dict[str, Any] | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Whom: plan = pro and created after 30 days ago …, JSON as in the API, or @file.",
        show_default=False,
    ),
    Read(read_where),
]
Only = Annotated[str | None, typer.Option(help="Only those of it.", show_default=False)]

Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]
CreatedAfter = Annotated[
    str | None,
    typer.Option(
        "--created-after",
        metavar="TIME",
        help="Only what was created at this time or later: ISO 8601; a date alone is its midnight in UTC.",
        show_default=False,
    ),
]
CreatedBefore = Annotated[
    str | None,
    typer.Option(
        "--created-before", metavar="TIME", help="Only what was created before this time.", show_default=False
    ),
]


@dataclass(slots=True)
class Listed:
    """How many records to list, and from which times of creation."""

    limit: Limit = 50
    created_after: CreatedAfter = None
    created_before: CreatedBefore = None
    created: Created = field(init=False)

    def __post_init__(self) -> None:
        names = ("--created-after", "--created-before")
        self.created = read_created(self.created_after, self.created_before, names)
