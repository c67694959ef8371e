"""`tidings providers`: what may be called, by whom, and what rests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.command import command
from tidings.cli.opened import Opened, Operating
from tidings.cli.output import print_line, print_table
from tidings.domain.flow.item import Channel

if TYPE_CHECKING:
    from tidings.views.providers import ProviderStatus, WorkerShare

app = typer.Typer()


def _shown(one: "ProviderStatus") -> dict[str, object]:
    taken = sum(share.slots for share in one.workers)
    return {
        "name": one.name,
        "class": one.provider_class,
        "channels": ", ".join(one.channels),
        "since": one.routed_since,
        "served by": f"{len(one.served_by)} worker{'' if len(one.served_by) == 1 else 's'}"
        if one.served_by
        else "nobody",
        "calls of a process": one.concurrency,
        "calls of all": "no limit" if one.limit is None else f"{taken} of {one.limit} given out",
        "rests until": one.rests_until,
        "because": one.rest_reason,
        "cannot be used since": one.unavailable_since,
        "times": one.unavailable_times or None,
    }


def _held(one: "ProviderStatus", share: "WorkerShare") -> dict[str, object]:
    return {
        "provider": one.name,
        "worker": share.worker_id,
        "slots": share.slots,
        "wanted": share.wanted,
        "until": share.until,
    }


def _print(found: "Sequence[ProviderStatus]") -> None:
    empty = "no provider is set up: start a worker with TIDINGS_SMTP_URL, --app or --print"
    print_table("providers", [_shown(one) for one in found], empty=empty)
    held = [_held(one, share) for one in found for share in one.workers]
    if held:
        print_table("slots", held, empty="")


@command(app, "list", shows=_print)
async def list_providers(at: Opened) -> "Sequence[ProviderStatus]":
    """List every provider of the system, whatever is set in this shell: its channels, its workers, whether it rests."""
    return await at.engine.providers.details()


def _say_unrouted(done: tuple[Channel, str]) -> None:
    print_line(f"{done[0]} no longer goes through {done[1]}")


@command(
    app,
    shows=_say_unrouted,
    answers=lambda done: {"channel": done[0], "provider": done[1], "removed": True},
)
async def unroute(
    at: Operating, channel: Annotated[Channel, typer.Argument(help="The channel to take the provider from.")]
) -> tuple[Channel, str]:
    """Take the provider from a channel in all workspaces (audited): nothing more is started that needs it.

    A worker or API that starts with the setting sets the route again, so remove the setting first.
    """
    return channel, await at.engine.providers.unroute(at.by, channel)


def _say_forgotten(fallback: str) -> None:
    print_line(f"{fallback} is forgotten")


@command(app, shows=_say_forgotten, answers=lambda fallback: {"fallback": fallback, "removed": True})
async def forget(
    at: Operating,
    fallback: Annotated[str, typer.Argument(help="Its name, as `list` shows it: fallback:quote_sent/email/lead, say.")],
) -> str:
    """Forget a fallback that no application has any more (audited): events are decided without it from now on.

    A process that starts with it writes it down again, so remove it from the application first.
    """
    await at.engine.providers.forget(at.by, fallback)
    return fallback
