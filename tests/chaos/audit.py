"""Compare three accounts of the same events: the list of what was intended, the database, and the ledger.

Strict: whatever the promises do not name as allowed is a violation, however rare the crash that led to it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from tests.chaos.app import CLASSES
from tests.chaos.book import Intended
from tests.chaos.fairness import Fairness, check_fairness, read_waits
from tests.chaos.ledger import Line, Mode, read_lines
from tidings.domain.flow.item import SUCCESSES, ItemStatus
from tidings.engine import Engine

if TYPE_CHECKING:
    import asyncpg

MOST_SHOWN = 10
CLOCK_SECONDS = 0.5
"""How far two processes' ideas of the database's time may be apart: as long as a question to it takes."""
SELF_RESOLVING = frozenset({"keyed", "resolvable"})
"""Nothing stays in doubt with these: the key or the look-up ends it."""


@dataclass(slots=True)
class Tally:
    """One provider class in numbers."""

    intended: int = 0
    sent: int = 0
    failed: int = 0
    in_doubt: int = 0
    calls: int = 0
    repeats: int = 0  # calls under a key that was taken before, which a keyed provider does not send again
    duplicates: int = 0
    losses: int = 0


@dataclass(slots=True)
class Findings:
    """What an audit found."""

    tallies: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in CLASSES})
    workloads: Counter[str] = field(default_factory=Counter)  # "workload class" → items that were sent
    violations: list[str] = field(default_factory=list)
    fairness: Fairness = field(default_factory=Fairness)
    unwitnessed: int = 0  # calls whose row PostgreSQL could not show at that moment; the row says afterwards

    def __str__(self) -> str:
        shown = self.violations[:MOST_SHOWN]
        more = [f"… and {len(self.violations) - len(shown)} more"] if len(self.violations) > len(shown) else []
        fair = [str(self.fairness)] if self.fairness.messages else []
        return "\n".join([*shown, *more, *fair, *(f"{name}: {tally}" for name, tally in self.tallies.items())])


@dataclass(frozen=True, slots=True)
class Item:
    """An outbox row, as far as an audit cares."""

    id: UUID
    recipient: str
    provider: str
    status: ItemStatus
    in_doubt: bool
    key: str
    error: str | None
    first_marked_at: datetime | None
    was_passed: bool  # its execution went on while nobody knew what had become of it


@dataclass(frozen=True, slots=True)
class Peaceful:
    """The workers that left when they were asked to, and the items whose call a worker gave up waiting for."""

    workers: frozenset[int]
    unanswered: frozenset[str]

    def has_left(self, item: Item, calls: Sequence[Line]) -> bool:
        """Whether an item that was acknowledged to nobody but such workers is in doubt all the same."""
        return (
            bool(calls)
            and str(item.id) not in self.unanswered
            and all(line.worker in self.workers and line.mode is Mode.ACK for line in calls)
        )


async def unsettled(connection: "asyncpg.Connection[asyncpg.Record]", intended: int) -> dict[str, int]:
    """What will still change by itself; nothing once all is there, and terminal or in doubt for good."""
    row = await connection.fetchrow(
        """
        select $2 - (select count(*) from outbox) as missing,
               -- Whose owner has ended nobody looks at again: what is left so is for the audit, not to be waited for.
               (select count(*) from outbox o join queue q on q.id = coalesce(o.job_id, o.execution_id)
                 where o.status = 'queued' and not o.in_doubt) as open,
               (select count(*) from outbox o join queue q on q.id = coalesce(o.job_id, o.execution_id)
                 where o.in_doubt and (o.retry_at is not null or o.provider = any($1))) as pending,
               (select count(*) from queue where leased) as leased,
               (select count(*) from queue where kind = 'execution') as executions,
               (select count(*) from runs r
                 where ended_at is null
                   and (planned is null
                        or not exists (select 1 from jobs j where j.run_id = r.id and j.ended_at is null))) as late_runs
        """,
        sorted(SELF_RESOLVING),
        intended,
    )
    return {name: count for name, count in (row.items() if row else ()) if count}


async def open_items(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """What there is to say about some items that are not settled."""
    rows = await connection.fetch(
        """
        select o.*, q.due_at, q.fence, q.leased, q.wake, q.stop, q.crashes, clock_timestamp() as looked_at
          from outbox o
          left join queue q on q.shard = o.shard and q.id = coalesce(o.job_id, o.execution_id)
         where o.status = 'queued' and (not o.in_doubt or o.retry_at is not null or o.provider = any($1))
         limit $2
        """,
        sorted(SELF_RESOLVING),
        MOST_SHOWN,
    )
    rows += await connection.fetch(
        """
        select pid, pg_blocking_pids(pid) as blocked_by, state, wait_event, left(query, 120) as query,
               clock_timestamp() - xact_start as in_transaction, clock_timestamp() - state_change as in_state
          from pg_stat_activity
         where datname = current_database() and (state <> 'idle' or pid = any (select unnest(pg_blocking_pids(pid))))
        """
    )
    return [", ".join(f"{name} {value}" for name, value in row.items() if value is not None) for row in rows]


async def audit(
    connection: "asyncpg.Connection[asyncpg.Record]",
    engine: Engine,
    intended: Intended,
    ledger: Path,
    peaceful: Peaceful,
    self_resolving: Collection[str] = SELF_RESOLVING,
) -> Findings:
    """Everything that the promises say, checked from outside.

    A vendor that cannot prove absence is not self-resolving: what its records do not show stays in doubt.
    """
    findings = Findings()
    items = await _read_items(connection)
    lines = _by_recipient(read_lines(ledger))
    _check_presence(findings, intended, items, lines)
    for recipient, provider in intended.items.items():
        calls = lines.get(recipient, ())
        for item in items.get(recipient, ()):
            if recipient in intended.unsendable:
                _check_unsendable(findings, item, calls)
            else:
                _check_item(findings, provider, item, calls)
                if item.in_doubt and provider in self_resolving:
                    story = f"although its provider is {provider}: {_story(calls)}"
                    findings.violations.append(f"{recipient} stays in doubt, {item.error}, {story}")
                findings.workloads[f"{intended.workloads[recipient]} {provider}"] += item.status in SUCCESSES
            _check_witness(findings, item, calls)
            if item.in_doubt and peaceful.has_left(item, calls):
                findings.violations.append(f"{recipient} was left in doubt by SIGTERM: {_story(calls)}")
    passed = {recipient for recipient, found in items.items() if any(item.was_passed for item in found)}
    check_order(findings, intended, lines, passed)
    findings.violations += [
        f"verify {check.name}: {offence.id} {offence.problem}"
        for check in await engine.verify()
        for offence in check.offences
    ]
    findings.fairness, unfair = check_fairness(intended, await read_waits(connection, intended))
    findings.violations += unfair
    await _check_owners(findings, connection, intended)
    return findings


async def _read_items(connection: "asyncpg.Connection[asyncpg.Record]") -> Mapping[str, list[Item]]:
    items: dict[str, list[Item]] = defaultdict(list)
    for row in await connection.fetch(
        """
        select o.id, o.recipient, o.provider, o.status, o.in_doubt, o.idempotency_key, o.error, o.first_marked_at,
               coalesce(e.vars -> o.node ->> 'status' = 'in_doubt', false) as was_passed
          from outbox o left join executions e on e.shard = o.shard and e.id = o.execution_id
        """
    ):
        item = Item(
            row["id"],
            row["recipient"],
            row["provider"],
            ItemStatus(row["status"]),
            row["in_doubt"],
            row["idempotency_key"].hex(),
            row["error"],
            row["first_marked_at"],
            row["was_passed"],
        )
        items[item.recipient].append(item)
    return items


def _by_recipient(lines: Sequence[Line]) -> Mapping[str, list[Line]]:
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        found[line.recipient].append(line)
    return found


def _check_presence(
    findings: Findings, intended: Intended, items: Mapping[str, list[Item]], lines: Mapping[str, list[Line]]
) -> None:
    for recipient, provider in intended.items.items():
        findings.tallies[provider].intended += 1
        found = len(items.get(recipient, ()))
        findings.tallies[provider].losses += found == 0
        if found != 1:
            findings.violations.append(f"{recipient} is in the outbox {found} times")
    for stranger in (items.keys() | lines.keys()) - intended.items.keys():
        findings.violations.append(f"{stranger} was never intended")


def _check_item(findings: Findings, provider: str, item: Item, calls: Sequence[Line]) -> None:
    tally = findings.tallies[provider]
    effective = sum(line.effective for line in calls)
    tally.calls += len(calls)
    tally.repeats += sum(line.taken and not line.effective for line in calls)
    tally.sent += item.status in SUCCESSES
    tally.failed += item.status is ItemStatus.FAILED
    tally.in_doubt += item.in_doubt
    tally.duplicates += max(0, effective - 1)
    name = f"{item.recipient} ({'in doubt' if item.in_doubt else item.status}, {item.error})"
    if effective not in _allowed(item):
        findings.violations.append(f"{name} reached its person {effective} times: {_story(calls)}")
        tally.losses += effective == 0
    if len({line.body for line in calls if line.body}) > 1:
        findings.violations.append(f"{name} was sent with different bodies")
    if any((line.key and line.key != item.key) or line.provider != provider for line in calls):
        findings.violations.append(f"{name} was sent under another key or by another provider")
    if item.status is ItemStatus.FAILED and not any(line.mode is Mode.REFUSE for line in calls):
        findings.violations.append(f"{name} failed although nobody refused it")


def check_order(
    findings: Findings, intended: Intended, lines: Mapping[str, list[Line]], passed: Collection[str] = ()
) -> None:
    """Nobody hears of a step before the one in front of it.

    What a person had sent again comes when it comes, and so does what was passed in doubt and then proved never to have
    been called: a worker that had marked it, froze, and took its mark back.
    """
    for walk in intended.walks:
        late = intended.resent | set(passed)
        called = [recipient for recipient in walk if recipient in lines and recipient not in late]
        for one, other in pairwise(called):
            if max(line.at for line in lines[one]) > min(line.at for line in lines[other]):
                findings.violations.append(
                    f"{other} came before {one}: {_story(lines[other])}; {_story(lines[one])}",
                )


def _check_unsendable(findings: Findings, item: Item, calls: Sequence[Line]) -> None:
    findings.tallies[item.provider].failed += item.status is ItemStatus.FAILED
    if item.status is not ItemStatus.FAILED or calls:
        findings.violations.append(f"{item.recipient} could not be rendered, and is {item.status}: {_story(calls)}")


def _allowed(item: Item) -> set[int]:
    if item.in_doubt:
        return {0, 1}
    if item.status in SUCCESSES:
        return {1}
    return {0} if item.status is not ItemStatus.QUEUED else set()


def _story(calls: Sequence[Line]) -> str:
    return ", ".join(f"{line.mode} by {line.worker} at {line.at:.3f}" for line in calls) or "never called"


def _check_witness(findings: Findings, item: Item, calls: Sequence[Line]) -> None:
    """Every call had its committed row, queued and marked; where PostgreSQL could not say so, its mark is older."""
    for line in calls:
        if line.row == "queued marked":
            continue
        findings.unwitnessed += line.row is None
        marked_at = item.first_marked_at.timestamp() if item.first_marked_at else float("inf")
        if line.row is not None or marked_at > line.at + CLOCK_SECONDS:
            findings.violations.append(f"the call for {line.recipient} by {line.worker} had the row {line.row!r}")


async def _check_owners(
    findings: Findings, connection: "asyncpg.Connection[asyncpg.Record]", intended: Intended
) -> None:
    rows = await connection.fetch("select id from executions where contact_id is null")
    if {row["id"] for row in rows} != set(intended.executions.values()):
        findings.violations.append(f"{len(rows)} executions for {len(intended.executions)} triggers")
    runs = {row["id"]: row["planned"] for row in await connection.fetch("select id, planned from runs")}
    if runs != intended.runs:
        findings.violations.append(f"the runs planned {runs}; intended were {intended.runs}")
    events = [row["idempotency_key"] for row in await connection.fetch("select idempotency_key from events")]
    if sorted(events) != sorted(intended.events):
        findings.violations.append(f"{len(events)} events are stored; {len(intended.events)} were intended")
    await _check_enrollments(findings, connection, intended)
    await _check_ends(findings, connection)


async def _check_enrollments(
    findings: Findings, connection: "asyncpg.Connection[asyncpg.Record]", intended: Intended
) -> None:
    """Everybody who was to be enrolled is, once, and is through."""
    rows = await connection.fetch(
        """
        select c.external_id, e.status
          from executions e
          join contacts c on c.shard = e.shard and c.id = e.contact_id
        """
    )
    times = Counter(row["external_id"] for row in rows)
    for contact in sorted(intended.enrolled ^ times.keys() | {one for one, count in times.items() if count > 1}):
        findings.violations.append(f"contact {contact} is enrolled {times[contact]} times")
    findings.violations += [
        f"the enrollment of {row['external_id']} is {row['status']}" for row in rows if row["status"] != "completed"
    ]


async def _check_ends(findings: Findings, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """The audit log is history: no item of a run may have ended after the run did."""
    for row in await connection.fetch(
        """
        select distinct a.subject_id as id
          from audit_log a
          join outbox o on o.run_id = a.subject_id
         where a.event in ('completed', 'partial', 'failed')
           and coalesce(o.finalized_at, 'infinity') > a.at + make_interval(secs => $1)
        """,
        CLOCK_SECONDS,
    ):
        findings.violations.append(f"run {row['id']} was terminal before its last item")
