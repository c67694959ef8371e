"""The state of the whole system, for its operator; workspaces play no part."""

from tidings.kernel.kernel import Kernel
from tidings.kernel.manage import observe
from tidings.kernel.manage.observe import Totals

__all__ = ["Health", "Totals"]


class Health:
    """Counts over all workspaces together."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def totals(self) -> Totals:
        """Count everything, by status; the more there is, the longer it takes."""
        return await observe.totals(self._kernel)
