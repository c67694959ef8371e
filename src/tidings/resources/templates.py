"""Templates: write, version, try out and remove what messages render. Every change is in the audit log.

What is published with a template keeps the version it was published with (domain/content/linking.py); publishing it
again takes the newest.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.content.linking import Frozen, FrozenTemplate, names_rendered_by, uses_in
from tidings.domain.content.template import RenderFailed
from tidings.domain.content.template_form import WrittenTemplate, check_template, read_template
from tidings.domain.errors import Conflict, NotFound
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, newest_first
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.render.renderer import RenderJob
from tidings.kernel.start.check import check_data
from tidings.kernel.start.define import Change
from tidings.kernel.templates import link_templates
from tidings.resources.pages import newest
from tidings.storage import resolve, templates
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.storage.templates import LockedTemplate
from tidings.views.pages import Page
from tidings.views.templates import (
    NamedTemplate,
    TemplateFormat,
    TemplateKind,
    TemplatePreview,
    TemplateUser,
    TemplateUserKind,
    TemplateVersion,
)

__all__ = ["Change", "Templates"]

MOST_NAMED = 5
SAMPLE = "<p>…</p>"
"""What a layout is tried out with unless something else is given."""
HTML = "html"

Json = Mapping[str, object]
Versions = list[TemplateVersion]
Users = list[TemplateUser]


@for_caller
class Templates:
    """The templates of every workspace; a template of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: Json) -> NamedTemplate:
        """Create a template with its first version; raise Conflict if the name is taken."""
        made, _ = await self._put(caller, await self._read(caller.workspace, given), must_be_new=True)
        return made

    async def apply(self, caller: Caller, given: Json) -> tuple[NamedTemplate, Change]:
        """Create the template of this name, or have it say this: a new version, unless the newest says the same."""
        name = given.get("name")
        before = await self._show(caller.workspace, name=name) if isinstance(name, str) else None
        written = await self._read(caller.workspace, given, before)
        return await self._put(caller, written)

    async def update(self, caller: Caller, id: UUID, given: Json) -> NamedTemplate:
        """Have a template say something else: a new version; what is published keeps the one it has."""
        before = await self.get(caller.workspace, id)
        made, _ = await self._put(caller, await self._read(caller.workspace, given, before))
        return made

    async def copy(self, caller: Caller, frozen: Frozen) -> None:
        """Store templates as they are in another database, for a simulation."""
        for name, one in frozen.items():
            await self._put(caller, WrittenTemplate(name, one.kind, one.format, one.text))

    async def get(self, workspace: Workspace, id: UUID) -> NamedTemplate:
        """Return one template by id, with what uses it, or raise NotFound."""
        return await self._with_users(workspace, await self._show(workspace, id=id), str(id))

    async def find(self, workspace: Workspace, name: str) -> NamedTemplate:
        """Return one template by name, with what uses it, or raise NotFound."""
        return await self._with_users(workspace, await self._show(workspace, name=name), repr(name))

    async def list(
        self,
        workspace: Workspace,
        *,
        kind: TemplateKind | None = None,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[NamedTemplate]:
        """Return templates, newest first."""
        find = partial(templates.list_templates, workspace=workspace, kind=kind)
        return await newest(self._kernel, find, span=newest_first(cursor, created), limit=limit)

    async def versions(self, workspace: Workspace, id: UUID) -> Versions:
        """Return the versions of a template, newest first."""
        await self.get(workspace, id)
        list_all = partial(templates.list_template_versions, workspace=workspace, template_id=id)
        return await self._kernel.db.persist(list_all, alone=True)

    async def preview(
        self, workspace: Workspace, id: UUID, data: Json, *, version: int | None = None, content: str = SAMPLE
    ) -> TemplatePreview:
        """Return what a template prints with this data at this moment; a layout wraps `content`."""
        check_data(data, "data")
        shown = await self.get(workspace, id)
        found = next((one for one in await self.versions(workspace, id) if version in (None, one.number)), None)
        if found is None:
            raise NotFound(f"template {shown.name!r} has no version {version}; it has 1 to {shown.version}")
        own = FrozenTemplate(found.number, found.text, shown.kind, found.format)
        text = {HTML: content, "layout": shown.name} if shown.kind is TemplateKind.LAYOUT else {HTML: found.text}
        linked = await link_templates(self._kernel, workspace, text, {shown.name: own})
        escaped = frozenset({HTML}) if found.format is TemplateFormat.HTML else frozenset[str]()
        now = await self._kernel.clock.now()
        source = {HTML: str(linked.given[HTML])}
        [result] = await self._kernel.renderer.render([RenderJob(source, data, escaped, now, workspace)])
        if isinstance(result, RenderFailed):
            return TemplatePreview(version=found.number, error=result.reason.removeprefix(f"{HTML}: "))
        return TemplatePreview(version=found.number, text=result.fields[HTML])

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Hide a template; raise Conflict while anything that is published uses it."""
        shown = await self.get(caller.workspace, id)
        now = await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)
        if shown.users:
            named = ", ".join(f"{one.kind} {one.name!r}" for one in shown.users[:MOST_NAMED])
            more = f" and {len(shown.users) - MOST_NAMED} more" if len(shown.users) > MOST_NAMED else ""
            raise Conflict(f"template {shown.name!r} is used by {named}{more}; change them first")

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return  # done already, by a commit whose answer was lost
            if not await templates.delete_template(tx, workspace=caller.workspace, id=id, now=now):
                raise NotFound(f"there is no template {id}")
            audit_entry = AuditEntry("template", id, "deleted", {"name": shown.name}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def _read(self, workspace: Workspace, given: Json, before: NamedTemplate | None = None) -> WrittenTemplate:
        written = read_template(given, before)
        own = {written.name: written.frozen}
        linked = await link_templates(self._kernel, workspace, {"text": written.text}, own)
        linked.read(lambda found: check_template(written, str(found["text"])))
        return written

    async def _put(
        self, caller: Caller, written: WrittenTemplate, *, must_be_new: bool = False
    ) -> tuple[NamedTemplate, Change]:
        here, now = caller.workspace, await self._kernel.clock.now()
        new_id = self._kernel.new_id(here.bucket_of(written.name), now)  # made once: a repeat knows its own by it

        async def write(tx: Tx) -> tuple[UUID, Change]:
            await templates.insert_template(
                tx,
                id=new_id,
                workspace=here,
                name=written.name,
                kind=written.kind,
                description=written.description,
                now=now,
            )
            locked = await templates.lock_template(tx, workspace=here, name=written.name)
            if locked is None:
                raise AssertionError("the template was inserted or there in this very transaction")
            if must_be_new and locked.id != new_id:
                raise Conflict(f"there is a template {written.name!r} already; change that one, or choose another name")
            return locked.id, await self._change(tx, caller, locked, written, now, is_new=locked.id == new_id)

        id, change = await self._kernel.db.persist(write)
        found = await self._show(here, id=id)
        if found is None:
            raise NotFound(f"there is no template {id}")
        return found, change

    async def _change(
        self,
        tx: Tx,
        caller: Caller,
        locked: LockedTemplate,
        written: WrittenTemplate,
        now: datetime,
        *,
        is_new: bool,
    ) -> Change:
        latest = await templates.latest_template_version(tx, template_id=locked.id)
        says_the_same = latest is not None and (latest.format, latest.text) == (written.format, written.text)
        if says_the_same and written.description in (None, locked.description):
            return "created" if is_new else "unchanged"
        number = latest.number if latest and says_the_same else latest.number + 1 if latest else 1
        if not says_the_same:
            await templates.insert_template_version(
                tx,
                workspace=caller.workspace,
                template_id=locked.id,
                number=number,
                format=written.format,
                text=written.text,
                renders=names_rendered_by(written.text),
                created_by=caller.actor,
                now=now,
            )
        await templates.describe_template(tx, id=locked.id, description=written.description, now=now)
        change: Change = "created" if is_new else "updated"
        detail = {"name": locked.name, "version": number}
        await write_audit(self._kernel, tx, caller, [AuditEntry("template", locked.id, change, detail)], now)
        return change

    async def _show(
        self, workspace: Workspace, id: UUID | None = None, name: str | None = None
    ) -> NamedTemplate | None:
        find = partial(templates.show_template, workspace=workspace, id=id, name=name)
        return await self._kernel.db.persist(find, alone=True)

    async def _with_users(self, workspace: Workspace, found: NamedTemplate | None, told: str) -> NamedTemplate:
        if found is None:
            raise NotFound(f"there is no template {told}")
        return replace(found, users=await self._users(workspace, found.name))

    async def _users(self, workspace: Workspace, name: str) -> Users:
        """Return what uses a template: what keeps a version of it, and what takes the newest when its time comes."""
        keep = partial(templates.list_template_users, workspace=workspace, name=name)
        keeping = await self._kernel.db.persist(keep, alone=True)
        rendering = await self._rendering(workspace, name)
        names = [name, *(one.name for one in rendering)]
        look = partial(templates.list_campaigns_with_words, workspace=workspace, words=names)
        campaigns = [
            TemplateUser(kind=TemplateUserKind.CAMPAIGN, id=one.id, name=one.name)
            for one in await self._kernel.db.persist(look, alone=True)
            if any(use.name in names for use in uses_in(one.content))
        ]
        return [*keeping, *await self._drafts(workspace, names, {one.id for one in keeping}), *campaigns, *rendering]

    async def _drafts(self, workspace: Workspace, names: Sequence[str], keeping: Collection[UUID]) -> Users:
        """Return the sequences that keep no version yet and whose drafts use one of the templates."""
        look = partial(templates.list_drafts_with_words, workspace=workspace, words=names)
        found = {
            one.id: TemplateUser(kind=TemplateUserKind.SEQUENCE, id=one.id, name=one.name)
            for one in await self._kernel.db.persist(look, alone=True)
            if any(use.name in names for use in uses_in({"to": one.to, "subject": one.subject, "content": one.content}))
        }
        return [one for id, one in found.items() if id not in keeping]

    async def _rendering(self, workspace: Workspace, name: str) -> Users:
        """Return the templates that render one, and those that render them in turn."""
        found: dict[str, TemplateUser] = {}
        names: Sequence[str] = [name]
        while names:
            look = partial(templates.list_rendering_templates, workspace=workspace, names=names)
            new = [one for one in await self._kernel.db.persist(look, alone=True) if one.name not in found]
            found |= {one.name: TemplateUser(kind=TemplateUserKind.TEMPLATE, id=one.id, name=one.name) for one in new}
            names = [one.name for one in new]
        return list(found.values())
