"""Rules: create, change, enable, disable and delete them. Every change is in the audit log.

domain/rules/rule.py reads and checks a rule; kernel/start/event.py routes by the rules that are stored when an event
comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.channels import STEP_CHANNELS
from tidings.domain.content.linking import frozen_json
from tidings.domain.errors import Conflict, DefinitionInvalid, InputInvalid, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.flow.item import Channel
from tidings.domain.messages import did_you_mean, quoted
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first, page_of
from tidings.domain.rules.key import RuleKey
from tidings.domain.rules.rule import RuleDefinition, RuleStep, keep_steps, read_rule, step_to_json
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.phone_region import numbers_of
from tidings.kernel.templates import know_stored_templates, link_templates
from tidings.resources.pages import id_of
from tidings.resources.readiness import find_unready
from tidings.resources.rule_matrix import show_matrix
from tidings.storage import resolve, rules
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.rules import FoundRule
from tidings.views.pages import Page
from tidings.views.rules import Rule, RuleAudience, RuleMatrix

__all__ = ["Change", "RuleFilter", "Rules"]

Json = Mapping[str, object]
Problems = list[Problem]
Shown = list[Rule]
StoredSteps = list[dict[str, object]]
Change = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules to list; None stands for any."""

    trigger: str | None = None
    channel: str | None = None
    audience: str | None = None
    enabled: bool | None = None

    def check(self) -> None:
        """Refuse a channel or an audience that no rule can have: the answer would always be empty."""
        for name, given, known in (
            ("channel", self.channel, STEP_CHANNELS),
            ("audience", self.audience, RuleAudience),
        ):
            if given is not None and given not in [*known]:
                meant = did_you_mean(given, known)
                raise InputInvalid(f"{name} {quoted(given)}: use one of {', '.join(known)}{meant}")


