"""The names under which hosts rest: one for each workspace and host, so that nobody's trouble is another's.

Hosts are of functions, and of what a connection calls where its recipients are: webhooks, and browsers' push services.
"""

from typing import assert_never
from urllib.parse import quote

from tidings.domain.channels import Channel
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import HasHosts
from tidings.domain.flow.readiness import FUNCTIONS

_OF_FUNCTIONS, _OF_CONNECTIONS = "function:", "host:"
HOST_RESTS = (_OF_FUNCTIONS, _OF_CONNECTIONS)
"""How the name of a host's rest begins; no provider is named so."""
HOSTED_CHANNELS = frozenset({Channel.FUNCTION, Channel.WEBHOOK, Channel.PUSH})
"""What may be called wherever its recipients are."""
FAILURES_BEFORE_REST = 5
"""So many calls in a row without an answer let a host rest."""


def calls_hosts(provider: object, channel: Channel) -> bool:
    """Whether a provider's calls over a channel go to many hosts: one of them rests, and the provider does not."""
    return channel in HOSTED_CHANNELS and (channel is Channel.FUNCTION or isinstance(provider, HasHosts))


def host_rest_name(workspace: Workspace, host: str) -> str:
    """Return the name under which a workspace's calls to a host rest."""
    return f"{rests_of(workspace)}{host}"


def connection_host_name(provider: str, host: str) -> str:
    """Return the name under which a connection's calls to a host rest; a connection is of one workspace."""
    return f"{connection_hosts(provider)}{host}"


def connection_hosts(provider: str) -> str:
    """Return how the names of all rests of a connection's hosts begin."""
    return f"{_OF_CONNECTIONS}{provider}/"


def rests_of(workspace: Workspace) -> str:
    """Return how the names of all rests of a workspace's hosts begin."""
    return f"{_OF_FUNCTIONS}{quote(workspace.tenant, safe='')}/{quote(workspace.name, safe='')}/"


def provider_of(name: str) -> str:
    """Return the provider whose calls a rest of this name concerns."""
    if name.startswith(_OF_CONNECTIONS):
        return name.removeprefix(_OF_CONNECTIONS).rpartition("/")[0]
    return FUNCTIONS if name.startswith(_OF_FUNCTIONS) else name


def was_answered(outcome: Outcome) -> bool | None:
    """Whether the host of a call answered it; None where the outcome says nothing about the host."""
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
