"""Check a workflow and freeze it as a version. The first arrow: everything later names a version for ever (rule 16)."""

from collections.abc import Mapping

from tidings.domain.definition import parse_workflow
from tidings.domain.errors import InputInvalid
from tidings.domain.ids import Workspace
from tidings.domain.storable import is_storable
from tidings.kernel.kernel import Kernel
from tidings.storage import define
from tidings.storage.database import Tx
from tidings.storage.define import Version


async def define_workflow(kernel: Kernel, workspace: Workspace, name: str, definition: Mapping[str, object]) -> Version:
    """Store a new version, unless the newest one says the same already."""
    if not name or len(name) > 200 or not is_storable(name):
        raise InputInvalid(f"{name!r} is not a name for a workflow: use 1 to 200 characters, none of them NUL")
    parse_workflow(definition)
    now = await kernel.clock.now()
    bucket = workspace.bucket_of(name)

    async def write(tx: Tx) -> Version:
        await define.insert_workflow(
            tx, id=kernel.new_id(bucket, now), tenant=workspace.tenant, workspace=workspace.name, name=name, now=now
        )
        workflow_id = await define.lock_workflow(tx, tenant=workspace.tenant, workspace=workspace.name, name=name)
        if workflow_id is None:
            raise AssertionError("the workflow was inserted or there in this very transaction")
        latest = await define.latest_version(tx, workflow_id=workflow_id)
        if latest and latest.definition == definition:
            return latest
        version = Version(kernel.new_id(bucket, now), latest.number + 1 if latest else 1, definition)
        await define.insert_version(
            tx, id=version.id, workflow_id=workflow_id, number=version.number, definition=definition, now=now
        )
        await define.touch_workflow(tx, workflow_id=workflow_id, now=now)
        return version

    return await kernel.db.persist(write)
