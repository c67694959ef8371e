"""Rules as people manage them: create, change, switch on and off, delete. Every change is in the audit log.

A rule is read and checked by domain/rules/rule.py; kernel/start/event.py routes by what stands here when an event
comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.channels import CONTACT_CHANNELS
from tidings.domain.errors import Conflict, DefinitionInvalid, InputInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.messages import did_you_mean, quoted
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first, page_of
from tidings.domain.people.recipients import Audience
from tidings.domain.rules.rule import Rule, RuleKey, Step, keep_steps, read_rule, step_to_json
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import Deed, write_audit
from tidings.resources.readiness import with_readiness
from tidings.storage import resolve, rules
from tidings.storage.database import Tx
from tidings.storage.rules import ShownRule
from tidings.views.pages import Page

__all__ = ["Change", "RuleFilter", "Rules", "ShownRule"]

Json = Mapping[str, object]
Problems = list[Problem]
StoredSteps = list[dict[str, object]]
Change = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules to list; what is None does not matter."""

    trigger: str | None = None
    channel: str | None = None
    audience: str | None = None
    enabled: bool | None = None

    def check(self) -> None:
        """Refuse a channel or an audience that no rule can have: the answer would be empty, whatever there is."""
        for name, given, known in (("channel", self.channel, CONTACT_CHANNELS), ("audience", self.audience, Audience)):
            if given is not None and given not in [*known]:
                meant = did_you_mean(given, known)
                raise InputInvalid(f"{name} {quoted(given)}: use one of {', '.join(known)}{meant}")


