"""`tidings rules`: what is sent when something happens, in files and in the database."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from tidings.cli.answers import deleted
from tidings.cli.command import command
from tidings.cli.opened import Acting, Called, InWorkspace
from tidings.cli.options import Limit, Listed, Only, Read
from tidings.cli.output import in_words, print_line, print_not_ready, print_table, table
from tidings.cli.previews import Open, PreviewData, any_failed, open_page, print_previews
from tidings.domain.errors import InputInvalid

if TYPE_CHECKING:
    from tidings.cli.object_files import ObjectFile
    from tidings.views.previews import Preview
    from tidings.views.rules import MatrixCell, RuleMatrix
    from tidings.views.rules import Rule as ShownRule

app = typer.Typer()


def _checked(files: Sequence[Path]) -> "list[ObjectFile]":
    """Return the rules in the files, or raise if one has a problem."""
    from tidings.cli.definition_files import FilesInvalid, refused
    from tidings.cli.object_files import read_given
    from tidings.resources.rules import Rules

    try:
        given = read_given(files, "rule")
    except FilesInvalid as error:
        raise refused(error.problems) from error
    problems = [problem for one in given for problem in one.problems(Rules.validate(one.value), _name(one))]
    if problems:
        raise refused(problems)
    return given


def _name(given: "ObjectFile") -> str:
    return "/".join(str(given.value.get(part)) for part in ("trigger", "channel", "audience"))


def _row(rule: "ShownRule") -> dict[str, object]:
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


def _print(rule: "ShownRule") -> None:
    print_line(f"{rule.key}  {'enabled' if rule.enabled else 'disabled'} · {rule.id}", style="bold")
    print_not_ready(rule.not_ready)
    print_table("steps", [_step(step, rule) for step in rule.steps], empty="it has no steps")


def _step(step: Mapping[str, Any], rule: "ShownRule") -> dict[str, object]:
    from tidings.cli.screen import content_cell

    said = {**step["template"], "attachments": step.get("attachments")}
    return {
        "order": step["stepOrder"],
        "enabled": in_words(step["enabled"]),
        "message": content_cell({name: value for name, value in said.items() if value}),
        "when": _when(step),
        "recipients": _recipients(step, rule),
        "id": step["id"],
    }


def _recipients(step: Mapping[str, Any], rule: "ShownRule") -> str:
    from tidings.domain.channels import Channel

    config, place = step["recipientConfig"], Channel(rule.channel).traits.default_recipient
    if place:
        return ", ".join(step.get("to") or [place])
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


async def _find(at: InWorkspace, text: str) -> "ShownRule":
    from tidings.domain.flow.item import Channel
    from tidings.domain.rules.key import RuleKey
    from tidings.views.rules import RuleAudience

    try:
        if "/" not in text:
            return await at.engine.rules.get(at.workspace, UUID(text))
        trigger, channel, audience = text.split("/")
        return await at.engine.rules.find(at.workspace, RuleKey(trigger, Channel(channel), RuleAudience(audience)))
    except ValueError as error:
        raise InputInvalid(
            f"{text!r} names no rule: {error}; use its id, or trigger/channel/audience as in quote_sent/email/lead"
        ) from error


Files = Annotated[
    "list[ObjectFile]",
    typer.Argument(metavar="FILE…", help="YAML or JSON files with one or more rules."),
    Read(_checked, typed=list[Path]),
]
Rule = Annotated[
    str, typer.Argument(metavar="RULE", help="The rule's id, or trigger/channel/audience as in quote_sent/email/lead.")
]


def _print_applied(rows: Sequence[Mapping[str, object]]) -> None:
    print_table("rules", rows, empty="")


@command(app, shows=_print_applied)
async def apply(at: Acting, files: Files) -> list[dict[str, object]]:
    """Make the rules be as the files say: created, updated or unchanged. Nothing is changed if a file is wrong."""
    applied = [await at.engine.rules.apply(at.by, one.value) for one in files]
    return [{"rule": str(rule.key), "change": change, "id": rule.id} for rule, change in applied]


def _say_valid(files: "Sequence[ObjectFile]") -> None:
    print_line(f"{len(files)} rule{'' if len(files) == 1 else 's'}, nothing wrong")


@command(app, shows=_say_valid, answers=lambda _: {"valid": True, "errors": []})
async def validate(_: Called, files: Files) -> "Sequence[ObjectFile]":
    """Say everything that is wrong with the rules in files, each with its line; needs no database."""
    return files


@command(app, "list", shows=table("rules", _row, empty="there is no such rule"))
async def list_rules(
    at: InWorkspace, *, trigger: Only = None, channel: Only = None, audience: Only = None, listed: Listed
) -> "list[ShownRule]":
    """List rules, newest first."""
    from tidings.resources.rules import RuleFilter

    where = RuleFilter(trigger, channel, audience)
    return (await at.engine.rules.list(at.workspace, where, limit=listed.limit, created=listed.created)).items


@command(app, shows=_print)
async def show(at: InWorkspace, rule: Rule) -> "ShownRule":
    """Show a rule and its steps."""
    return await _find(at, rule)


@command(app, shows=_print)
async def enable(at: Acting, rule: Rule) -> "ShownRule":
    """Let a rule send."""
    return await at.engine.rules.enable(at.by, (await _find(at, rule)).id)


@command(app, shows=_print)
async def disable(at: Acting, rule: Rule) -> "ShownRule":
    """Suppress a rule's channel for its audience; what was enqueued before is still sent."""
    return await at.engine.rules.disable(at.by, (await _find(at, rule)).id)


