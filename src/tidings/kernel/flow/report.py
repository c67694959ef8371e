"""Report that an execution failed: its workflow's `onError` is an item like any other, planned once.

Reached from plan.py, and from release.py, which keeps a failed execution in the queue until that item exists.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from tidings.domain.flow.execution import ExecutionState, ExecutionStatus, ItemState
from tidings.domain.flow.graph import ON_ERROR, Doer, Graph
from tidings.kernel.kernel import Kernel
from tidings.storage import load
from tidings.storage.load import LoadedExecution

Failure = Mapping[str, str]


def report_of(graph: Graph, execution: ExecutionState, items: Iterable[ItemState]) -> Doer | None:
    """The `onError` that is still to be planned for a failed execution; None once it has been planned."""
    if graph.on_error is None or execution.status is not ExecutionStatus.FAILED:
        return None
    return None if any(item.node == ON_ERROR for item in items) else graph.on_error


async def read_failures(kernel: Kernel, failed: Sequence[LoadedExecution]) -> Mapping[UUID, Failure]:
    """Read what the templates of `onError` see as `error`, by execution."""
    if not failed:
        return {}
    read = partial(load.name_workflows, versions=sorted({one.version_id for one in failed}))
    names = await kernel.db.persist(read, alone=True)
    return {one.execution.id: _failure(one.execution, names[one.version_id]) for one in failed}


def _failure(execution: ExecutionState, workflow: str) -> Failure:
    return {
        "message": execution.error or "",
        "node": execution.error_node or "",
        "execution": str(execution.id),
        "workflow": workflow,
    }
