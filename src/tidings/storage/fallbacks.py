"""The fallbacks that host applications have. Reached from kernel/start/ruling.py and resources/."""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from tidings.domain.flow.item import Channel
from tidings.domain.rules.key import RuleKey
from tidings.storage.database import Row, Tx
from tidings.storage.statements import load
from tidings.views.rules import RuleAudience

_SQL = load("fallbacks")


class ListedFallback(Struct, frozen=True):
    """A fallback, and since when it is known."""

    key: RuleKey
    since: datetime


async def put_fallbacks(tx: Tx, *, keys: Collection[RuleKey], now: datetime) -> list[RuleKey]:
    """Store the fallbacks of an application; return the new ones."""
    rows = await tx.fetch(
        _SQL["put_fallbacks"],
        triggers=[key.trigger for key in keys],
        channels=[key.channel for key in keys],
        audiences=[key.audience for key in keys],
        now=now,
    )
    return [_key(row) for row in rows]


async def list_fallbacks(tx: Tx) -> list[ListedFallback]:
    """All fallbacks."""
    return [ListedFallback(_key(row), row["since"]) for row in await tx.fetch(_SQL["list_fallbacks"])]


async def remove_fallback(tx: Tx, *, key: RuleKey) -> bool:
    """Delete a fallback; False when it does not exist."""
    row = await tx.fetch_one(_SQL["remove_fallback"], trigger=key.trigger, channel=key.channel, audience=key.audience)
    return row is not None


def _key(row: Row) -> RuleKey:
    return RuleKey(row["trigger"], Channel(row["channel"]), RuleAudience(row["audience"]))
