"""`tidings workflows`: definitions in files, and what the database has of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.definition_files import (
    SUFFIXES,
    Document,
    FileProblem,
    FilesInvalid,
    problems_of,
    read_definitions,
)
from tidings.cli.opened import (
    Actor,
    Limit,
    Tenant,
    WorkflowReference,
    WorkspaceName,
    Yes,
    caller,
    on_database,
    reference,
)
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.workflows import Workflow, WorkflowVersion

app = typer.Typer(help="Workflows: apply definitions from files, show and remove them.", no_args_is_help=True)

Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="YAML or JSON files with one or more workflows.")]


@app.command()
def apply(
    files: Files,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make the workflows be as the files say: created, updated or unchanged. Nothing is changed if a file is wrong."""
    from tidings.cli.output import print_json, print_table

    documents, problems = _checked(files)
    if problems:
        _refuse(problems, as_json=as_json)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> list[dict[str, object]]:
        return [await _apply(engine, by, document) for document in documents]

    rows = on_database(database_url, data_dir, work)
    if as_json:
        print_json(rows)
    else:
        print_table("workflows", [_applied(row) for row in rows], empty="")


@app.command()
def validate(files: Files, as_json: AsJson = False) -> None:
    """Say everything that is wrong in the files, each with its place; needs no database. Exits 1 if anything is."""
    from tidings.cli.output import print_json, print_line

    documents, problems = _checked(files)
    if problems:
        _refuse(problems, as_json=as_json)
    if as_json:
        print_json({"valid": True, "workflows": [document.name for document in documents], "errors": []})
    else:
        print_line(f"valid: {', '.join(document.name for document in documents)}", style="green")


@app.command("list")
def list_workflows(
    name: Annotated[str | None, typer.Option(help="Only the one of this name.", show_default=False)] = None,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Only these.", show_default=False)] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List workflows, newest first."""
    from tidings.cli.output import print_json, print_table

    created = created_in(created_after, created_before)
    room = Workspace(tenant, workspace)
    page = on_database(
        database_url,
        data_dir,
        lambda engine: engine.workflows.list(room, name=name, active=active, limit=limit, created=created),
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("workflows", [_row(one) for one in page.items], empty="there is no workflow")


@app.command()
def show(
    workflow: WorkflowReference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Draw a workflow, and list its versions."""
    from tidings.cli.output import print_json

    room = Workspace(tenant, workspace)

    async def work(engine: "Engine") -> "tuple[Workflow, Sequence[WorkflowVersion]]":
        found = await _find(engine, room, workflow)
        return found, await engine.workflows.versions(room, found.id)

    found, versions = on_database(database_url, data_dir, work)
    if as_json:
        print_json(found, versions=versions)
    else:
        _print_workflow(found, versions)


@app.command()
def activate(
    workflow: WorkflowReference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a workflow be triggered."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Workflow":
        return await engine.workflows.activate(by, (await _find(engine, by.workspace, workflow)).id)

    _print_changed(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def deactivate(
    workflow: WorkflowReference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a workflow be triggered no more; what was started goes on."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Workflow":
        return await engine.workflows.deactivate(by, (await _find(engine, by.workspace, workflow)).id)

    _print_changed(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def delete(
    workflows: Annotated[
        list[str], typer.Argument(metavar="WORKFLOW…", help="Names, ids, or files: then each workflow in them.")
    ],
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove workflows; one that is active and has been triggered must be deactivated first. Asks first."""
    from tidings.cli.output import print_json, print_line

    names = _names(workflows)
    if not yes:
        typer.confirm(f"Remove {', '.join(names)}?", abort=True, err=True)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "list[Workflow]":
        found = [await _find(engine, by.workspace, name) for name in names]  # all are there, or none is removed
        for one in found:
            await engine.workflows.delete(by, one.id)
        return found

    removed = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"deleted": [{"id": one.id, "name": one.name} for one in removed]})
    for one in removed if not as_json else []:
        print_line(f"{one.name} is removed")


def _checked(files: Sequence[Path]) -> tuple[list[Document], list[FileProblem]]:
    from tidings.resources.workflows import Workflows

    documents, problems = read_definitions(files)
    for document in documents:
        problems += problems_of(document, Workflows.validate(document.definition))
    return documents, problems


def _refuse(problems: Sequence[FileProblem], *, as_json: bool) -> None:
    """Say every problem and leave."""
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json({"valid": False, "errors": problems})
    for problem in problems if not as_json else []:
        print_line(str(problem), style="red")
    raise typer.Exit(1)


async def _apply(engine: "Engine", by: Caller, document: Document) -> dict[str, object]:
    shown, change = await engine.workflows.apply(
        by, document.name, document.definition, description=document.description
    )
    if document.active is not None and document.active is not shown.active:
        switch = engine.workflows.activate if document.active else engine.workflows.deactivate
        shown, change = await switch(by, shown.id), "updated" if change == "unchanged" else change
    return {
        "name": shown.name,
        "version": shown.version,
        "change": change,
        "active": shown.active,
        "notReady": list(shown.not_ready),
        "id": shown.id,
    }


def _applied(row: Mapping[str, object]) -> dict[str, object]:
    missing = row["notReady"]
    words = {"active": _yes(row["active"]), "not ready": ", ".join(missing) if isinstance(missing, list) else ""}
    order = ("name", "version", "change", "active", "not ready", "id")
    return {name: {**row, **words}[name] for name in order}


async def _find(engine: "Engine", room: Workspace, text: str) -> "Workflow":
    named = reference(text)
    return await (engine.workflows.get(room, named) if isinstance(named, UUID) else engine.workflows.find(room, named))


def _names(given: Sequence[str]) -> list[str]:
    """What was named, with the workflows in a file in the place of the file."""
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


def _print_workflow(found: "Workflow", versions: "Sequence[WorkflowVersion]") -> None:
    from tidings.cli.drawing import draw
    from tidings.cli.output import console, print_line, print_not_ready, print_table

    state = "active" if found.active else "not active"
    print_line(f"{found.name}  version {found.version} · {found.form} · {state} · {found.id}", style="bold")
    if found.description:
        print_line(found.description)
    print_not_ready(found.not_ready)
    print_line("")
    for line in draw(found.definition):
        console.print(line, soft_wrap=True)
    print_line("")
    print_table(
        "versions",
        [{"version": one.number, "created": one.created_at, "id": one.id} for one in versions],
        empty="",
    )


def _print_changed(found: "Workflow", *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line, print_not_ready

    if as_json:
        print_json(found)
    else:
        print_line(f"{found.name} is {'active' if found.active else 'not active'}")
        print_not_ready(found.not_ready)


def _row(workflow: "Workflow") -> dict[str, object]:
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
