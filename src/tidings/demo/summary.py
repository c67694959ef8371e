"""What must agree at the end: the ledger, the sink's own count, and `verify`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

PARTS = ("queued", "sent", "called", "posted", "skipped", "failed", "in_doubt")


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was asked for, and what became of it."""

    planned: int
    parts: Mapping[str, int]

    @property
    def balances(self) -> bool:
        """Whether planned is the sum of its parts."""
        return self.planned == sum(self.parts.values())

    def __add__(self, other: "Ledger") -> "Ledger":
        parts = {part: self.parts[part] + other.parts[part] for part in PARTS}
        return Ledger(self.planned + other.planned, parts)


@dataclass(frozen=True, slots=True)
class Killed:
    """The worker that died half-way, and what it left behind."""

    pid: int
    sent_until_then: int
    in_doubt: int
    had_arrived: int
    resent: int


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What was counted outside the database."""

    distinct_emails: int
    duplicates: int
    missing: int  # people who should have got one
    strangers: int  # people who should not
    text_messages: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The end of the story."""

    campaign: Ledger
    workflow: Ledger
    killed: Killed
    witnessed: Witnessed
    checks: Mapping[str, int]  # verify's check → rows that break it
    problems: Sequence[str]
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether everything adds up."""
        return not self.problems


def find_problems(
    ledgers: Mapping[str, Ledger], witnessed: Witnessed, checks: Mapping[str, int], unfinished: Sequence[str]
) -> list[str]:
    """Everything that does not add up, in words."""
    problems = list(unfinished)
    for name, ledger in ledgers.items():
        if not ledger.balances:
            problems.append(f"the {name}'s ledger does not balance")
        if ledger.parts["sent"] != ledger.planned:
            problems.append(f"of the {name}'s {ledger.planned} messages {ledger.parts['sent']} were sent")
    sent = sum(ledger.parts["sent"] for ledger in ledgers.values())
    delivered = witnessed.distinct_emails + witnessed.text_messages
    if sent != delivered:
        problems.append(f"the ledger says {sent} were sent, the sink and the log have {delivered}")
    if witnessed.duplicates:
        problems.append(f"{witnessed.duplicates} e-mails came twice")
    if witnessed.strangers or witnessed.missing:
        problems.append(f"{witnessed.missing} people got no e-mail, {witnessed.strangers} got one by mistake")
    return problems + [f"verify: {name} is broken by {rows} rows" for name, rows in checks.items() if rows]


def print_summary(console: Console, summary: Summary) -> None:
    """Show the ledger, the witnesses beside it, and the verdict."""
    console.print()
    console.print(_ledger_table(summary))
    console.print(_witness_table(summary))
    for problem in summary.problems:
        console.print(f"[bold red]✗[/] {problem}", soft_wrap=True)
    if summary.agrees:
        console.print(
            f"[bold green]✓[/] everything agrees after {summary.seconds:.1f} s: each message once, none lost, "
            "through kill -9",
            soft_wrap=True,
        )


def _ledger_table(summary: Summary) -> Table:
    table = Table(title="the ledger", title_justify="left", header_style="bold")
    for column in ("", "campaign", "workflow", "together"):
        table.add_column(column, justify="left" if not column else "right")
    ledgers = (summary.campaign, summary.workflow, summary.campaign + summary.workflow)
    table.add_row("planned", *(f"{ledger.planned:,}" for ledger in ledgers), end_section=True)
    for sign, part in zip("=++++++", PARTS, strict=True):
        table.add_row(f"{sign} {part.replace('_', ' ')}", *(f"{ledger.parts[part]:,}" for ledger in ledgers))
    return table


def _witness_table(summary: Summary) -> Table:
    seen, killed = summary.witnessed, summary.killed
    table = Table(title="the witnesses", title_justify="left", show_header=False)
    table.add_row("the sink", f"{seen.distinct_emails:,} different e-mails, {seen.duplicates} duplicates")
    table.add_row("the log", f"{seen.text_messages:,} different text messages")
    table.add_row(
        "kill -9",
        f"{killed.in_doubt} in doubt: {killed.had_arrived} had arrived, {killed.resent} had not and were sent",
    )
    broken = sum(1 for rows in summary.checks.values() if rows)
    table.add_row("tidings verify", f"{broken} checks fail" if broken else f"all {len(summary.checks)} checks hold")
    return table
