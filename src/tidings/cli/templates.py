"""`tidings templates`: what is written once, and rendered in many messages or wraps them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.answers import deleted
from tidings.cli.command import command
from tidings.cli.given import Json, read_data, read_text
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed, Read, named
from tidings.cli.output import print_fields, print_line, print_table, table

if TYPE_CHECKING:
    from tidings.views.templates import NamedTemplate as ShownTemplate
    from tidings.views.templates import TemplateKind, TemplatePreview, TemplateVersion

app = typer.Typer()


def _read(files: Sequence[Path]) -> list[Mapping[str, object]]:
    from tidings.cli.template_files import read_templates

    return read_templates(files)


Files = Annotated[
    list[Mapping[str, object]],
    typer.Argument(
        metavar="FILE…",
        help="Pages (footer.html, note.txt, newsletter.layout.html), or YAML or JSON with name, kind, format, text.",
    ),
    Read(_read, typed=list[Path]),
]
Data = Annotated[
    Json,
    typer.Option(metavar="JSON", help="What a message would have: a JSON object, @file.json, or @- for stdin."),
    Read(read_data, default="{}"),
]
Template = Annotated[UUID | str, typer.Argument(metavar="TEMPLATE", help="The template's name or id."), Read(named)]


def _kind(text: str | None) -> "TemplateKind | None":
    from tidings.domain.errors import InputInvalid
    from tidings.views.templates import TemplateKind

    try:
        return None if text is None else TemplateKind(text)
    except ValueError:
        raise InputInvalid(f"--kind {text!r}: use one of {', '.join(TemplateKind)}") from None


def _row(template: "ShownTemplate") -> dict[str, object]:
    return {
        "name": template.name,
        "kind": template.kind,
        "format": template.format,
        "version": template.version,
        "updated": template.updated_at,
        "id": template.id,
    }


def _print_applied(rows: Sequence[Mapping[str, object]]) -> None:
    print_table("templates", rows, empty="")


@command(app, shows=_print_applied)
async def apply(at: Acting, files: Files) -> list[dict[str, object]]:
    """Make the templates be as the files say: created, updated or unchanged; what is published keeps what it has."""
    rows = []
    for given in files:
        shown, change = await at.engine.templates.apply(at.by, given)
        rows.append({"name": shown.name, "version": shown.version, "change": change, "id": shown.id})
    return rows


@command(app, "list", shows=table("templates", _row, empty="there is no template"))
async def list_templates(
    at: InWorkspace,
    *,
    kind: Annotated[
        "TemplateKind | None", typer.Option(help="Only partials, or only layouts.", show_default=False), Read(_kind)
    ] = None,
    listed: Listed,
) -> "list[ShownTemplate]":
    """List templates, newest first."""
    return (await at.engine.templates.list(at.workspace, kind=kind, limit=listed.limit, created=listed.created)).items


def _print(shown: "ShownTemplate") -> None:
    print_line(f"{shown.name}  version {shown.version} · {shown.kind} · {shown.format} · {shown.id}", style="bold")
    print_fields({"description": shown.description})
    print_line("")
    for line in shown.text.splitlines():
        print_line(line)
    print_line("")
    rows = [
        {"used by": one.kind, "name": one.name, "version": _version(one.version, shown.version), "id": one.id}
        for one in shown.users or ()
    ]
    print_table("users", rows, empty="nothing uses it")


def _version(kept: int | None, newest: int) -> str:
    if kept is None:
        return "the newest"
    return str(kept) if kept == newest else f"{kept}, until it is published again"


@command(app, shows=_print)
async def show(at: InWorkspace, template: Template) -> "ShownTemplate":
    """Show a template, and what uses which version of it."""
    return await at.find(at.engine.templates, template)


def _version_row(one: "TemplateVersion") -> dict[str, object]:
    return {"version": one.number, "format": one.format, "by": one.created_by, "created": one.created_at}


@command(app, shows=table("versions", _version_row, empty=""))
async def versions(at: InWorkspace, template: Template) -> "list[TemplateVersion]":
    """List the versions of a template, newest first."""
    found = await at.find(at.engine.templates, template)
    return await at.engine.templates.versions(at.workspace, found.id)


def _print_preview(shown: "TemplatePreview") -> None:
    print_line(shown.text if shown.error is None and shown.text is not None else f"cannot be rendered: {shown.error}")


@command(app, shows=_print_preview)
async def preview(
    at: InWorkspace,
    template: Template,
    *,
    data: Data,
    version: Annotated[
        int | None, typer.Option(min=1, help="Which version.  [default: the newest]", show_default=False)
    ] = None,
    content: Annotated[
        str | None, typer.Option(help="What a layout wraps, or @file.", show_default=False), Read(read_text)
    ] = None,
) -> "TemplatePreview":
    """Print what a template renders to with some data."""
    from tidings.resources.templates import SAMPLE

    found = await at.find(at.engine.templates, template)
    return await at.engine.templates.preview(
        at.workspace, found.id, data, version=version, content=SAMPLE if content is None else content
    )


def _say_removed(one: "ShownTemplate") -> None:
    print_line(f"{one.name} is removed")


@command(app, shows=_say_removed, answers=deleted, asks=lambda template: f"Remove template {template}?")
async def remove(at: Acting, template: Template) -> "ShownTemplate":
    """Remove a template; one that something uses is refused. Asks first."""
    found = await at.find(at.engine.templates, template)
    await at.engine.templates.delete(at.by, found.id)
    return found
