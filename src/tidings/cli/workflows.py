"""`tidings workflows`: definitions in files, and what the database has of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.answers import with_fields
from tidings.cli.command import command
from tidings.cli.drafts import app as drafts
from tidings.cli.opened import Acting, Called, InWorkspace
from tidings.cli.options import Listed, Read, Workflow, named
from tidings.cli.output import print_line, print_not_ready, print_shown, print_table, table
from tidings.cli.previews import Open, PreviewData, any_failed, open_page, print_previews

if TYPE_CHECKING:
    from tidings.cli.definition_files import Document
    from tidings.views.previews import Preview
    from tidings.views.workflows import Workflow as ShownWorkflow
    from tidings.views.workflows import WorkflowVersion

app = typer.Typer()
app.add_typer(drafts, name="draft")


def _checked(files: Sequence[Path]) -> "list[Document]":
    """Return the workflows in the files, or raise if one has a problem."""
    from tidings.cli.definition_files import problems_of, read_definitions, refused
    from tidings.resources.workflows import Workflows

    documents, problems = read_definitions(files)
    for document in documents:
        problems += problems_of(document, Workflows.validate(document.definition))
    if problems:
        raise refused(problems)
    return documents


Files = Annotated[
    "list[Document]",
    typer.Argument(metavar="FILE…", help="YAML or JSON files with one or more workflows."),
    Read(_checked, typed=list[Path]),
]


def _row(workflow: "ShownWorkflow") -> dict[str, object]:
    return {
        "name": workflow.name,
        "version": workflow.version,
        "form": workflow.form,
        "active": _yes(workflow.active),
        "not ready": ", ".join(workflow.not_ready),
        "updated": workflow.updated_at,
        "id": workflow.id,
    }


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _print_applied(rows: Sequence[Mapping[str, object]]) -> None:
    print_table("workflows", [_applied(row) for row in rows], empty="")


def _applied(row: Mapping[str, object]) -> dict[str, object]:
    missing = row["notReady"]
    words = {"active": _yes(row["active"]), "not ready": ", ".join(missing) if isinstance(missing, list) else ""}
    order = ("name", "version", "change", "active", "not ready", "id")
    return {name: {**row, **words}[name] for name in order}


@command(app, shows=_print_applied)
async def apply(at: Acting, files: Files) -> list[dict[str, object]]:
    """Make the workflows be as the files say: created, updated or unchanged. Nothing is changed if a file is wrong."""
    return [await _apply(at, document) for document in files]


async def _apply(at: Acting, document: "Document") -> dict[str, object]:
    workflows = at.engine.workflows
    shown, change = await workflows.apply(at.by, document.name, document.definition, description=document.description)
    if document.active is not None and document.active is not shown.active:
        switch = workflows.activate if document.active else workflows.deactivate
        shown, change = await switch(at.by, shown.id), "updated" if change == "unchanged" else change
    return {
        "name": shown.name,
        "version": shown.version,
        "change": change,
        "active": shown.active,
        "notReady": list(shown.not_ready),
        "id": shown.id,
    }


def _say_valid(names: Sequence[str]) -> None:
    print_line(f"valid: {', '.join(names)}", style="green")


@command(app, shows=_say_valid, answers=lambda names: {"valid": True, "workflows": names, "errors": []})
async def validate(_: Called, files: Files) -> list[str]:
    """Say everything that is wrong in the files, each with its place; needs no database. Exits 1 if anything is."""
    return [document.name for document in files]


@command(app, "list", shows=table("workflows", _row, empty="there is no workflow"))
async def list_workflows(
    at: InWorkspace,
    *,
    name: Annotated[str | None, typer.Option(help="Only the one of this name.", show_default=False)] = None,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Only these.", show_default=False)] = None,
    listed: Listed,
) -> "list[ShownWorkflow]":
    """List workflows, newest first."""
    page = await at.engine.workflows.list(
        at.workspace, name=name, active=active, limit=listed.limit, created=listed.created
    )
    return page.items


def _print(shown: "tuple[ShownWorkflow, Sequence[WorkflowVersion]]") -> None:
    from tidings.cli.drawing import draw

    found, versions = shown
    state = "active" if found.active else "not active"
    print_line(f"{found.name}  version {found.version} · {found.form} · {state} · {found.id}", style="bold")
    if found.description:
        print_line(found.description)
    print_not_ready(found.not_ready)
    print_line("")
    for line in draw(found.definition):
        print_shown(line)
    print_line("")
    print_table(
        "versions",
        [{"version": one.number, "created": one.created_at, "id": one.id} for one in versions],
        empty="",
    )


@command(app, shows=_print, answers=lambda shown: with_fields(shown[0], versions=shown[1]))
async def show(at: InWorkspace, workflow: Workflow) -> "tuple[ShownWorkflow, Sequence[WorkflowVersion]]":
    """Draw a workflow, and list its versions."""
    found = await at.find(at.engine.workflows, workflow)
    return found, await at.engine.workflows.versions(at.workspace, found.id)


def _print_changed(found: "ShownWorkflow") -> None:
    print_line(f"{found.name} is {'active' if found.active else 'not active'}")
    print_not_ready(found.not_ready)


@command(app, shows=_print_changed)
async def activate(at: Acting, workflow: Workflow) -> "ShownWorkflow":
    """Let a workflow be triggered."""
    return await at.engine.workflows.activate(at.by, (await at.find(at.engine.workflows, workflow)).id)


@command(app, shows=_print_changed)
async def deactivate(at: Acting, workflow: Workflow) -> "ShownWorkflow":
    """Let a workflow be triggered no more; what was started goes on."""
    return await at.engine.workflows.deactivate(at.by, (await at.find(at.engine.workflows, workflow)).id)


def _names(given: Sequence[str]) -> list[str]:
    """Return the given names, with a file replaced by the names of its workflows."""
    from tidings.cli.definition_files import SUFFIXES, FilesInvalid, read_definitions

    names: list[str] = []
    for text in given:
        if Path(text).suffix.lower() not in SUFFIXES:
            names.append(text)
            continue
        documents, problems = read_definitions([Path(text)])
        if problems:
            raise FilesInvalid(problems)
        names += [document.name for document in documents]
    return names


def _say_removed(removed: "Sequence[ShownWorkflow]") -> None:
    for one in removed:
        print_line(f"{one.name} is removed")


@command(
    app,
    shows=_say_removed,
    answers=lambda removed: {"deleted": [{"id": one.id, "name": one.name} for one in removed]},
    asks=lambda workflows: f"Remove {', '.join(workflows)}?",
)
async def delete(
    at: Acting,
    workflows: Annotated[
        list[str],
        typer.Argument(metavar="WORKFLOW…", help="Names, ids, or files: then each workflow in them."),
        Read(_names, typed=list[str]),
    ],
) -> "Sequence[ShownWorkflow]":
    """Remove workflows; one that is active and has been triggered must be deactivated first. Asks first."""
    # All are there, or none is removed.
    found = [await at.find(at.engine.workflows, named(name)) for name in workflows]
    for one in found:
        await at.engine.workflows.delete(at.by, one.id)
    return found


@command(app, shows=print_previews, fails=any_failed)
async def preview(
    at: InWorkspace,
    workflow: Workflow,
    *,
    node: Annotated[str | None, typer.Option(help="Only the node of this id.", show_default=False)] = None,
    data: PreviewData,
    contact: Annotated[str | None, typer.Option(help="The contact it walks for: its id or external id.")] = None,
    open_it: Open = False,
) -> "Sequence[Preview]":
    """Show what its messages would say; what the data lacks is shown as it is written, and exits 1."""
    found = await at.find(at.engine.workflows, workflow)
    shown = await at.engine.previews.workflow(at.workspace, found.id, data, part=node, contact_id=contact)
    if open_it:
        open_page(shown, found.name)
    return shown
