"""`tidings rules`: what is sent when something happens, in files and in the database."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from tidings.cli.created import CreatedAfter, CreatedBefore, created_in
from tidings.cli.opened import Actor, Limit, Tenant, WorkspaceName, Yes, caller, on_database
from tidings.cli.options import AsJson, DatabaseUrl, DataDir
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.cli.definition_files import FileProblem
    from tidings.cli.object_files import Given
    from tidings.engine import Engine
    from tidings.views.rules import Rule

app = typer.Typer(help="Rules: what is sent when something happens, over which channel, to whom.", no_args_is_help=True)

Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="YAML or JSON files with one or more rules.")]
Reference = Annotated[
    str, typer.Argument(metavar="RULE", help="The rule's id, or trigger/channel/audience as in quote_sent/email/lead.")
]
Only = typer.Option(help="Only those of it.", show_default=False)


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
    """Make the rules be as the files say: created, updated or unchanged. Nothing is changed if a file is wrong."""
    from tidings.cli.output import print_json, print_table

    given = _checked(files, as_json=as_json)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> list[dict[str, object]]:
        applied = [await engine.rules.apply(by, one.value) for one in given]
        return [{"rule": str(rule.key), "change": change, "id": rule.id} for rule, change in applied]

    rows = on_database(database_url, data_dir, work)
    if as_json:
        print_json(rows)
    else:
        print_table("rules", rows, empty="")


@app.command()
def validate(files: Files, as_json: AsJson = False) -> None:
    """Say everything that is wrong with the rules in files, each with its line; needs no database."""
    from tidings.cli.output import print_json, print_line

    given = _checked(files, as_json=as_json)
    if as_json:
        print_json({"valid": True, "errors": []})
    else:
        print_line(f"{len(given)} rule{'' if len(given) == 1 else 's'}, nothing wrong")


@app.command("list")
def list_rules(
    trigger: Annotated[str | None, Only] = None,
    channel: Annotated[str | None, Only] = None,
    audience: Annotated[str | None, Only] = None,
    limit: Limit = 50,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List rules, newest first."""
    from tidings.cli.output import print_json, print_table
    from tidings.resources.rules import RuleFilter

    created = created_in(created_after, created_before)
    room, where = Workspace(tenant, workspace), RuleFilter(trigger, channel, audience)
    page = on_database(
        database_url, data_dir, lambda engine: engine.rules.list(room, where, limit=limit, created=created)
    )
    if as_json:
        print_json(page.items)
    else:
        print_table("rules", [_row(one) for one in page.items], empty="there is no such rule")


@app.command()
def show(
    rule: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a rule and its steps."""
    room = Workspace(tenant, workspace)
    _print(on_database(database_url, data_dir, lambda engine: _find(engine, room, rule)), as_json=as_json)


@app.command()
def enable(
    rule: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a rule send."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Rule":
        return await engine.rules.enable(by, (await _find(engine, by.workspace, rule)).id)

    _print(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def disable(
    rule: Reference,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Suppress a rule's channel for its audience; what was enqueued before is still sent."""
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Rule":
        return await engine.rules.disable(by, (await _find(engine, by.workspace, rule)).id)

    _print(on_database(database_url, data_dir, work), as_json=as_json)


@app.command()
def delete(
    rule: Reference,
    yes: Yes = False,
    tenant: Tenant = "default",
    workspace: WorkspaceName = "default",
    actor: Actor = "cli",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove a rule; where a fallback is registered, that is called from now on."""
    from tidings.cli.output import print_json, print_line

    if not yes:
        typer.confirm(f"Delete the rule {rule}?", abort=True)
    by = caller(tenant, workspace, actor)

    async def work(engine: "Engine") -> "Rule":
        found = await _find(engine, by.workspace, rule)
        await engine.rules.delete(by, found.id)
        return found

    gone = on_database(database_url, data_dir, work)
    if as_json:
        print_json({"id": gone.id, "deleted": True})
    else:
        print_line(f"{gone.key} is deleted")


def _checked(files: Sequence[Path], *, as_json: bool) -> "list[Given]":
    """The rules in the files; if anything is wrong, says so and leaves."""
    from tidings.cli.definition_files import FilesInvalid
    from tidings.cli.object_files import read_given
    from tidings.resources.rules import Rules

    problems: list[FileProblem] = []
    given: list[Given] = []
    try:
        given = read_given(files, "rule")
    except FilesInvalid as error:
        problems += error.problems
    for one in given:
        problems += one.problems(Rules.validate(one.value), _name(one))
    if problems:
        _refuse(problems, as_json=as_json)
    return given


def _refuse(problems: "Sequence[FileProblem]", *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line

    if as_json:
        print_json({"valid": False, "errors": problems})
    for problem in problems if not as_json else []:
        print_line(str(problem), style="red")
    raise typer.Exit(1)


def _name(given: "Given") -> str:
    return "/".join(str(given.value.get(part)) for part in ("trigger", "channel", "audience"))


async def _find(engine: "Engine", room: Workspace, text: str) -> "Rule":
    from tidings.domain.flow.item import Channel
    from tidings.domain.rules.rule import RuleKey
    from tidings.views.rules import RuleAudience

    try:
        if "/" not in text:
            return await engine.rules.get(room, UUID(text))
        trigger, channel, audience = text.split("/")
        return await engine.rules.find(room, RuleKey(trigger, Channel(channel), RuleAudience(audience)))
    except ValueError as error:
        raise InputInvalid(
            f"{text!r} names no rule: {error}; use its id, or trigger/channel/audience as in quote_sent/email/lead"
        ) from error


def _row(rule: "Rule") -> dict[str, object]:
    return {
        "trigger": rule.trigger,
        "channel": rule.channel,
        "audience": rule.audience,
        "enabled": "yes" if rule.enabled else "no",
        "steps": len(rule.steps),
        "not ready": ", ".join(rule.not_ready),
        "updated": rule.updated_at,
        "id": rule.id,
    }


def _print(rule: "Rule", *, as_json: bool) -> None:
    from tidings.cli.output import print_json, print_line, print_not_ready, print_table

    if as_json:
        print_json(rule)
        return
    print_line(f"{rule.key}  {'enabled' if rule.enabled else 'disabled'} · {rule.id}", style="bold")
    print_not_ready(rule.not_ready)
    print_table("steps", [_step(step, rule) for step in rule.steps], empty="it has no steps")


def _step(step: Mapping[str, Any], rule: "Rule") -> dict[str, object]:
    from tidings.cli.output import content_cell, in_words

    said = {**step["template"], "attachments": step.get("attachments")}
    return {
        "order": step["stepOrder"],
        "enabled": in_words(step["enabled"]),
        "message": content_cell({name: value for name, value in said.items() if value}),
        "when": _when(step),
        "recipients": _recipients(step["recipientConfig"], rule),
        "id": step["id"],
    }


def _recipients(config: Mapping[str, Any] | None, rule: "Rule") -> str:
    if config is None:
        return f"the {rule.audience}"
    people = {"includeLeadContact": "the lead", "includePartner": "the partner", "includeAgent": "the agent"}
    named = [words for field, words in people.items() if config[field]]
    return ", ".join([*named, *config["customPhones"], *config["customEmails"]])


def _when(step: Mapping[str, Any]) -> str:
    from tidings.domain.timing import format_duration, parse_duration

    before = step["sendBefore"]
    if before:
        return f"{format_duration(parse_duration(before['by']))} before {before['time']}"
    return f"after {format_duration(parse_duration(step['delay']))}" if step["delay"] else "at once"