class Rules:
    """The rules of every workspace; what is another's is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: Json) -> ShownRule:
        """Make a rule; one for the same trigger, channel and audience is a Conflict."""
        shown, change = await self._put(caller, read_rule(given), must_be_new=True)
        if change != "created":
            raise AssertionError("a rule that was there is a conflict")
        return shown

    async def apply(self, caller: Caller, given: Json) -> tuple[ShownRule, Change]:
        """Bring the rule for this trigger, channel and audience to what is given, whether it was there or not."""
        return await self._put(caller, read_rule(given), must_be_new=False)

    async def update(self, caller: Caller, id: UUID, given: Json) -> ShownRule:
        """Make a rule be as given; a step that is named by its id, or says the same, keeps its id."""
        return await self._update(caller, id, read_rule(given))

    async def _update(self, caller: Caller, id: UUID, rule: Rule) -> ShownRule:
        here, now = caller.workspace, await self._kernel.clock.now()

        async def write(tx: Tx) -> None:
            before = await rules.lock_rule(tx, tenant=here.tenant, workspace=here.name, id=id)
            if before is None:
                raise NotFound(f"there is no rule {id}")
            await self._change(tx, caller, before, rule, now)

        await self._kernel.db.persist(write)
        return await self.get(here, id)

    async def enable(self, caller: Caller, id: UUID) -> ShownRule:
        """Let a rule send."""
        return await self._switch(caller, id, enabled=True)

    async def disable(self, caller: Caller, id: UUID) -> ShownRule:
        """Suppress a rule's channel for its audience; what was enqueued before is still sent."""
        return await self._switch(caller, id, enabled=False)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Remove a rule; its trigger falls back for this channel and audience, if a fallback is registered."""
        shown, now = await self.get(caller.workspace, id), await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)
        here = caller.workspace

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return  # done, by a commit whose answer was lost
            if not await rules.delete_rule(tx, tenant=here.tenant, workspace=here.name, id=id):
                raise NotFound(f"there is no rule {id}")
            deed = Deed("rule", id, "deleted", {"rule": str(shown.key)}, entry)
            await write_audit(self._kernel, tx, caller, [deed], now)

        await self._kernel.db.persist(write)

    async def get(self, workspace: Workspace, id: UUID) -> ShownRule:
        """One rule by id, or NotFound."""
        find = partial(rules.find_rule, tenant=workspace.tenant, workspace=workspace.name, id=id)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no rule {id}")
        return (await with_readiness(self._kernel, workspace, [found]))[0]

    async def find(self, workspace: Workspace, key: RuleKey) -> ShownRule:
        """One rule by its key, or NotFound."""
        find = partial(rules.find_rule, tenant=workspace.tenant, workspace=workspace.name, key=key)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no rule for {key} in workspace {workspace.name!r}")
        return (await with_readiness(self._kernel, workspace, [found]))[0]

    async def list(
        self,
        workspace: Workspace,
        where: RuleFilter,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[ShownRule]:
        """Rules, newest first."""
        check_limit(limit)
        where.check()
        find = partial(
            rules.list_rules,
            tenant=workspace.tenant,
            workspace=workspace.name,
            trigger=where.trigger,
            channel=where.channel,
            audience=where.audience,
            enabled=where.enabled,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        found = await with_readiness(self._kernel, workspace, await self._kernel.db.persist(find, alone=True))
        return page_of(found, limit, lambda one: one.id)

    @staticmethod
    def validate(given: object) -> Problems:
        """Everything that is wrong with a rule; nothing is stored."""
        try:
            read_rule(given)
        except DefinitionInvalid as error:
            return [*error.problems]
        return []

    async def _put(self, caller: Caller, rule: Rule, *, must_be_new: bool) -> tuple[ShownRule, Change]:
        here, now = caller.workspace, await self._kernel.clock.now()
        new_id = self._kernel.new_id(here.bucket_of(str(rule.key)), now)  # made once: a repeat knows its own by it
        steps = self._stored_steps(rule, (), new_id, now)

        async def write(tx: Tx) -> tuple[UUID, Change]:
            await rules.insert_rule(
                tx,
                id=new_id,
                tenant=here.tenant,
                workspace=here.name,
                key=rule.key,
                enabled=rule.enabled,
                steps=steps,
                required=sorted(rule.required),
                now=now,
            )
            before = await rules.lock_rule(tx, tenant=here.tenant, workspace=here.name, key=rule.key)
            if before is None:
                raise AssertionError("the rule was inserted or there in this very transaction")
            if before.id != new_id:
                if must_be_new:
                    raise Conflict(f"there is a rule for {rule.key} already; change that one")
                return before.id, "updated" if await self._change(tx, caller, before, rule, now) else "unchanged"
            deed = Deed("rule", new_id, "created", {"rule": str(rule.key), "enabled": rule.enabled})
            await write_audit(self._kernel, tx, caller, [deed], now)
            return new_id, "created"

        id, change = await self._kernel.db.persist(write)
        return await self.get(here, id), change

    async def _change(self, tx: Tx, caller: Caller, before: ShownRule, rule: Rule, now: datetime) -> bool:
        """Write what is new; False when nothing is."""
        steps = self._stored_steps(rule, before.rule.steps, before.id, now)
        if (before.key, before.enabled, [*before.steps]) == (rule.key, rule.enabled, steps):
            return False
        await rules.update_rule(
            tx,
            id=before.id,
            key=rule.key,
            enabled=rule.enabled,
            steps=steps,
            required=sorted(rule.required),
            now=now,
        )
        deed = Deed("rule", before.id, "updated", {"rule": str(rule.key), "enabled": rule.enabled})
        await write_audit(self._kernel, tx, caller, [deed], now)
        return True

    def _stored_steps(self, rule: Rule, before: Sequence[Step], id: UUID, now: datetime) -> StoredSteps:
        kept = keep_steps(rule.steps, before, now, lambda: self._kernel.new_id(bucket_of_id(id), now))
        return [step_to_json(step) for step in kept]

    async def _switch(self, caller: Caller, id: UUID, *, enabled: bool) -> ShownRule:
        shown = await self.get(caller.workspace, id)
        if shown.enabled is enabled:
            return shown
        key = {"trigger": shown.trigger, "channel": shown.channel, "audience": shown.audience}
        # Read as what is stored: a rule that could not be written any more can still be switched off.
        rule = read_rule({**key, "enabled": enabled, "steps": shown.steps}, is_stored=True)
        return await self._update(caller, id, rule)
