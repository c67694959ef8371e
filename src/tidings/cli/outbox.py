"""`tidings outbox`: what was sent, and what nobody knows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Limit, Listed
from tidings.cli.output import print_content, print_line, print_table, table
from tidings.cli.resolution import OfItem
from tidings.domain.flow.item import Channel, ItemStatus
from tidings.views.outbox import NextStep

if TYPE_CHECKING:
    from tidings.engine import Resolution
    from tidings.views.outbox import Evidence, Item, ItemDetail, ResolvedItems

app = typer.Typer()

NEXT = {
    NextStep.REPEAT: "the call is repeated",
    NextStep.LOOK_UP: "the provider is asked what became of it",
    NextStep.GIVE_UP: "the item is given up",
    NextStep.PERSON: "somebody decides, with tidings outbox resolve",
}

ItemId = Annotated[UUID, typer.Argument(help="The item's id.")]


def _row(item: "Item") -> dict[str, object]:
    return {
        "id": item.id,
        "status": _status(item),
        "channel": item.channel,
        "provider": item.connection or item.provider,
        "recipient": item.recipient,
        "contact": item.contact or item.contact_id,
        "of": item.campaign_name or item.workflow_name or item.trigger,
        "of id": item.run_id or item.execution_id or item.event_id,
        "attempts": item.attempts,
        "created": item.created_at,
        "first called": item.first_called_at,
        "error": item.error,
    }


def _status(item: "Item") -> str:
    if item.in_doubt:
        return "in doubt"
    return "printed, not sent" if item.printed and item.status is ItemStatus.SENT else item.status


@command(app, "list", shows=table("items", _row, empty="there is no such item"))
async def list_items(
    at: InWorkspace,
    *,
    status: Annotated[ItemStatus | None, typer.Option(help="Only these.", show_default=False)] = None,
    channel: Annotated[Channel | None, typer.Option(help="Only these.", show_default=False)] = None,
    in_doubt: Annotated[bool, typer.Option("--in-doubt", help="Only what is in doubt.")] = False,
    run: Annotated[UUID | None, typer.Option(help="Only those of this run.", show_default=False)] = None,
    execution: Annotated[UUID | None, typer.Option(help="Only those of this execution.", show_default=False)] = None,
    event: Annotated[UUID | None, typer.Option(help="Only those of this event.", show_default=False)] = None,
    contact: Annotated[
        str | None, typer.Option(help="Only those for this contact: its id or external id.", show_default=False)
    ] = None,
    listed: Listed,
) -> "list[Item]":
    """List items, newest first: every message and call, and what became of it."""
    from tidings.resources.outbox import OutboxFilter

    where = OutboxFilter(status, channel, in_doubt or None, run, execution, event, contact)
    return (await at.engine.outbox.list(at.workspace, where, limit=listed.limit, created=listed.created)).items


@command(app, "in-doubt", shows=table("in doubt", _row, empty="nothing is in doubt"))
async def in_doubt(at: InWorkspace, limit: Limit = 50) -> "list[Item]":
    """List the items in doubt, newest first: the process died between the first byte and the answer."""
    from tidings.resources.outbox import OutboxFilter

    return (await at.engine.outbox.list(at.workspace, OutboxFilter(in_doubt=True), limit=limit)).items


def _say_evidence(known: "Evidence") -> None:
    provider = f"a {known.provider_class} provider" if known.provider_class else "a provider that nobody serves"
    last = f", the last at {known.last_called_at:%Y-%m-%d %H:%M:%S}Z" if known.last_called_at else ""
    print_line(f"{known.calls} marked to {provider}{last}; the policy is {known.doubt_policy}")
    if known.under_way:
        print_line("the last has no answer yet: it is under way, or its worker is gone", style="yellow")
    if known.next:
        at = f" at {known.next_at:%Y-%m-%d %H:%M:%S}Z" if known.next_at else ""
        print_line(f"next: {NEXT[known.next]}{at}", style="yellow")


def _print(found: "ItemDetail") -> None:
    print_table("item", [_row(found)], empty="")
    if found.evidence:
        _say_evidence(found.evidence)
    print_content(found.payload or {})
    print_table(
        "attempts that did not succeed",
        [
            {
                "attempt": one.attempt,
                "through": one.provider,
                "outcome": one.outcome,
                "error": one.error,
                "at": one.started_at,
            }
            for one in found.failed_attempts
        ],
        empty="no attempt failed",
    )
    print_table(
        "history",
        [{"at": one.at, "event": one.event, "by": one.actor, "note": one.detail.get("note")} for one in found.history],
        empty="nobody has touched it",
    )


@command(app, shows=_print)
async def show(at: InWorkspace, item_id: ItemId) -> "ItemDetail":
    """Show one item: what was sent, its failed attempts, and what people did about it."""
    return await at.engine.outbox.get(at.workspace, item_id)


@dataclass(frozen=True, slots=True)
class ChosenDoubt:
    """Which items in doubt."""

    ids: Annotated[list[UUID] | None, typer.Argument(metavar="ID…", help="Items.", show_default=False)] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="All that match, as provider=smtp, channel=email, run=ID or olderThan=PT1H; may be repeated.",
            show_default=False,
        ),
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="Everything in doubt in the workspace.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many there are.")] = False

    def __post_init__(self) -> None:
        if sum(map(bool, (self.ids, self.where, self.everything))) != 1:
            raise typer.BadParameter("name items, or choose them by --where, or say --all alone")


def _say_resolved(done: "tuple[ItemDetail | ResolvedItems, Resolution]") -> None:
    from tidings.views.outbox import ResolvedItems

    found, outcome = done
    if not isinstance(found, ResolvedItems):
        print_line(f"{found.id} is no longer in doubt: {outcome}")
        return
    verb = "would be" if found.dry_run else "are"
    print_line(f"{found.resolved:,} {verb} no longer in doubt: {outcome}")
    for provider, count in found.by_provider.items():
        print_line(f"  {count:,} through {provider}")
    if found.refused:
        print_line(f"{found.refused:,} left alone: a call is under way, or the doubt has ended by itself")
    if found.not_found:
        print_line(f"{found.not_found:,} are not in doubt, or not there")
    if not found.complete:
        print_line("there are more: say it again for the next of them", style="yellow")


@command(app, shows=_say_resolved, answers=lambda done: done[0])
async def resolve(at: Acting, chosen: ChosenDoubt, word: OfItem) -> "tuple[ItemDetail | ResolvedItems, Resolution]":
    """End the doubt about items by a person's word (audited): about one, about some, or about all that match."""
    from tidings.resources.outbox import read_doubt

    if chosen.ids and len(chosen.ids) == 1 and not chosen.dry_run:
        return await at.engine.outbox.resolve(at.by, chosen.ids[0], word.outcome, word.note), word.outcome
    which = chosen.ids or read_doubt(chosen.where or [])
    resolved = await at.engine.outbox.resolve_many(at.by, which, word.outcome, word.note, dry_run=chosen.dry_run)
    return resolved, word.outcome
