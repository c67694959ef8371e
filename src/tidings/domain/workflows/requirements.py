"""What a trigger's data must have: the fields a workflow names, and every variable that its templates print.

Read from the templates without rendering them, so a trigger is refused before anything is stored. A version's
requirements never change; kernel/start/trigger.py computes them once, and they are stored with it for the SQL function.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import assert_never

from tidings.domain.content.template import has_path, missing_variables, required_variables
from tidings.domain.errors import DataMissing
from tidings.domain.flow.graph import Branch, Delay, Function, Graph, Node, Send
from tidings.domain.people.contact import CONTACT


@dataclass(frozen=True, slots=True)
class Requirements:
    """The dotted paths that the data of every trigger of one version must have; a null counts.

    Paths of the contact are not looked for in the data of a trigger that names one.
    """

    fields: frozenset[str]
    variables: frozenset[str]
    of_contact: frozenset[str] = frozenset()

    def are_met_by(self, data: Mapping[str, object], *, names_contact: bool = False) -> bool:
        """Whether nothing is missing; looks no further than the first thing that is."""
        wanted = chain(self.fields, self.variables, () if names_contact else self.of_contact)
        return all(map(partial(has_path, data), wanted))

    def missing(self, data: Mapping[str, object], *, names_contact: bool = False) -> DataMissing | None:
        """Everything that the data lacks, or None; what is a required field is not named a second time."""
        fields = missing_variables(self.fields, data)
        variables = missing_variables(self.variables | (frozenset() if names_contact else self.of_contact), data)
        return DataMissing(fields, variables - fields) if fields or variables else None


def requirements_of(graph: Graph) -> Requirements:
    """Read every template of a graph; so slow that its answer is worth keeping."""
    sources = templates_in(graph)
    paths = {path for source in sources for path in required_variables(source)}
    if graph.on_error:
        told = {path for source in templates_of(graph.on_error) for path in required_variables(source)}
        paths |= {path for path in told if path.partition(".")[0] != "error"}  # which is the failure itself
    fields = frozenset(graph.required_fields)
    of_contact = set(filter(_is_of_contact, fields))
    if any(map(_is_of_contact, paths)) or any(isinstance(node, Send) and not node.to for node in graph.nodes.values()):
        of_contact.add(CONTACT)
    return Requirements(
        fields - of_contact, frozenset(path for path in paths if not _is_of_contact(path)), frozenset(of_contact)
    )


def required_of(graph: Graph) -> frozenset[str]:
    """Every dotted path that the data must have, as it is stored with a version."""
    requirements = requirements_of(graph)
    return requirements.fields | requirements.variables | requirements.of_contact


def templates_in(graph: Graph) -> frozenset[str]:
    """Every template of a graph whose variables must be there."""
    return frozenset(source for node in graph.nodes.values() for source in templates_of(node))


def templates_of(node: Node) -> Iterator[str]:
    """The templates of a node whose variables must be there; what a condition only tests may be absent."""
    match node:
        case Send() | Function():
            yield from node.every_template.values()
        case Delay():
            if node.until is not None:
                yield node.until
        case Branch():
            return
        case _:
            assert_never(node)


def _is_of_contact(path: str) -> bool:
    return path.partition(".")[0] == CONTACT
