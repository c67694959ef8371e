"""Segments: named audiences, evaluated again each time they are used."""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tidings.domain.caller import Caller
from tidings.domain.errors import CampaignInvalid, Conflict, NotFound, Problem
from tidings.domain.flow.ids import Workspace, bucket_of_id
from tidings.domain.names import problem_of_name
from tidings.domain.paging import ANY_TIME, DEFAULT_LIMIT, Created, check_limit, newest_first, page_of
from tidings.domain.people.audience import Audience, read_audience
from tidings.domain.people.filter_words import audience_in_words
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.kernel.people.references import NamedAudience, name_audience
from tidings.resources.reach import count_audience
from tidings.storage import campaigns, resolve
from tidings.storage.acting import for_caller
from tidings.storage.database import Tx
from tidings.views.campaigns import AudienceCount
from tidings.views.pages import Page
from tidings.views.segments import Segment

__all__ = ["Segments", "together"]

MOST_NAMED = 5
Problems = list[Problem]


@for_caller
class Segments:
    """The segments of every workspace; a segment of another workspace is not found."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def create(self, caller: Caller, given: Mapping[str, object]) -> Segment:
        """Create a segment; raise Conflict if the name is taken."""
        name, audience = await self._read(caller.workspace, given, None)
        now = await self._kernel.clock.now()
        id = self._kernel.new_id(caller.workspace.bucket_of(name), now)
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            await campaigns.insert_segment(
                tx,
                id=id,
                workspace=caller.workspace,
                name=name,
                audience=audience,
                now=now,
            )
            await write_audit(
                self._kernel, tx, caller, [AuditEntry("segment", id, "created", {"name": name}, entry)], now
            )

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def update(self, caller: Caller, id: UUID, given: Mapping[str, object]) -> Segment:
        """Change the name or the audience; the next use of the segment sees the change."""
        name, audience = await self._read(caller.workspace, given, await self.get(caller.workspace, id))
        now = await self._kernel.clock.now()
        entry = self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            changed = await campaigns.change_segment(
                tx,
                id=id,
                workspace=caller.workspace,
                name=name,
                audience=audience,
                now=now,
            )
            if changed:
                audit_entry = AuditEntry("segment", id, "updated", {"fields": sorted(given)}, entry)
                await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)
        return await self.get(caller.workspace, id)

    async def get(self, workspace: Workspace, id: UUID) -> Segment:
        """Return one segment, or raise NotFound."""
        return await self._show(workspace, id, None, str(id))

    async def find(self, workspace: Workspace, name: str) -> Segment:
        """Return one segment by its name, or raise NotFound."""
        return await self._show(workspace, None, name, repr(name))

    async def list(
        self,
        workspace: Workspace,
        *,
        limit: int = DEFAULT_LIMIT,
        created: Created = ANY_TIME,
        cursor: str | None = None,
    ) -> Page[Segment]:
        """Return segments, newest first."""
        check_limit(limit)
        find = partial(
            campaigns.list_segments,
            workspace=workspace,
            span=newest_first(cursor, created),
            limit=limit + 1,
        )
        page = page_of(await self._kernel.db.persist(find, alone=True), limit, lambda one: one.id)
        return Page([_in_words(one) for one in page.items], page.next_cursor)

    async def count(self, workspace: Workspace, id: UUID) -> AudienceCount:
        """Count how many contacts are in a segment at this moment."""
        audience, _ = read_audience((await self.get(workspace, id)).audience)
        return await count_audience(self._kernel, workspace, audience, None)

    async def delete(self, caller: Caller, id: UUID) -> None:
        """Remove a segment; raise Conflict if a campaign names it."""
        shown = await self.get(caller.workspace, id)
        workspace = caller.workspace
        now = await self._kernel.clock.now()
        shard, entry = self._kernel.shard_of(id), self._kernel.new_id(bucket_of_id(id), now)

        async def write(tx: Tx) -> None:
            if await resolve.find_audit(tx, shard=shard, ids=[entry]):
                return
            users = await campaigns.find_segment_users(tx, workspace=workspace, segment_id=str(id), limit=MOST_NAMED)
            if users:
                named = ", ".join(map(repr, users))
                raise Conflict(f"segment {shown.name!r} is the audience of {named}; give them another first")
            if not await campaigns.delete_segment(tx, id=id, workspace=workspace, now=now):
                raise NotFound(f"there is no segment {id}")
            audit_entry = AuditEntry("segment", id, "deleted", {"name": shown.name}, entry)
            await write_audit(self._kernel, tx, caller, [audit_entry], now)

        await self._kernel.db.persist(write)

    async def _show(self, workspace: Workspace, id: UUID | None, name: str | None, told: str) -> Segment:
        find = partial(campaigns.show_segment, workspace=workspace, id=id, name=name)
        found = await self._kernel.db.persist(find, alone=True)
        if found is None:
            raise NotFound(f"there is no segment {told}")
        return _in_words(found)

    async def _read(
        self, workspace: Workspace, given: Mapping[str, object], before: Segment | None
    ) -> tuple[str, Audience]:
        problems = [
            Problem(str(name)[:100], "is not a field of a segment: use name and audience")
            for name in given
            if name not in {"name", "audience", "id", "inWords", "in_words", "createdAt", "updatedAt"}
        ]
        name = given.get("name", before.name if before else None)
        if wrong_name := "is missing: give the segment a name" if name is None else problem_of_name(name):
            problems.append(Problem("name", wrong_name))
        audience, wrong = await self._read_audience(workspace, given, before)
        problems += wrong
        if problems:
            raise CampaignInvalid(problems)
        return str(name).strip(), audience

    async def _read_audience(
        self, workspace: Workspace, given: Mapping[str, object], before: Segment | None
    ) -> tuple[Audience, Problems]:
        """Read the audience; contacts that were stored before are not looked up again."""
        if "audience" not in given and before:
            return read_audience(before.audience, segments=False)
        named = await name_audience(self._kernel, workspace, given.get("audience"), "audience")
        audience, problems = read_audience(named.given, segments=False)
        return audience, together(named, problems)


def _in_words(found: Segment) -> Segment:
    return replace(found, in_words=audience_in_words(read_audience(found.audience)[0]))


def together(named: NamedAudience, problems: Sequence[Problem]) -> list[Problem]:
    """Combine the problems of an audience, one for each place, with the named contacts that do not exist."""
    unknown = {one.place: one for one in (*named.unknown, *named.unknown_exclusions)}
    return [*unknown.values(), *(one for one in problems if one.place not in unknown)][:100]
