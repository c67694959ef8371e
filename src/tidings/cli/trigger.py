"""`tidings trigger`: start one execution of a workflow."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.opened import (
    Actor,
    Tenant,
    WorkflowReference,
    WorkspaceName,
    caller,
    on_database,
    reference,
)
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.errors import InputInvalid
from tidings.domain.json_text import parse_json

if TYPE_CHECKING:
    from tidings.engine import Engine
    from tidings.views.executions import Execution, StartedExecution


def trigger(
    workflow: WorkflowReference,
    data: Annotated[
        str, typer.Option(help="What the workflow is given: a JSON object, @FILE, or @- for standard input.")
    ] = "{}",
    key: Annotated[
        str | None,
        typer.Option(help="The same key again gives the same execution.  [default: a new one]", show_default=False),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(help="Whom it is for: a contact's id or external id.  [default: nobody]", show_default=False),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended; exits 1 unless it completed.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="How many seconds to wait at most.")] = 60.0,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Start one execution; workers move it."""
    given = read_data(data)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "tuple[StartedExecution, Execution]":
        from tidings.cli.timeline import wait_for

        started = await engine.executions.trigger(
            by, reference(workflow), given, key, contact_id=contact, triggered_by="cli"
        )
        if not wait:
            return started, started
        return started, await wait_for(engine, by.workspace, started.id, timeout)

    started, execution = on_database(database_url, data_dir, work)
    _print(started, execution, waited=wait, as_json=as_json)
    raise typer.Exit(0 if not wait or execution.status == "completed" else 1)


def read_data(text: str, flag: str = "--data") -> Mapping[str, object]:
    """A JSON object as it was given: itself, a file's name after @, or @- for standard input."""
    data = read_json(text, flag)
    if not isinstance(data, dict):
        raise InputInvalid(f'{flag} is no JSON object; write it like \'{{"name": "Ada"}}\'')
    return data


def read_json(text: str, flag: str) -> object:
    """Any JSON, given in the same ways."""
    source = text if not text.startswith("@") else _read(text[1:], flag)
    try:
        return parse_json(source)
    except (ValueError, RecursionError) as error:
        raise InputInvalid(f'{flag} is no JSON: {error}; write it like \'{{"name": "Ada"}}\' or @file.json') from error


def _read(name: str, flag: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputInvalid(f"{flag} @{name} cannot be read: {error}") from error


def _print(started: "StartedExecution", execution: "Execution", *, waited: bool, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line
    from tidings.cli.timeline import STYLES, ended_words

    if as_json:
        print_json(execution, duplicate=started.duplicate)
        return
    again = " (this key had started it before)" if started.duplicate else ""
    print_line(f"{execution.id}  {execution.workflow_name} version {execution.workflow_version}{again}")
    if waited:
        print_line(ended_words(execution), style=STYLES.get(execution.status, ""))