@for_caller
class Rules:
    """The rules of every workspace; a rule of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: Json) -> Rule:
        """Create a rule; raise Conflict if one exists for the same trigger, channel and audience."""
        shown, change = await self._put(caller, await self._read(caller.workspace, given), must_be_new=True)
        if change != "created":
            raise AssertionError("a rule that was there is a conflict")
        return shown

    async def apply(self, caller: Caller, given: Json) -> tuple[Rule, Change]:
        """Create or replace the rule for this trigger, channel and audience."""
        return await self._put(caller, await self._read(caller.workspace, given), must_be_new=False)

    async def update(self, caller: Caller, id: UUID, given: Json) -> Rule:
        """Replace a rule; a step that is named by its id, or says the same as before, keeps its id."""
        return await self._update(caller, id, await self._read(caller.workspace, given))

    async def _update(self, caller: Caller, id: UUID, rule: RuleDefinition) -> Rule:
        here, now = caller.workspace, await self._kernel.clock.now()

        async def write(tx: Tx) -> None:
            before = await rules.lock_rule(tx, workspace=here, id=id)
            if before is None:
                raise NotFound(f"there is no rule {id}")
            await self._change(tx, caller, before, rule, now)

        await self._kernel.db.persist(write)
        return await self.get(here, id)

    async def enable(self, caller: Caller, id: UUID) -> Rule:
        """Let a rule send."""
        return await self._switch(caller, id, enabled=True)

    async def disable(self, caller: Caller, id: UUID) -> Rule:
        """Suppress a rule's channel for its audience; what was enqueued before is still sent."""
        return await self._switch(caller, id, enabled=False)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Remove a rule; its trigger uses the fallback for this channel and audience, if one is registered."""
        found, now = await self._load(caller.workspace, id), await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return  # done already, by a commit whose answer was lost
            if not await rules.delete_rule(tx, workspace=caller.workspace, id=id):
                raise NotFound(f"there is no rule {id}")
            audit_entry = AuditEntry("rule", id, "deleted", {"rule": str(found.key)}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def get(self, workspace: Workspace, id: UUID) -> Rule:
        """Return one rule by id, or raise NotFound."""
        [shown] = await self._shown(workspace, [await self._load(workspace, id)])
        return shown

    async def find(self, workspace: Workspace, key: RuleKey) -> Rule:
        """Return one rule by its key, or raise NotFound."""
        find = partial(rules.find_rule, workspace=workspace, **key._asdict())
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no rule for {key} in workspace {workspace.name!r}")
        [shown] = await self._shown(workspace, [found])
        return shown

    async def list(
        self,
        workspace: Workspace,
        where: RuleFilter,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Rule]:
        """Return rules, newest first."""
        check_limit(limit)
        where.check()
        find = partial(
            rules.list_rules,
            workspace=workspace,
            trigger=where.trigger,
            channel=where.channel,
            audience=where.audience,
            enabled=where.enabled,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        page = page_of(await self._kernel.db.persist(find, alone=True), limit, id_of)
        return Page(await self._shown(workspace, page.items), page.next_cursor)

    async def matrix(
        self, workspace: Workspace, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> RuleMatrix:
        """Return what becomes of each trigger over each channel for each audience, a page of triggers at a time."""
        check_limit(limit)
        return await show_matrix(self._kernel, workspace, limit=limit, cursor=cursor)

    async def check(self, workspace: Workspace, given: Json) -> Problems:
        """Return every problem of a rule, with those of what it renders; nothing is stored."""
        try:
            await self._read(workspace, given)
        except DefinitionInvalid as error:
            return [*error.problems]
        return []

    @staticmethod
    def validate(given: object) -> Problems:
        """Return every problem of a rule, found in this very process; nothing is stored."""
        try:
            read_rule(given)
        except DefinitionInvalid as error:
            return [*error.problems]
        return []

    async def _read(self, workspace: Workspace, given: object) -> RuleDefinition:
        if not isinstance(given, Mapping):
            return read_rule(given)
        linked = await link_templates(self._kernel, workspace, given)
        with await numbers_of(self._kernel, workspace):
            return replace(linked.read(read_rule), frozen=linked.frozen)

    async def _put(self, caller: Caller, rule: RuleDefinition, *, must_be_new: bool) -> tuple[Rule, Change]:
        here, now = caller.workspace, await self._kernel.clock.now()
        new_id = self._kernel.new_id(here.bucket_of(str(rule.key)), now)  # made once: a repeat knows its own by it
        steps = self._stored_steps(rule, (), new_id, now)

        async def write(tx: Tx) -> tuple[UUID, Change]:
            await rules.insert_rule(
                tx,
                id=new_id,
                workspace=here,
                **rule.key._asdict(),
                enabled=rule.enabled,
                steps=steps,
                templates=frozen_json(rule.frozen),
                required=sorted(rule.required),
                now=now,
            )
            before = await rules.lock_rule(tx, workspace=here, **rule.key._asdict())
            if before is None:
                raise AssertionError("the rule was inserted or there in this very transaction")
            if before.id != new_id:
                if must_be_new:
                    raise Conflict(f"there is a rule for {rule.key} already; change that one")
                return before.id, "updated" if await self._change(tx, caller, before, rule, now) else "unchanged"
            audit_entry = AuditEntry("rule", new_id, "created", {"rule": str(rule.key), "enabled": rule.enabled})
            await write_audit(self._kernel, tx, caller, [audit_entry], now)
            return new_id, "created"

        id, change = await self._kernel.db.persist(write)
        return await self.get(here, id), change

    async def _change(self, tx: Tx, caller: Caller, before: FoundRule, rule: RuleDefinition, now: datetime) -> bool:
        """Write what is new; return False when nothing is."""
        steps = self._stored_steps(rule, before.definition.steps, before.id, now)
        templates = frozen_json(rule.frozen)
        if (before.key, before.enabled, [*before.steps], before.templates) == (
            rule.key,
            rule.enabled,
            steps,
            templates,
        ):
            return False
        await rules.update_rule(
            tx,
            id=before.id,
            key=rule.key,
            enabled=rule.enabled,
            steps=steps,
            templates=templates,
            required=sorted(rule.required),
            now=now,
        )
        audit_entry = AuditEntry("rule", before.id, "updated", {"rule": str(rule.key), "enabled": rule.enabled})
        await write_audit(self._kernel, tx, caller, [audit_entry], now)
        return True

    def _stored_steps(self, rule: RuleDefinition, before: Sequence[RuleStep], id: UUID, now: datetime) -> StoredSteps:
        kept = keep_steps(rule.steps, before, now, lambda: self._kernel.new_id(bucket_of_id(id), now))
        return [step_to_json(step) for step in kept]

    async def _switch(self, caller: Caller, id: UUID, *, enabled: bool) -> Rule:
        found = await self._load(caller.workspace, id)
        if found.enabled is enabled:
            return await self.get(caller.workspace, id)
        # Read without the checks for new rules: a rule that could not be written any more can still be switched off.
        rule = replace(found.definition, enabled=enabled)
        sources = [list(step.every_template.values()) for step in rule.steps]
        await know_stored_templates(self._kernel, caller.workspace, sources)
        return await self._update(caller, id, rule)

    async def _load(self, workspace: Workspace, id: UUID) -> FoundRule:
        find = partial(rules.find_rule, workspace=workspace, id=id)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no rule {id}")
        return found

    async def _shown(self, workspace: Workspace, found: Sequence[FoundRule]) -> Shown:
        """Return rules with those of their channels that no provider is set up for."""
        unready = await find_unready(self._kernel, workspace, [channel for one in found for channel in one.channels])
        return [_shown(one, [channel for channel in one.channels if channel in unready]) for one in found]


def _shown(found: FoundRule, not_ready: Sequence[Channel]) -> Rule:
    return Rule(
        id=found.id,
        trigger=found.trigger,
        channel=found.channel,
        audience=found.audience,
        enabled=found.enabled,
        steps=found.steps,
        templates={name: one.version for name, one in found.definition.frozen.items()},
        not_ready=not_ready,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )
