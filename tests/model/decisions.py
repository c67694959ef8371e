"""What the code itself decides, asked with the model's words: doubt, fact, what is held and the move are the real ones.

Each function lifts the model's values to the code's types at a fixed time, calls the code, and lowers what it says.
They depend on few values, so each question is asked once and remembered.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Final, cast
from uuid import UUID

from structlog.testing import capture_logs

from tests.model.states import Fact, Heard, Hold, Item, Move, Setting, Stage, Status, Time, Worker
from tidings.domain.flow.doubt import AskProvider, CallAgain, GiveUp, judge
from tidings.domain.flow.execution import ExecutionState, ExecutionStatus, Frontier, ItemState, begin
from tidings.domain.flow.graph import Graph, Send
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel, Delivered, Fence, ItemId, ItemStatus, OwnerId, Reserved
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.outgoing import Outgoing
from tidings.domain.flow.queue import Claimed, Kind, Lane, Stop
from tidings.domain.flow.retry import RetryPolicy
from tidings.kernel.flow import finalize, release
from tidings.kernel.flow.case import Case
from tidings.kernel.flow.deliver import Answered
from tidings.kernel.flow.held import Held
from tidings.kernel.flow.marking import make_marked
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.process.rests import Rests
from tidings.storage.finalize import Fact as RealFact
from tidings.storage.load import LoadedExecution, LoadedItem

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BEFORE = NOW - timedelta(minutes=1)
TIMES: Final[dict[Time, datetime | None]] = {"none": None, "later": NOW + timedelta(minutes=1), "due": BEFORE}
OWNER = UUID(int=1)
NODE = "hello"
OUTCOMES: Final[dict[Heard, Outcome]] = {
    "accepted": Accepted("m-1"),
    "rejected": Rejected("no such mailbox"),
    "refused": RetryLater("busy"),
    "refused_free": RetryLater("not so fast", uses_attempt=False),
    "unavailable": Unavailable("connection refused"),
    "unknown": Unknown("no answer in time"),
}


@cache
def fact_of(setting: Setting, hold: Hold, fence: int) -> Fact:
    """kernel/flow/finalize.py: what is stored of an answer."""
    fact = _real_fact(setting, hold, fence)
    return Fact(fence, fact.attempt, _status(fact.status), fact.unknown, fact.uses_attempt, _time(fact.retry_at))


@cache
def verdict_on(setting: Setting, known: Item) -> Stage:
    """domain/flow/doubt.py, asked as kernel/flow/doubt.py asks it."""
    verdict = judge(
        setting.provider,
        setting.policy,
        attempts_left=known.attempts < setting.attempts,
        resends_left=known.marked_attempt < setting.attempts,
        first_marked_at=BEFORE,
        now=NOW,
    )
    match verdict:
        case CallAgain():
            return "again"
        case AskProvider():
            return "ask"
        case GiveUp():
            return "give_up"
        case _:
            return "hold"


@cache
def orphaned(known: Item) -> Item:
    """kernel/flow/held.py: a mark was found without an answer."""
    held, id = _held_of(known)
    held.orphan(id)
    return _known(held, id, known)


@cache
def doubted(known: Item, retry: Time) -> Item:
    """kernel/flow/held.py: in doubt, and looked at again by then."""
    held, id = _held_of(known)
    held.doubt(id, TIMES[retry])
    return _known(held, id, known)


@cache
def cleared(known: Item) -> Item:
    """kernel/flow/held.py: proven never to have arrived."""
    held, id = _held_of(known)
    held.clear(id)
    return _known(held, id, known)


@cache
def settled(known: Item, status: Status) -> Item:
    """kernel/flow/held.py: skipped or failed without a call."""
    held, id = _held_of(known)
    held.settle(id, ItemStatus(status), "settled")
    return _known(held, id, known)


@cache
def learned(setting: Setting, hold: Hold, fence: int) -> Item:
    """kernel/flow/held.py: what became of a call."""
    held, id = _held_of(hold.known)
    held.learn(_real_fact(setting, hold, fence))
    return _known(held, id, hold.known)


def releasing(setting: Setting, worker: Worker) -> Worker:
    """A worker that has only its owner to let go; where to depends on nothing that is still to come."""
    holds = tuple(Hold(hold.known, hold.stage) for hold in worker.hand if hold)
    move = _move_of(setting, holds, worker.stop, worker.crashes, worker.ended)
    return Worker("release", worker.fence, worker.stop, has_lease=worker.has_lease, lapsed=worker.lapsed, move=move)


@cache
def _move_of(setting: Setting, holds: tuple[Hold, ...], stop: bool, crashes: int, ended: bool) -> Move:
    """kernel/flow/release.py: where the owner goes from here, by domain/flow/execution.py."""
    lease = Claimed(OWNER, Kind.EXECUTION, Fence(1), crashes, Stop.CANCEL if stop else None, NOW)
    graph = _graph(setting)
    held = Held(lease, lambda _: _retry(setting))
    for place, hold in enumerate(holds):
        held.take(_lifted(hold.known, place))
        if hold.stage == "postponed":
            held.postponed[UUID(int=place)] = NOW + timedelta(seconds=1)
    frontier = Frontier() if ended else begin(graph, BEFORE)
    status = ExecutionStatus.COMPLETED if ended else ExecutionStatus.ENQUEUED
    execution = ExecutionState(OWNER, status, frontier, {}, BEFORE)
    loaded = LoadedExecution(execution, Workspace(), OWNER, BEFORE, BEFORE if ended else None)
    with capture_logs():
        move = release._move(_kernel(setting), Case(held, loaded, graph), NOW)
    return Move(_time(move.due_at), move.ended_at is not None)


def is_dead(setting: Setting, crashes: int) -> bool:
    """kernel/flow/settle.py: too many crashes to be tried again."""
    return crashes >= setting.crash_limit


@cache
def _kernel(setting: Setting) -> Kernel:
    """As much of a kernel as pure decisions look at."""
    provider = SimpleNamespace(provider_class=setting.provider)
    limits = Limits(doubt_policy=setting.policy, crashes=setting.crash_limit)
    known = {"providers": {"p": provider}, "limits": limits, "rests": Rests(), "spread": lambda: 0.5}
    return cast(Kernel, SimpleNamespace(**known, class_of=lambda _provider, _called_at: setting.provider))


@cache
def _graph(setting: Setting) -> Graph:
    send = Send(NODE, Channel.EMAIL, ("ada@example.com",), {}, _retry(setting), on_doubt=setting.on_doubt)
    return Graph(entry=NODE, nodes={NODE: send}, edges=())


@cache
def _retry(setting: Setting) -> RetryPolicy:
    return RetryPolicy(attempts=setting.attempts, base=timedelta(seconds=10))


def _real_fact(setting: Setting, hold: Hold, fence: int) -> RealFact:
    with capture_logs():  # what it says to people is of no interest here
        return finalize.fact_of(_kernel(setting), _answered(setting, hold, fence), Lane.TRANSACTIONAL)


def _answered(setting: Setting, hold: Hold, fence: int) -> Answered:
    item = _reserved(hold.known, 0)
    marked = make_marked(
        item.id,
        item.owner,
        Fence(fence),
        hold.attempt,
        hold.known.attempts + 1,
        item.channel,
        item.provider,
        item.recipient,
        {},
        item.key,
        item.workspace,
    )
    outgoing = Outgoing(item, Fence(fence), {}, _retry(setting))
    return Answered(Delivered(marked, OUTCOMES[hold.heard], BEFORE, NOW), outgoing)


def _held_of(known: Item) -> tuple[Held, UUID]:
    held = Held(Claimed(OWNER, Kind.EXECUTION, Fence(1), 0, None, NOW), lambda _: RetryPolicy(1, timedelta(1)))
    loaded = _lifted(known, 0)
    held.take(loaded)
    return held, loaded.id


def _lifted(known: Item, place: int) -> LoadedItem:
    retry_at = TIMES[known.retry]
    state = ItemState(NODE, ItemStatus(known.status), known.in_doubt, retry_at, known.attempts, None, None)
    is_open = known.status == "queued"
    return LoadedItem(UUID(int=place), OWNER, state, _reserved(known, place) if is_open else None)


def _reserved(known: Item, place: int) -> Reserved:
    return Reserved(
        id=ItemId(UUID(int=place)),
        owner=OwnerId(OWNER),
        node=NODE,
        ordinal=place,
        channel=Channel.EMAIL,
        provider="p",
        recipient="ada@example.com",
        payload={},
        key=b"k",
        attempts=known.attempts,
        marked_attempt=known.marked_attempt,
        retry_at=TIMES[known.retry],
        marked_at=BEFORE if known.marked else None,
        first_marked_at=BEFORE if known.marked_attempt else None,
        in_doubt=known.in_doubt,
        workspace=Workspace(),
    )


def _known(held: Held, id: UUID, known: Item) -> Item:
    state, item = held.states[id], held.open.get(id)
    return known._replace(
        status=_status(state.status),
        in_doubt=state.in_doubt,
        retry=_time(state.retry_at),
        attempts=item.attempts if item else state.attempts,
        marked=bool(item and item.marked_at),
    )


def _status(status: ItemStatus) -> Status:
    return cast(Status, status.value)


def _time(at: datetime | None) -> Time:
    if at is None:
        return "none"
    return "later" if at > NOW else "due"
