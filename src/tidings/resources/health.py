"""How the whole system stands, for whoever runs it: it knows no workspaces."""

from tidings.kernel.kernel import Kernel
from tidings.kernel.manage import observe
from tidings.kernel.manage.observe import Totals

__all__ = ["Health", "Totals"]


class Health:
    """What there is in all workspaces together."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def totals(self) -> Totals:
        """Count everything, by status; takes the longer the more there is."""
        return await observe.totals(self._kernel)
