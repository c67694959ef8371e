"""The names under which the hosts of functions rest: one for each workspace and host, so that nobody's trouble is
another's."""

from typing import assert_never
from urllib.parse import quote

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.readiness import FUNCTIONS

HOST_RESTS = "function:"
"""How the name of a host's rest begins; no provider is named so."""
FAILURES_BEFORE_REST = 5
"""So many calls in a row without an answer let a host rest."""


def host_rest_name(workspace: Workspace, host: str) -> str:
    """Return the name under which a workspace's calls to a host rest."""
    return f"{rests_of(workspace)}{host}"


def rests_of(workspace: Workspace) -> str:
    """Return how the names of all rests of a workspace's hosts begin."""
    return f"{HOST_RESTS}{quote(workspace.tenant, safe='')}/{quote(workspace.name, safe='')}/"


def provider_of(name: str) -> str:
    """Return the provider whose calls a rest of this name concerns."""
    return FUNCTIONS if name.startswith(HOST_RESTS) else name


def was_answered(outcome: Outcome) -> bool | None:
    """Whether a function's host answered a call; None where the outcome says nothing about the host."""
    match outcome:
        case Accepted() | Rejected():
            return True
        case RetryLater():
            if outcome.is_unanswered:
                return False
            return True if outcome.uses_attempt else None  # one that uses none may not even have begun
        case Unknown():
            return not outcome.is_unanswered
        case Unavailable():
            return False
        case _:
            assert_never(outcome)
