"""The model's world: one owner's row, its items, what the provider remembers, and the workers. All of it immutable.

Times are reduced to what decisions see of them: a row is due or not, a lease has run out or not, a retry time is none,
later or due. Words are plain strings, since states are hashed by the hundred thousand.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from tidings.domain.flow.doubt import DoubtPolicy
from tidings.domain.flow.graph import OnDoubt
from tidings.domain.flow.provider import ProviderClass

Time = Literal["none", "later", "due"]
Status = Literal["queued", "sent", "failed", "skipped"]
Heard = Literal["", "accepted", "rejected", "refused", "refused_free", "unavailable", "unknown"]
"""What a worker was told; `refused_free` is a "not so fast", and also a call not begun because the lease was spent;
`unavailable` is a call that could not begin."""

Key = Literal["", "accepted", "rejected"]
Judged = Literal["open", "orphan", "doubt", "left", "again", "ask", "hold", "give_up"]
Evident = Literal["found", "spent", "absent", "ask_later", "ask_never"]
Moving = Literal["waiting", "marked", "calling", "landed", "unstarted", "postponed", "done"]
Stage = Judged | Evident | Moving
"""How far an item is in a worker's hand: as read and judged, as a look-up said, and on its way."""

Doing = Literal["reread", "load", "admit", "record", "ask", "clear", "schedule", "settle", "reserve"]
Place = Literal["idle", "deliver", "release"] | Doing


class Variant(StrEnum):
    """Ways to write the same thing wrong, each of which has tempted somebody."""

    NO_FENCE = "moves and marks without asking whether the lease is still ours"
    MARK_AFTER_SEND = "the mark is written together with the answer"
    EXPIRY_MEANS_NOT_SENT = "a mark whose lease ran out is taken for a call that never happened"
    NO_LEASE_MARGIN = "a call begins although the lease has run out"
    BLIND_REPEAT_AFTER_CRASH = "a call without an answer is repeated whatever the provider's class"
    COUNT_CRASH_AS_ATTEMPT = "a crash uses an attempt"
    UNKNOWN_KEEPS_MARK = "an unknown answer leaves the mark standing"
    FACT_NEEDS_LEASE = "a fact counts only under the lease it was learned under"
    NO_SETTLE_TIME = "an absent is believed at once"
    REFUSAL_ENDS_DOUBT = "a refusal of the second call is taken for one of the first"
    UNMARK_ENDS_DOUBT = "a repeat that was not begun is taken to prove that the first call was not either"


class Row(NamedTuple):
    """The owner's row in `queue`; a lease that is due has run out."""

    fence: int = 0
    leased: bool = False
    due: bool = True
    wake: bool = False
    stop: bool = False
    crashes: int = 0


class Item(NamedTuple):
    """A row of `outbox`; `marked_fence` is 0 where the column is null."""

    status: Status = "queued"
    marked_attempt: int = 0
    marked_fence: int = 0
    marked: bool = False
    attempts: int = 0
    in_doubt: bool = False
    retry: Time = "none"


class Fact(NamedTuple):
    """What finalize_items is given about one item."""

    fence: int
    attempt: int
    status: Status
    unknown: bool = False
    uses_attempt: bool = True
    retry: Time = "none"


class Post(NamedTuple):
    """What the provider's side knows of one item, and what only an onlooker can."""

    effective: int = 0  # messages that reach the person
    air: int = 0  # requests on their way that no worker waits for
    key: Key = ""  # what a keyed provider answers to this key for good
    answered: int = 0  # recorded answers that used an attempt


class Hold(NamedTuple):
    """One item in a worker's hand: what it knows, how far it is, and what it heard."""

    known: Item
    stage: Stage
    attempt: int = 0
    heard: Heard = ""


class Window(NamedTuple):
    """One commit of the delivery: places of items, by what is to be written about them."""

    marks: tuple[int, ...]
    facts: tuple[int, ...]
    unmarks: tuple[int, ...]
    renew: bool


class Move(NamedTuple):
    """Where an owner is sent: when it is due again (none: it leaves the queue), and whether its walk has ended."""

    due: Time
    ended: bool


class Worker(NamedTuple):
    """A process: where it is in the flow, and all it remembers. Dying means forgetting it."""

    at: Place = "idle"
    fence: int = 0
    stop: bool = False
    crashes: int = 0
    ended: bool = False
    hand: tuple[Hold | None, ...] = ()
    has_lease: bool = True  # as far as it was told
    lapsed: bool = False  # its own clock says that the lease has run out
    repeat: Window | None = None  # a commit whose answer was lost
    move: Move | None = None  # where the owner goes, once all else is done


class Budget(NamedTuple):
    """How much may still go wrong."""

    crashes: int = 0
    freezes: int = 0  # leases that run out although their worker lives
    lost_commits: int = 0
    unknowns: int = 0
    free_refusals: int = 0
    postponements: int = 0
    cancels: int = 0


NOTHING_GOES_WRONG = Budget()


class State(NamedTuple):
    """Everything, at one moment between two commits."""

    row: Row | None
    ended: bool
    items: tuple[Item | None, ...]
    posts: tuple[Post, ...]
    workers: tuple[Worker, ...]
    budget: Budget


@dataclass(frozen=True, eq=False)
class Setting:
    """What one search is about; compared by identity, since it is part of every remembered question."""

    provider: ProviderClass
    policy: DoubtPolicy = DoubtPolicy.HOLD
    on_doubt: OnDoubt = OnDoubt.HOLD
    items: int = 1
    workers: int = 2
    attempts: int = 2
    crash_limit: int = 5
    budget: Budget = NOTHING_GOES_WRONG
    broken: frozenset[Variant] = frozenset()

    @property
    def may_die(self) -> bool:
        """Whether there can be enough crashes for the owner to be given up; else nobody looks at their number."""
        return self.budget.crashes + self.budget.freezes >= self.crash_limit

    def start(self) -> State:
        """An owner that is due, nothing reserved, nobody at work."""
        return State(
            row=Row(),
            ended=False,
            items=(None,) * self.items,
            posts=(Post(),) * self.items,
            workers=(Worker(),) * self.workers,
            budget=self.budget,
        )


class Step(NamedTuple):
    """Something that can happen next: who does what, about which item or window."""

    what: str
    worker: int = -1
    item: int = -1
    window: Window | None = None
    answer_lost: bool = False
