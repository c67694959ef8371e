"""A simulation in the terminal: a calendar with bars, the hours of the day, every step, and why some are not sent."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from tidings.cli.output import print_content, print_line, print_table, printable
from tidings.cli.screen import console
from tidings.views.simulations import SimulatedHour, SimulatedMessage, SimulatedStep, Simulation

BAR_CELLS = 32
EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS = " ▁▂▃▄▅▆▇█"
MOST_ROWS = 60
"""Days with sends beyond which weeks are shown."""
MOST_STEPS = 8
"""Columns beyond which steps are only in their own table."""
WEEK = timedelta(days=7)


def print_simulated(found: Simulation) -> None:
    """Print a simulation for people, the calendar first."""
    print_line(headline(found), style="bold")
    if not found.complete:
        print_line(
            f"The time for simulating was over at {found.reached:%Y-%m-%d %H:%M}: take fewer contacts or days",
            style="yellow",
        )
    if found.calendar:
        console.print(_calendar(found))
        console.print(_hours(found.calendar))
    else:
        print_line("nothing would be sent")
    zone = ZoneInfo(found.time_zone)
    print_table(f"steps, {found.time_zone}", [_step(one, zone) for one in found.steps], empty="")
    _print_reasons("skipped", found)
    _print_reasons("failed", found)
    for lack in found.missing:
        print_line(str(lack), style="yellow")
    for message in found.messages:
        _print_message(message, zone)


def headline(found: Simulation) -> str:
    """Return in one line what was simulated."""
    version = "not published" if found.version is None else f"version {found.version}"
    people = "" if found.audience is None else f" · {found.contacts:,} of {found.audience:,} contacts"
    ended = ", ".join(f"{count:,} {status}" for status, count in found.ended.items())
    times = f"{found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} UTC"
    return (
        f"{found.kind} {found.name} ({version}){people} · {times}"
        f" · {found.sent:,} sent, {found.skipped:,} skipped, {found.failed:,} failed"
        f"{f' · {ended}' if ended else ''} · simulated in {found.seconds:.1f} s"
    )


def bar(count: int, most: int, cells: int = BAR_CELLS) -> str:
    """Return a bar of this many cells for the largest count, to an eighth of a cell; no count above 0 is invisible."""
    eighths = max(1, round(count / most * cells * 8)) if count else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")


def sparkline(counts: Sequence[int]) -> str:
    """Return one sign for each count, as high as its part of the largest."""
    most = max(counts, default=0)
    return "".join(HEIGHTS[max(1, round(count / most * 8)) if count else 0] for count in counts)


def rows_of(calendar: Sequence[SimulatedHour]) -> Mapping[date, Counter[str]]:
    """Return sends by day and step; by week, from its Monday on, when there are very many days."""
    days: dict[date, Counter[str]] = defaultdict(Counter)
    for one in calendar:
        days[one.day][one.step] += one.count
    if len(days) <= MOST_ROWS:
        return days
    weeks: dict[date, Counter[str]] = defaultdict(Counter)
    for day, counts in days.items():
        weeks[day - timedelta(days=day.weekday())] += counts
    return weeks


def _calendar(found: Simulation) -> Table:
    rows = rows_of(found.calendar)
    weekly = len({one.day for one in found.calendar}) > MOST_ROWS
    steps = [one for one in found.steps if one.sent]
    steps = steps if len(steps) <= MOST_STEPS else []
    table = Table(title=f"sends, {found.time_zone}", title_justify="left", header_style="bold")
    table.add_column("week of" if weekly else "day", no_wrap=True)
    table.add_column("sends", justify="right")
    table.add_column("", no_wrap=True, style="cyan")
    for step in steps:
        table.add_column(Text(printable(step.label)), justify="right")
    most = max(sum(counts.values()) for counts in rows.values())
    for day, counts in rows.items():
        sends = sum(counts.values())
        by_step = [f"{counts[step.step]:,}" if counts[step.step] else "" for step in steps]
        table.add_row(f"{day:%a %Y-%m-%d}", f"{sends:,}", bar(sends, most), *by_step)
    return table


def _hours(calendar: Sequence[SimulatedHour]) -> Text:
    counts: Counter[int] = Counter()
    for one in calendar:
        counts[one.hour] += one.count
    spark = sparkline([counts[hour] for hour in range(24)])
    busiest, most = counts.most_common(1)[0]
    return Text.assemble("hour of the day  0 ", (spark, "cyan"), f" 23   most at {busiest}:00 ({most:,})\n")


def _step(one: SimulatedStep, zone: ZoneInfo) -> dict[str, object]:
    counts = {name: f"{getattr(one, name):,}" for name in ("sent", "skipped", "failed", "waiting")}
    times = {"first": one.first_at, "last": one.last_at}
    shown = {name: f"{at.astimezone(zone):%Y-%m-%d %H:%M}" if at else None for name, at in times.items()}
    return {"step": one.label, "channel": one.channel, **counts, **shown}


def _print_reasons(what: str, found: Simulation) -> None:
    reasons = found.skipped_because if what == "skipped" else found.failed_because
    if reasons:
        labels = {one.step: one.label for one in found.steps}
        rows = [{"step": labels.get(one.step, one.step), "why": one.reason, "count": one.count} for one in reasons]
        print_table(f"{what}, and why", rows, empty="")


def _print_message(one: SimulatedMessage, zone: ZoneInfo) -> None:
    what = f"{one.status}: {one.reason}" if one.reason else str(one.status)
    print_line(
        f"{one.at.astimezone(zone):%Y-%m-%d %H:%M %Z}  {one.channel} to {one.recipient or 'nobody'}  {what}",
        style="bold",
    )
    print_content(one.payload, indent=4)
