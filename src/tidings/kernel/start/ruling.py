"""What decides about an event: the rules of its trigger, and the fallbacks of host applications where there is none.

Rules and fallbacks are stored in the database, so that every process that takes an event, with or without the
application, decides the same; the call of a fallback waits in the outbox for a worker that has it. Reached from
event.py and wiring.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from tidings.domain.flow.ids import Workspace
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.rule import RuleDefinition
from tidings.kernel.kernel import Kernel
from tidings.kernel.templates import know_stored_templates
from tidings.storage import fallbacks, rules


@dataclass(frozen=True, slots=True)
class Ruling:
    """The rules of one trigger by their keys, and the fallbacks that some application has for it."""

    rules: Mapping[RuleKey, RuleDefinition]
    fallbacks: frozenset[RuleKey]

    @property
    def templates(self) -> list[str]:
        """Everything that is rendered for an event."""
        steps = [step for rule in self.rules.values() if rule.enabled for step in rule.enabled_steps]
        return [source for step in steps for source in step.every_template.values()]


async def find_ruling(kernel: Kernel, workspace: Workspace, trigger: str) -> Ruling:
    """Read what decides about events of a trigger now, with the facts of templates that are expensive to check."""
    find = partial(rules.rules_of_trigger, workspace=workspace, trigger=trigger)
    found = await kernel.db.persist(find, alone=True)
    own = {key for key in kernel.fallbacks if key.trigger == trigger}
    listed = {one.key for one in found if one.is_fallback}
    ruling = Ruling({one.key: one.definition for one in found if not one.is_fallback}, frozenset(own | listed))
    await know_stored_templates(kernel, workspace, ruling.templates)
    return ruling


async def find_fallback_triggers(kernel: Kernel) -> set[str]:
    """Return every trigger that some application has a fallback for."""
    listed = await kernel.db.persist(fallbacks.list_fallbacks, alone=True)
    return {key.trigger for key in kernel.fallbacks} | {one.key.trigger for one in listed}


async def declare_fallbacks(kernel: Kernel) -> Collection[RuleKey]:
    """Store the fallbacks of this process's application; return the new ones. What it lacks removes nothing."""
    if not kernel.fallbacks:
        return []
    put = partial(fallbacks.put_fallbacks, keys=kernel.fallbacks, now=await kernel.clock.now())
    return await kernel.db.persist(put, alone=True)
