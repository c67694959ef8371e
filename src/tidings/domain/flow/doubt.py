"""What to do about an item whose fate is unknown: the provider's class decides, then the workspace's policy."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from tidings.domain.flow.provider import Blind, Keyed, ProviderClass, Resolvable

RETENTION_MARGIN = 0.1
"""The share of a key's retention left unused: the provider's clock started before ours saw the answer."""

LOOK_AGAIN = timedelta(hours=1)
"""How often parked work is looked at again: nothing waits for an event alone."""


class DoubtPolicy(StrEnum):
    """What a workspace wants when nothing can tell whether a call arrived."""

    HOLD = "hold"
    RESEND = "resend"
    GIVE_UP = "give_up"


@dataclass(frozen=True, slots=True)
class CallAgain:
    """Repeat the call: with its key where the provider honours it, or at the workspace's own risk.

    Not before `settle` has passed since the doubt began.
    """

    settle: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class AskProvider:
    """Look up what became of the call; an "absent" proves nothing before `settle` has passed since the doubt began.

    Not since the mark: a call may have waited for its slot, and have been on its way until its deadline.
    """

    settle: timedelta
    authoritative: bool


@dataclass(frozen=True, slots=True)
class Hold:
    """Leave the item to evidence or a person."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Count the item as failed without knowing."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Count the item as failed: the last call got no answer; a person may have it repeated under the same key."""


Verdict = CallAgain | AskProvider | Hold | GiveUp | Spent


def judge(
    provider_class: ProviderClass,
    policy: DoubtPolicy,
    *,
    attempts_left: bool,
    resends_left: bool,
    first_marked_at: datetime,
    now: datetime,
    is_function: bool = False,
) -> Verdict:
    """Decide about one item in doubt; without attempts left nothing is called again.

    A crash uses no attempt, since a key or a look-up makes the repeat safe. A resend at the workspace's own risk is
    another matter: `resends_left` counts every call that was ever marked. A function that is declared idempotent
    is never held in doubt: what matters is whether it is done, and without an answer it is not.
    """
    match provider_class:
        case Keyed(retention, settle):
            if attempts_left and now - first_marked_at < retention * (1 - RETENTION_MARGIN):
                return CallAgain(settle)
            return Spent() if is_function and not attempts_left else _as_blind(policy, resends_left)
        case Resolvable(authoritative, settle):
            return AskProvider(settle, authoritative)
        case Blind():
            return _as_blind(policy, resends_left)
        case _:
            assert_never(provider_class)


def _as_blind(policy: DoubtPolicy, resends_left: bool) -> Verdict:
    match policy:
        case DoubtPolicy.HOLD:
            return Hold()
        case DoubtPolicy.RESEND:
            return CallAgain() if resends_left else Hold()
        case DoubtPolicy.GIVE_UP:
            return GiveUp()
        case _:
            assert_never(policy)
