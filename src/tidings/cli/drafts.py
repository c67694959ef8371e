"""`tidings workflows draft`: what is being changed about workflows, valid or not."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.answers import deleted
from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Read, Workflow
from tidings.cli.output import print_line, print_table, table
from tidings.domain.errors import NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from tidings.cli.definition_files import Document
    from tidings.views.drafts import Drafted, ListedDraft, Publication

app = typer.Typer(help="The drafts of workflows.", no_args_is_help=True)


def _read(files: Sequence[Path]) -> "list[Document]":
    """Return what the files say, whatever is wrong with it; raise if one cannot be read."""
    from tidings.cli.definition_files import read_definitions, refused

    documents, problems = read_definitions(files)
    if problems:
        raise refused(problems)
    return documents


Files = Annotated[
    "list[Document]",
    typer.Argument(metavar="FILE…", help="YAML or JSON files with one or more workflows."),
    Read(_read, typed=list[Path]),
]


def _row(draft: "ListedDraft") -> dict[str, object]:
    return {
        "name": draft.name,
        "from version": draft.base or "new",
        "newest": draft.version or "",
        "saved": draft.saved_at,
        "by": draft.saved_by,
        "id": draft.id,
    }


def _print(draft: "Drafted") -> None:
    begun = f"from version {draft.base}" if draft.base else "never published"
    print_line(f"{draft.name}  draft {begun} · saved by {draft.saved_by} · {draft.id}", style="bold")
    if draft.base != draft.version:
        print_line(f"version {draft.version} was published since", style="yellow")
    for one in draft.errors:
        print_line(str(one), style="yellow")
    if draft.valid:
        print_line("valid", style="green")


def _print_saved(saved: "Sequence[Drafted]") -> None:
    for one in saved:
        _print(one)


def _print_published(found: "Publication") -> None:
    print_line(f"{found.name} is at version {found.version} ({found.change})")
    rows: list[dict[str, object]] = [{"version": one.version, "under way": one.count} for one in found.in_flight]
    print_table("executions", rows, empty="nothing is under way")


@command(app, "list", shows=table("drafts", _row, empty="there is no draft"))
async def list_drafts(at: InWorkspace, listed: Listed) -> "list[ListedDraft]":
    """List drafts, those of the newest workflows first."""
    return (await at.engine.drafts.list(at.workspace, limit=listed.limit, created=listed.created)).items


@command(app, shows=_print)
async def show(at: InWorkspace, workflow: Workflow) -> "Drafted":
    """Show who saved a draft, and everything that keeps it from being published."""
    return await at.find(at.engine.drafts, workflow)


@command(app, shows=_print_saved)
async def save(at: Acting, files: Files) -> "list[Drafted]":
    """Save what files say as drafts, valid or not; a workflow that is not there begins as one."""
    return [await _save(at, document) for document in files]


async def _save(at: Acting, document: "Document") -> "Drafted":
    id = await _id_of(at, document.name)
    if id is not None:
        return await at.engine.drafts.save(at.by, id, document.definition)
    return await at.engine.drafts.create(at.by, document.name, document.definition, description=document.description)


async def _id_of(at: Acting, name: str) -> "UUID | None":
    """Return the id of a workflow, published or not."""
    with suppress(NotFound):
        return (await at.engine.workflows.find(at.workspace, name)).id
    with suppress(NotFound):
        return (await at.engine.drafts.find(at.workspace, name)).id
    return None


@command(app, shows=_print_published)
async def publish(at: Acting, workflow: Workflow) -> "Publication":
    """Make a draft the newest version, unless another was published since it was begun."""
    found = await at.find(at.engine.drafts, workflow)
    return await at.engine.drafts.publish(at.by, found.id, revision=found.revision)


def _say_thrown_away(draft: "Drafted") -> None:
    print_line(f"the draft of {draft.name} is thrown away")


@command(
    app,
    shows=_say_thrown_away,
    answers=deleted,
    asks=lambda workflow: f"Throw away the draft of {workflow}?",
)
async def delete(at: Acting, workflow: Workflow) -> "Drafted":
    """Throw a draft away; of a workflow that was never published nothing stays. Asks first."""
    found = await at.find(at.engine.drafts, workflow)
    await at.engine.drafts.delete(at.by, found.id)
    return found
