"""The names that a template or condition may use, for completion: of a definition as it is written, right or wrong.

What a template names already is known to its author as data; the rest is what contacts, nodes, events and campaigns
provide. A template that does not parse names nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from tidings.domain.channels import CONTENT_FIELDS
from tidings.domain.content.nested import templates_in
from tidings.domain.content.template import required_variables
from tidings.domain.content.template_facts import known_facts
from tidings.domain.errors import TemplateInvalid
from tidings.domain.flow.graph import ON_ERROR, NodeType
from tidings.domain.people.contact import ADDRESS_FIELDS, CONTACT
from tidings.domain.people.contact_fields import TEMPLATE_FIELDS
from tidings.views.rules import RuleAudience
from tidings.views.workflows import Origin, Variable

Raw = Mapping[str, object]
OF_A_SEND = ("status", "messageId", "at")
OF_A_PERSON = tuple(dict.fromkeys(("name", *(one for fields in ADDRESS_FIELDS.values() for one in fields))))
OF_AN_ERROR = ("execution", "workflow", "message", "node")
MOST_OF_DATA = 500
MOST_READ_HERE = 20_000
"""Characters of templates that are read in this process; who checks has had the facts of larger ones found."""
DEEPEST_DATA = 4
MOST_RESULTS = 2_000
"""An editor that completes names needs no more, and the answer to a definition of any size stays small."""
_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_GIVEN = {CONTACT, "vars", "error", "campaign", *RuleAudience}


def names_of_workflow(raw: object, at: str | None = None) -> list[Variable]:
    """Return what is known in a workflow, or at one of its nodes: there, of others only what leads to it."""
    if not isinstance(raw, Mapping):
        return []
    nodes = [*_nodes_in(raw)]
    before = None if at is None else _before(raw, [id for id, _ in nodes], at)
    results = [one for id, node in nodes if before is None or id in before for one in _of_node(id, node)]
    of_error = [_named("error", name, "error") for name in OF_AN_ERROR] if at in (None, ON_ERROR) else []
    used = _used(raw)
    return [*_of_contact(used), *_of_data(raw, used), *results[:MOST_RESULTS], *_of_steps(raw, before), *of_error]


def names_of_sequence(raw: object) -> list[Variable]:
    """Return what is known in the messages of a sequence: the contact."""
    return _of_contact(_used(raw))


def names_of_rule(raw: object) -> list[Variable]:
    """Return what is known in the messages of a rule: the people of an event, and its variables."""
    people = [_named(who, name, "event") for who in RuleAudience for name in OF_A_PERSON]
    return [*people, Variable(name="trigger", origin="event"), *_of_data(raw, _used(raw))]


def names_of_campaign(raw: object) -> list[Variable]:
    """Return what is known in a campaign: the contact, the campaign itself, and its data."""
    data = raw.get("data") if isinstance(raw, Mapping) else None
    given = [Variable(name=name, origin="data") for name in _paths_in(data)] if isinstance(data, Mapping) else []
    return [*_of_contact(_used(raw)), *(_named("campaign", name, "campaign") for name in ("id", "name")), *given]


def _of_contact(used: set[str]) -> list[Variable]:
    own = sorted(path for path in used if path.startswith(f"{CONTACT}.attributes."))
    return [*(_named(CONTACT, name, "contact") for name in TEMPLATE_FIELDS), *_all(own, "contact")]


def _of_data(raw: object, printed: set[str]) -> list[Variable]:
    required = raw.get("requiredFields", raw.get("required_fields")) if isinstance(raw, Mapping) else ()
    named = {one for one in required if isinstance(one, str)} if isinstance(required, list | tuple) else set()
    used = {path for path in (*printed, *_compared(raw)) if path.partition(".")[0] not in _GIVEN}
    return _all(sorted(named | used)[:MOST_OF_DATA], "data")


def _of_node(id: str, node: Raw) -> Iterator[Variable]:
    kind = node.get("type", NodeType.FUNCTION)  # a step has none
    root = f"vars.{id}" if _PLAIN.fullmatch(id) else f'vars["{id}"]'
    if kind in (NodeType.FUNCTION, NodeType.BRANCH):
        yield Variable(name=root, origin="node", node=id)
    elif isinstance(kind, str) and kind in CONTENT_FIELDS:
        yield from (Variable(name=f"{root}.{name}", origin="node", node=id) for name in OF_A_SEND)


def _of_steps(raw: Raw, before: set[str] | None) -> Iterator[Variable]:
    steps = raw.get("steps")
    for place, step in enumerate(steps if isinstance(steps, list | tuple) else ()):
        name = step.get("name") if isinstance(step, Mapping) else None
        if isinstance(name, str) and (before is None or name in before):
            yield from (Variable(name=f"step_{place}_{what}", origin="node", node=name) for what in ("result", "error"))


def _nodes_in(raw: Raw) -> Iterator[tuple[str, Raw]]:
    for several, name in (("nodes", "id"), ("steps", "name")):
        given = raw.get(several)
        for one in given if isinstance(given, list | tuple) else ():
            if isinstance(one, Mapping) and isinstance(one.get(name), str) and one[name]:
                yield one[name], one


def _before(raw: Raw, names: list[str], at: str) -> set[str]:
    """Return the nodes that lead to one; of steps, those above it. Everything leads to what is called on an error."""
    if at == ON_ERROR:
        return {*names}
    if "steps" in raw:
        return {*names[: names.index(at)]} if at in names else {*names}
    sources: dict[str, set[str]] = {}
    edges = raw.get("edges")
    for edge in edges if isinstance(edges, list | tuple) else ():
        if isinstance(edge, Mapping) and isinstance(edge.get("from"), str) and isinstance(edge.get("to"), str):
            sources.setdefault(edge["to"], set()).add(edge["from"])
    found: set[str] = set()
    waiting = [at]
    while waiting:
        fresh = sources.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found - {at}


def _used(raw: object) -> set[str]:
    """Return what the templates print."""
    found: set[str] = set()
    left = MOST_READ_HERE
    for _, source in templates_in(raw, ""):
        left -= 0 if known_facts(source) else len(source)
        if left < 0:
            break
        try:
            found |= required_variables(source)
        except TemplateInvalid:
            continue  # which is said as a problem
    return found


def _compared(raw: object) -> set[str]:
    """Return what the conditions of edges compare."""
    edges = raw.get("edges") if isinstance(raw, Mapping) else ()
    listed = edges if isinstance(edges, list | tuple) else ()
    found: set[str] = set()
    waiting: list[object] = [one.get("condition") for one in listed if isinstance(one, Mapping)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, Mapping):
            waiting += one.values()
            found |= {one["path"]} if isinstance(one.get("path"), str) else set()
    return found


def _paths_in(data: Raw) -> list[str]:
    found: list[str] = []
    waiting: list[tuple[str, object, int]] = [(str(name), value, 1) for name, value in data.items()]
    while waiting and len(found) < MOST_OF_DATA:
        path, value, depth = waiting.pop(0)
        found.append(path)
        if isinstance(value, Mapping) and depth < DEEPEST_DATA:
            waiting += [(f"{path}.{name}", inner, depth + 1) for name, inner in value.items()]
    return found


def _named(root: str, name: str, origin: Origin) -> Variable:
    return Variable(name=f"{root}.{name}", origin=origin)


def _all(names: Iterable[str], origin: Origin) -> list[Variable]:
    return [Variable(name=name, origin=origin) for name in names]
