"""Check a sequence that is being written as publishing will: its steps as a whole, with all that they render."""

from collections.abc import Mapping, Sequence

from tidings.domain.errors import DefinitionInvalid, Problem
from tidings.domain.flow.ids import Workspace
from tidings.domain.sequences.form import placed
from tidings.domain.workflows.definition import parse_workflow
from tidings.kernel.kernel import Kernel
from tidings.kernel.templates import link_templates

Json = Mapping[str, object]


async def problems_of_sequence(
    kernel: Kernel, workspace: Workspace, settings: Json, steps: Sequence[Json]
) -> list[Problem]:
    """Return every problem that publishing these settings and steps would meet; nothing is stored."""
    numbered = [{"id": str(place), **placed(step, place)} for place, step in enumerate(steps, start=1)]
    try:
        linked = await link_templates(kernel, workspace, {"sequence": settings, "steps": numbered})
        linked.read(parse_workflow)
    except DefinitionInvalid as error:
        return [*error.problems]
    return []
