"""What there is, by status: of the whole installation, for its operator, and of one workspace."""

from tidings.domain.flow.ids import Workspace
from tidings.kernel.kernel import Kernel
from tidings.kernel.manage import observe
from tidings.kernel.manage.observe import Totals

__all__ = ["Health", "Totals"]
from tidings.storage.acting import for_caller, for_everyone


@for_caller
class Health:
    """Counts everything."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @for_everyone
    async def totals(self) -> Totals:
        """Count everything, by status; the more there is, the longer it takes."""
        return await observe.totals(self._kernel)

    async def own_totals(self, workspace: Workspace) -> Totals:
        """Count what a workspace has, by status, without reading what others have; the queue is left out."""
        return await observe.own_totals(self._kernel, workspace)