def _say_deleted(rule: "ShownRule") -> None:
    print_line(f"{rule.key} is deleted")


@command(app, shows=_say_deleted, answers=deleted, asks=lambda rule: f"Delete the rule {rule}?")
async def delete(at: Acting, rule: Rule) -> "ShownRule":
    """Remove a rule; where a fallback is registered, that is called from now on."""
    found = await _find(at, rule)
    await at.engine.rules.delete(at.by, found.id)
    return found


@command(app, shows=print_previews, fails=any_failed)
async def preview(
    at: InWorkspace,
    rule: Rule,
    *,
    data: PreviewData,
    step: Annotated[str | None, typer.Option(help="Only the step of this order.", show_default=False)] = None,
    open_it: Open = False,
) -> "Sequence[Preview]":
    """Show what its steps would say of an event; what the data lacks is shown as it is written, and exits 1."""
    found = await _find(at, rule)
    shown = await at.engine.previews.rule(at.workspace, found.id, data, part=step)
    if open_it:
        open_page(shown, str(found.key))
    return shown


def _print_matrix(found: "RuleMatrix") -> None:
    rows = [_matrix_row(row.trigger, audience, row.cells) for row in found.rows for audience in found.audiences]
    print_table("rules", rows, empty="there is neither a rule nor a fallback")
    if found.next_cursor is not None:
        print_line(f"more: --after {found.next_cursor}")


def _matrix_row(trigger: str, audience: str, cells: "Sequence[MatrixCell]") -> dict[str, object]:
    words = {one.channel: _cell_words(one) for one in cells if one.audience == audience}
    return {"trigger": trigger, "audience": audience, **words}


def _cell_words(cell: "MatrixCell") -> str:
    if cell.outcome == "none":
        return ""
    return cell.outcome if cell.ready or cell.outcome != "enqueued" else f"{cell.outcome}, not ready"


@command(app, shows=_print_matrix)
async def matrix(
    at: InWorkspace,
    *,
    limit: Limit = 50,
    after: Annotated[str | None, typer.Option(help="Only triggers after this one.", show_default=False)] = None,
) -> "RuleMatrix":
    """Show what becomes of each trigger over each channel for each audience."""
    return await at.engine.rules.matrix(at.workspace, limit=limit, cursor=after)
