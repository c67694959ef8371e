"""The options by which a person ends doubt: about one item, or about those of a run."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

if TYPE_CHECKING:
    from tidings.engine import Resolution


@dataclass(slots=True)
class OfItem:
    """What became of an item, and what shows it."""

    note: Annotated[str, typer.Option(help="What shows that this is so; kept in the audit log.")]
    sent: Annotated[bool, typer.Option("--sent", help="It arrived.")] = False
    resend: Annotated[bool, typer.Option("--resend", help="It did not arrive: send it once more.")] = False
    failed: Annotated[bool, typer.Option("--failed", help="It did not arrive, and shall not.")] = False
    outcome: "Resolution" = field(init=False)

    def __post_init__(self) -> None:
        from tidings.engine import Resolution

        given = zip(Resolution, (self.sent, self.resend, self.failed), strict=True)
        chosen = [outcome for outcome, is_given in given if is_given]
        if len(chosen) != 1:
            raise typer.BadParameter("choose one of --sent, --resend and --failed")
        self.outcome = chosen[0]


@dataclass(slots=True)
class OfRun(OfItem):
    """What became of a run's items, or of some of them."""

    sent: Annotated[bool, typer.Option("--sent", help="They arrived.")] = False
    resend: Annotated[bool, typer.Option("--resend", help="They did not arrive: send them once more.")] = False
    failed: Annotated[bool, typer.Option("--failed", help="They did not arrive, and shall not.")] = False
    item: Annotated[list[UUID] | None, typer.Option(help="Only this item; may be repeated.", show_default=False)] = None
