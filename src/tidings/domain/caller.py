"""Who asks: every change is made for somebody, in one workspace, and the audit log says by whom."""

from dataclasses import dataclass

from tidings.domain.flow.ids import Workspace


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody at the door: the workspace they are in, and the name that goes into the audit log."""

    workspace: Workspace
    actor: str
