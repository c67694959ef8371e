"""Rules as people manage them and as events are routed by them.

Reached from resources/rules.py and kernel/start/event.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct

from tidings.domain.content.linking import FROZEN
from tidings.domain.errors import Conflict
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Channel
from tidings.domain.flow.readiness import channels_needing_routes
from tidings.domain.paging import Span
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.rule import RuleDefinition, read_rule
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.rules import RuleAudience

_SQL = load("rules")
Json = Mapping[str, object]
MOST_KEPT, LONGEST_KEPT = 1_024, 20_000
"""How many rules a process keeps as it has read them, and how long the JSON of their steps may be: 20 MB at most."""


class ListedRule(Struct, frozen=True, kw_only=True):
    """A rule without what it says."""

    id: UUID
    trigger: str
    channel: Channel
    audience: RuleAudience
    enabled: bool
    steps: int

    @property
    def key(self) -> RuleKey:
        """What it is found by."""
        return RuleKey(self.trigger, self.channel, self.audience)


class FoundRule(Struct, frozen=True, kw_only=True):
    """A rule as it is stored."""

    id: UUID
    trigger: str
    channel: Channel
    audience: RuleAudience
    enabled: bool
    steps: Sequence[Json]
    templates: Json
    created_at: datetime
    updated_at: datetime

    @property
    def channels(self) -> Sequence[Channel]:
        """The channels that its enabled steps send over."""
        return channels_needing_routes(step.channel for step in self.definition.enabled_steps)

    @property
    def key(self) -> RuleKey:
        """The key that identifies the rule."""
        return RuleKey(self.trigger, self.channel, self.audience)

    @property
    def definition(self) -> RuleDefinition:
        """The rule as events are routed by it."""
        return _read(self.id, self.key, self.enabled, self.steps, self.templates)


class RuleOrFallback(Struct, frozen=True, kw_only=True):
    """What decides about events of a trigger; of a fallback only the key is known."""

    id: UUID
    trigger: str
    channel: Channel
    audience: RuleAudience
    enabled: bool
    steps: str
    """As JSON: what was read before need not be read again."""
    templates: str
    is_fallback: bool

    @property
    def key(self) -> RuleKey:
        """The key that identifies the rule or the fallback."""
        return RuleKey(self.trigger, self.channel, self.audience)

    @property
    def definition(self) -> RuleDefinition:
        """The rule as events are routed by it; while it stays as it is, the same object each time."""
        given = self.id, self.key, self.enabled, self.steps, self.templates
        is_short = len(self.steps) + len(self.templates) <= LONGEST_KEPT
        return _read_kept(*given) if is_short else _read_json(*given)


def _read(id: UUID, key: RuleKey, enabled: bool, steps: object, templates: object) -> RuleDefinition:
    stored = {**key._asdict(), "enabled": enabled, "steps": steps, FROZEN: templates}
    return replace(read_rule(stored, is_stored=True), id=id)


def _read_json(id: UUID, key: RuleKey, enabled: bool, steps: str, templates: str) -> RuleDefinition:
    return _read(id, key, enabled, msgspec.json.decode(steps), msgspec.json.decode(templates))


_read_kept = lru_cache(maxsize=MOST_KEPT)(_read_json)


@_SQL.statement
async def insert_rule(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    trigger: str,
    channel: Channel,
    audience: RuleAudience,
    enabled: bool,
    steps: Sequence[Json],
    templates: Json,
    required: Sequence[str],
    now: datetime,
) -> None:
    """Make a rule unless its key is taken."""


@_SQL.statement
async def lock_rule(
    tx: Tx,
    *,
    workspace: Workspace,
    id: UUID | None = None,
    trigger: str | None = None,
    channel: Channel | None = None,
    audience: RuleAudience | None = None,
) -> FoundRule | None:
    """Lock one rule, by id or by key, until the transaction ends, and return it."""


async def update_rule(
    tx: Tx,
    *,
    id: UUID,
    key: RuleKey,
    enabled: bool,
    steps: Sequence[Json],
    templates: Json,
    required: Sequence[str],
    now: datetime,
) -> None:
    """Write a rule, or raise Conflict when another has its key."""
    given = {**key._asdict(), "enabled": enabled, "steps": steps, "templates": templates, "required": required}
    try:
        await tx.fetch(_SQL["update_rule"], id=id, now=now, **given)
    except asyncpg.UniqueViolationError as error:
        raise Conflict(f"there is a rule for {key} already; change that one") from error


@_SQL.statement
async def delete_rule(tx: Tx, *, workspace: Workspace, id: UUID) -> UUID | None:
    """Remove a rule; None when there is none."""


@_SQL.statement
async def find_rule(
    tx: Tx,
    *,
    workspace: Workspace,
    id: UUID | None = None,
    trigger: str | None = None,
    channel: Channel | None = None,
    audience: RuleAudience | None = None,
) -> FoundRule | None:
    """One rule by id or by key, if there is one."""


@_SQL.statement
async def list_rules(
    tx: Tx,
    *,
    workspace: Workspace,
    trigger: str | None,
    channel: str | None,
    audience: str | None,
    enabled: bool | None,
    span: Span,
    limit: int,
) -> list[FoundRule]:
    """A workspace's rules, newest first."""


@_SQL.statement
async def rules_of_trigger(tx: Tx, *, workspace: Workspace, trigger: str) -> list[RuleOrFallback]:
    """The rules that events of this trigger are routed by, and its fallbacks."""


@_SQL.statement
async def read_enabled(tx: Tx, *, ids: Sequence[UUID]) -> Mapping[UUID, bool | None]:
    """Whether each of some rules is enabled; None where it was deleted."""


@_SQL.statement
async def list_triggers(tx: Tx, *, workspace: Workspace) -> list[str]:
    """Every trigger that a rule of the workspace names."""


@_SQL.statement
async def list_rule_keys(tx: Tx, *, workspace: Workspace, triggers: Sequence[str]) -> list[ListedRule]:
    """The rules of some triggers, without what they say."""
