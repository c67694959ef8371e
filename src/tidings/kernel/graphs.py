"""The graphs of frozen versions: read and parsed once in a process, since a version never changes."""

from collections.abc import Mapping, Set
from uuid import UUID

from tidings.domain.flow.graph import Graph
from tidings.domain.workflows.definition import parse_workflow
from tidings.kernel.kernel import Kernel
from tidings.storage import load
from tidings.storage.database import Tx


def graph_of(kernel: Kernel, version_id: UUID, definition: Mapping[str, object]) -> Graph:
    """The graph of a frozen version, parsed once."""
    if version_id not in kernel.graphs:
        kernel.graphs[version_id] = parse_workflow(definition, is_stored=True)
    return kernel.graphs[version_id]


async def load_graphs(kernel: Kernel, tx: Tx, versions: Set[UUID]) -> None:
    """Read those versions that were not read before."""
    if missing := versions - kernel.graphs.keys():
        for id, definition in (await load.load_versions(tx, ids=list(missing))).items():
            graph_of(kernel, id, definition)
