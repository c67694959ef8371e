"""The caller: every change is made by somebody, in one workspace, and the audit log says by whom."""

from dataclasses import dataclass

from tidings.domain.flow.ids import Workspace


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request: their workspace, and the name that goes into the audit log."""

    workspace: Workspace
    actor: str
