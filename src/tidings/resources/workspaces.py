"""What the operator sets for tenants and workspaces: weights, private addresses that may be called, phone regions.

A running process sees a change within seconds: nothing here is kept longer than that anywhere.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from uuid import UUID

from tidings.domain.caller import Caller
from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.ids import Workspace, length_prefixed, make_id
from tidings.domain.messages import quoted
from tidings.domain.names import problem_of_name
from tidings.domain.people.region import read_region
from tidings.domain.private_addresses import check_private_addresses
from tidings.extras import require_extra
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage.audit import AuditEntry, write_audit
from tidings.storage import workspaces
from tidings.storage.acting import for_everyone
from tidings.storage.database import Tx
from tidings.views.workspaces import TenantSettings, WorkspaceSettings

LARGEST_WEIGHT = 1_000
Listed = list[WorkspaceSettings]
Tenants = list[TenantSettings]


class TenancySettings:
    """The workspaces of every tenant, as far as their settings go. The edge decides who may see and set whose."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @for_everyone
    async def list(self, tenant: str | None = None) -> Listed:
        """Return every workspace of a tenant, or of all, that has settings, keys, workflows or functions."""
        return await self._kernel.db.persist(partial(workspaces.list_workspaces, tenant=tenant), alone=True)

    @for_everyone
    async def get(self, workspace: Workspace) -> WorkspaceSettings:
        """Return the settings of a workspace; one that nobody has used yet has the defaults."""
        read = partial(workspaces.read_workspace_settings, workspace=workspace)
        return _shown(workspace, await self._kernel.db.persist(read, alone=True))

    @for_everyone
    async def set(
        self,
        caller: Caller,
        workspace: Workspace,
        *,
        weight: int | None = None,
        private_addresses: Sequence[str] | None = None,
        phone_region: str | None = None,
    ) -> WorkspaceSettings:
        """Set what is given, and leave the rest; `private_addresses` is the whole list, an empty region none."""
        _check(weight, {"tenant": workspace.tenant, "workspace": workspace.name})
        opened = None if private_addresses is None else check_private_addresses(private_addresses)
        region = _region(phone_region) if phone_region else phone_region
        given = {"weight": weight, "privateAddresses": opened, "phoneRegion": region}
        now = await self._kernel.clock.now()
        entry = self._entry(workspace, "workspace", {key: one for key, one in given.items() if one is not None}, now)

        async def write(tx: Tx) -> WorkspaceSettings:
            await workspaces.put_workspace_settings(
                tx, workspace=workspace, weight=weight, private_addresses=opened, phone_region=region, now=now
            )
            await write_audit(self._kernel, tx, Caller(workspace, caller.actor), [entry], now)
            return _shown(workspace, await workspaces.read_workspace_settings(tx, workspace=workspace))

        written = await self._kernel.db.persist(write)
        self._kernel.regions.forget()
        return written

    @for_everyone
    async def list_tenants(self) -> Tenants:
        """Return every tenant that has settings, keys or workflows."""
        return await self._kernel.db.persist(workspaces.list_tenants, alone=True)

    @for_everyone
    async def set_tenant(self, caller: Caller, tenant: str, weight: int) -> TenantSettings:
        """Set a tenant's weight."""
        _check(weight, {"tenant": tenant})
        home, now = Workspace(tenant), await self._kernel.clock.now()
        entry = self._entry(home, "tenant", {"weight": weight}, now)

        async def write(tx: Tx) -> TenantSettings:
            written = await workspaces.put_tenant_weight(tx, tenant=tenant, weight=weight, now=now)
            await write_audit(self._kernel, tx, Caller(home, caller.actor), [entry], now)
            return written

        return await self._kernel.db.persist(write)

    def _entry(self, workspace: Workspace, kind: str, given: "dict[str, object]", now: datetime) -> AuditEntry:
        # The id of the line is made before the transaction: a repeat after a lost answer writes the same line.
        line = self._kernel.new_id(workspace.bucket_of(kind), now)
        return AuditEntry(kind, _subject_of(workspace, kind), "set", given, line)


def _shown(workspace: Workspace, stored: workspaces.StoredSettings) -> WorkspaceSettings:
    return WorkspaceSettings(
        tenant=workspace.tenant,
        workspace=workspace.name,
        weight=stored.weight,
        tenant_weight=stored.tenant_weight,
        private_addresses=stored.private_addresses,
        phone_region=stored.phone_region,
        updated_at=stored.updated_at,
    )


def _check(weight: int | None, names: "dict[str, str]") -> None:
    problems = [Problem(place, wrong) for place, name in names.items() if (wrong := problem_of_name(name))]
    if weight is not None and not 1 <= weight <= LARGEST_WEIGHT:
        problems.append(Problem("weight", f"{weight} is not from 1 to {LARGEST_WEIGHT}"))
    if problems:
        raise FieldsInvalid(problems)


def _region(given: str) -> str:
    """Return a country, once what reads its numbers is installed."""
    try:
        region = read_region(given)
    except ValueError as error:
        raise FieldsInvalid([Problem("phoneRegion", f"{quoted(given)} is not a country: {error}")]) from None
    require_extra("phone")
    return region


def _subject_of(workspace: Workspace, kind: str) -> UUID:
    """Return the id under which the audit log knows a workspace or a tenant, which have only names."""
    names = length_prefixed((kind, workspace.tenant, workspace.name))
    bits = int.from_bytes(sha256(names).digest()[:8], "big")
    return make_id(workspace.bucket_of(kind), datetime.fromtimestamp(0, UTC), bits)
