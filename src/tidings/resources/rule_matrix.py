"""What becomes of every trigger over every channel for every audience, as an event is decided."""

from collections.abc import Collection, Mapping
from functools import partial

from tidings.domain.channels import CONTACT_CHANNELS, Channel
from tidings.domain.flow.ids import Workspace
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.routing import decide_route
from tidings.domain.rules.rule import RuleDefinition
from tidings.kernel.kernel import Kernel
from tidings.resources.readiness import find_unready
from tidings.storage import fallbacks, rules
from tidings.storage.rules import ListedRule
from tidings.views.rules import MatrixCell, MatrixRow, RuleAudience, RuleMatrix


async def show_matrix(kernel: Kernel, workspace: Workspace, *, limit: int, cursor: str | None) -> RuleMatrix:
    """Return a page of triggers, in the order of their names, each with its cells."""
    mine = await kernel.db.persist(partial(rules.list_triggers, workspace=workspace), alone=True)
    standing_in = {one.key for one in await kernel.db.persist(fallbacks.list_fallbacks, alone=True)}
    triggers = sorted({*mine, *(key.trigger for key in standing_in)})
    left = [one for one in triggers if cursor is None or one > cursor]
    page = left[:limit]
    listed = await kernel.db.persist(partial(rules.list_rule_keys, workspace=workspace, triggers=page), alone=True)
    unready = await find_unready(kernel, workspace, CONTACT_CHANNELS)
    known = {one.key: one for one in listed}
    return RuleMatrix(
        channels=[*CONTACT_CHANNELS],
        audiences=[*RuleAudience],
        rows=[MatrixRow(trigger=one, cells=_cells(one, known, standing_in, unready)) for one in page],
        next_cursor=page[-1] if len(left) > limit else None,
    )


def _cells(
    trigger: str, known: Mapping[RuleKey, ListedRule], standing_in: Collection[RuleKey], unready: Collection[Channel]
) -> list[MatrixCell]:
    keys = [RuleKey(trigger, channel, audience) for channel in CONTACT_CHANNELS for audience in RuleAudience]
    return [_cell(key, known.get(key), key in standing_in, key.channel not in unready) for key in keys]


def _cell(key: RuleKey, rule: ListedRule | None, has_fallback: bool, ready: bool) -> MatrixCell:
    definition = RuleDefinition(key, rule.enabled, ()) if rule else None
    route = decide_route(key, definition, has_fallback=has_fallback)
    return MatrixCell(
        channel=key.channel,
        audience=key.audience,
        outcome=route.outcome,
        reason=route.reason,
        rule_id=rule.id if rule else None,
        steps=rule.steps if rule else 0,
        ready=ready,
    )
