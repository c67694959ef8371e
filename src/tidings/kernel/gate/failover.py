"""Which connection an item takes when its own cannot be used: the next one that can, in the order of its recipient.

Reached from plan.py for new items, from windows.py before marks, and from commit.py after answers. Only what is known
not to have arrived may move: never an item in doubt, and nothing after an answer that says less than "not accepted". A
sticky connection's items wait for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from tidings.domain.connections.route import SendingRoute
from tidings.domain.flow.item import Channel, Delivered, Reserved
from tidings.domain.flow.outcome import RetryLater, Unavailable
from tidings.kernel.gate.trials import unusable_until
from tidings.kernel.kernel import Kernel

A_MOMENT = timedelta(seconds=2)
"""What waits for a place for less than this takes no other connection."""


def is_closed(kernel: Kernel, provider: str, now: datetime) -> bool:
    """Whether nothing leaves through a provider now, for a reason that another connection need not share."""
    connection = kernel.connections.find(provider)
    if connection and not connection.is_usable:
        return True
    if connection and connection.limits.overflow and _is_full(kernel, provider, now):
        return True
    return bool(kernel.rests.until(provider, now) or unusable_until(kernel, provider, now))


def _is_full(kernel: Kernel, provider: str, now: datetime) -> bool:
    """Whether a connection has no place for longer than a moment."""
    at = kernel.use.full_until(provider, "", now)
    return at is not None and at - now > A_MOMENT


def first_open(kernel: Kernel, route: SendingRoute, recipient: str, now: datetime) -> str:
    """Return the provider for a new item: the first of its route that can be used, as far as is known."""
    if route.only:
        return route.only
    order = route.order(recipient)
    if _is_sticky(kernel, order[0]):
        return order[0]
    return next((name for name in order if not is_closed(kernel, name, now)), order[0])


def find_moves(
    kernel: Kernel, items: Sequence[Reserved], is_trying: Callable[[str], bool], now: datetime
) -> Mapping[UUID, str]:
    """Return the provider that each of these items takes instead of its own, which is closed or never was its turn."""
    names = {item.provider for item in items}
    closed = {name for name in names if is_closed(kernel, name, now) and not is_trying(name)}
    moves: dict[UUID, str] = {}
    for item in items:
        route = kernel.route_table.find(item.workspace, item.channel)
        if route is None or item.in_doubt or item.channel is Channel.FUNCTION or route.only == item.provider:
            continue
        is_first = item.marked_attempt == 0 and not item.node and route.is_drawn
        if item.provider in closed or is_first:
            to = _instead(kernel, route, item, now)
            if to != item.provider:
                moves[item.id] = to
    return moves


def _instead(kernel: Kernel, route: SendingRoute, item: Reserved, now: datetime) -> str:
    """The first way that is open for an item; its own when it must wait there, or no other is."""
    order = route.order(item.recipient)
    if item.provider in order and _is_sticky(kernel, item.provider) and item.marked_attempt:
        return item.provider
    return _first_of(kernel, order, now) or item.provider


def _first_of(kernel: Kernel, order: Iterable[str], now: datetime) -> str | None:
    for name in order:
        if name in kernel.providers and not is_closed(kernel, name, now):
            return name
        if _is_sticky(kernel, name):
            return None
    return None


def next_after(kernel: Kernel, call: Delivered, now: datetime) -> str | None:
    """Return the connection to try right after an answer that means "not accepted"; None when none is left to try."""
    item, order = call.item, _order_after(kernel, call)
    if item.provider not in order or _is_sticky(kernel, item.provider):
        return None
    later = order[order.index(item.provider) + 1 :]
    return next((name for name in later if name in kernel.providers and not is_closed(kernel, name, now)), None)


def _order_after(kernel: Kernel, call: Delivered) -> Sequence[str]:
    if call.item.channel is Channel.FUNCTION or not isinstance(call.outcome, RetryLater | Unavailable):
        return ()
    route = kernel.route_table.find(call.item.workspace, call.item.channel)
    return route.order(call.item.recipient) if route and not route.only else ()


def first_again(kernel: Kernel, call: Delivered) -> str | None:
    """Return where the next round begins, once the last connection has refused too; None if it was the only one."""
    order = _order_after(kernel, call)
    return order[0] if order and order[0] != call.item.provider and call.item.provider in order else None


def has_way_around(kernel: Kernel, workspace_route: SendingRoute | None, provider: str, now: datetime) -> bool:
    """Whether a workspace has another way out than a provider that cannot be used."""
    if workspace_route is None or workspace_route.only or _is_sticky(kernel, provider):
        return False
    names = [one.provider for one in workspace_route.connections if one.provider != provider]
    return any(not is_closed(kernel, name, now) for name in names)


def earliest_opening(kernel: Kernel, provider: str, at: datetime, now: datetime) -> datetime:
    """When to look again at items of a closed provider: at its own time, or when another way opens before that."""
    connection = kernel.connections.find(provider)
    if connection is None or connection.is_sticky:
        return at
    others = kernel.connections.in_use(connection.workspace, connection.channel)
    opening = [until for one in others if (until := kernel.rests.until(one.provider, now))]
    return min([at, *opening])


def _is_sticky(kernel: Kernel, provider: str) -> bool:
    """Whether messages of a connection wait for it; a removed one never comes back."""
    connection = kernel.connections.find(provider)
    return connection is not None and connection.is_sticky and not connection.is_removed
