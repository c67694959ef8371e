"""Find the templates that others render, and have expensive ones read in the rendering process before they are checked.

Checking a template takes about 5 µs for each character inside of its tags. Up to CHEAP_MARKUP_CHARS that is done where
it is needed; beyond it the process would answer nobody else meanwhile. Called with whatever is about to be checked: a
definition as it was given, or the templates of something stored.

What renders templates of its workspace takes their newest versions at the moment it is defined, and keeps them:
link_templates finds them, domain/content/linking.py puts them in their places. It also looks for the senders that
messages name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tidings.domain.content.linked import MAX_RENDER_DEPTH
from tidings.domain.content.linking import Frozen, FrozenTemplate, link, names_rendered_by, problems_of, uses_in
from tidings.domain.content.sender import sender_uses
from tidings.domain.content.template import markup_chars
from tidings.domain.content.template_facts import TemplateFacts, keep_at_hand, known_facts
from tidings.domain.errors import DefinitionInvalid, Problem, RendererUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.names import problem_of_slug
from tidings.domain.storable import is_storable
from tidings.kernel.kernel import Kernel
from tidings.kernel.senders import find_senders
from tidings.storage import templates

CHEAP_MARKUP_CHARS = 4_000
MOST_MARKUP_CHARS = 200_000
"""What one definition may have inside of its tags: a second of CPU time."""
MOST_NAMES = 1_000
"""Among which the one that was meant is looked for."""

Json = Mapping[str, object]
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class LinkedDefinition:
    """What was given with the templates it uses in their places, and what is wrong with that."""

    given: Json
    frozen: Frozen
    problems: Sequence[Problem]

    def read(self, check: Callable[[Json], Read]) -> Read:
        """Check what was given; raise DefinitionInvalid with what is wrong with either."""
        try:
            made = check(self.given)
        except DefinitionInvalid as error:
            raise DefinitionInvalid([*self.problems, *error.problems]) from None
        if self.problems:
            raise DefinitionInvalid(self.problems)
        return made

    def require_found(self) -> None:
        """Raise DefinitionInvalid unless everything that is rendered can be; the rest is checked elsewhere."""
        self.read(lambda given: given)


async def link_templates(
    kernel: Kernel,
    workspace: Workspace,
    given: Json,
    own: Mapping[str, FrozenTemplate] | None = None,
    *,
    is_stored: bool = False,
) -> LinkedDefinition:
    """Find the newest versions of what is rendered, and find out about every template with them in it.

    `own` are templates that are being defined themselves. What `is_stored` was checked before, however large it is.
    """
    frozen, problems = await _find_templates(kernel, workspace, given, own or {})
    problems = [*problems, *await _unknown_senders(kernel, workspace, given)]
    linked = LinkedDefinition(link(given, frozen), frozen, problems)
    know = know_stored_templates if is_stored else know_templates
    await know(kernel, workspace, linked.given)
    if frozen:
        await know(kernel, workspace, given)  # which is stored, and read without them
    return linked


async def _unknown_senders(kernel: Kernel, workspace: Workspace, given: Json) -> list[Problem]:
    """Return whom messages in what was given cannot be from."""
    uses = sender_uses(given)
    if not uses:
        return []
    known = await find_senders(kernel, workspace)
    return [Problem(use.place, wrong) for use in uses if (wrong := known.problem(use))]


async def _find_templates(
    kernel: Kernel, workspace: Workspace, given: Json, own: Mapping[str, FrozenTemplate]
) -> tuple[Frozen, Sequence[Problem]]:
    found: dict[str, FrozenTemplate] = {}
    wanted = {use.name for use in uses_in(given) if problem_of_slug(use.name) is None}
    for _ in range(MAX_RENDER_DEPTH + 1):
        new = {name: own[name] for name in wanted if name in own}
        if missing := sorted(wanted - own.keys()):
            find = partial(templates.find_newest_templates, workspace=workspace, names=missing)
            new |= await kernel.db.persist(find, alone=True)
        found |= new
        wanted = {name for one in new.values() for name in names_rendered_by(one.text)} - found.keys()
        if not wanted:
            break
    problems = problems_of(given, found, ())
    if any(use.name not in found for use in uses_in(given)):
        names = partial(templates.list_template_names, workspace=workspace, limit=MOST_NAMES)
        problems = problems_of(given, found, [*await kernel.db.persist(names, alone=True), *own])
    return found, problems


async def know_templates(kernel: Kernel, workspace: Workspace, *given: object) -> None:
    """Find out about every template in what was given; raise DefinitionInvalid where that is too much to check."""
    sources = sources_in(given)
    if _markup(sources) > MOST_MARKUP_CHARS:
        raise DefinitionInvalid(
            [
                Problem(
                    "",
                    f"the templates have more than {MOST_MARKUP_CHARS:,} characters inside of their tags; "
                    "use fewer tags, or divide it in several",
                )
            ]
        )
    await _examine(kernel, workspace, sources)
    await kernel.checks.step(workspace)  # the check follows: one in each round of the loop


def are_cheap(given: object) -> bool:
    """Return whether every template in what was given may be checked in this process."""
    return _markup(sources_in(given)) <= CHEAP_MARKUP_CHARS


async def know_stored_templates(kernel: Kernel, workspace: Workspace, *stored: object) -> None:
    """Find out about the templates of something stored, however large they are; they were valid when it was."""
    found = await _examine(kernel, workspace, sources_in(stored))
    if unknown := [facts.problem for facts in found.values() if not facts.is_known]:
        raise RendererUnavailable(f"a stored template {unknown[0]}")


async def _examine(kernel: Kernel, workspace: Workspace, sources: Sequence[str]) -> Mapping[str, TemplateFacts]:
    """Lay the facts of templates at hand, and return those that were found out now."""
    sources = [one for one in sources if known_facts(one) is None and is_storable(one)]
    if _markup(sources) <= CHEAP_MARKUP_CHARS:
        return {}
    kept = kernel.template_facts
    known = {one: kept[one] for one in sources if one in kept}  # taken now: others may push them out meanwhile
    unknown = [one for one in sources if one not in known]
    found = dict(zip(unknown, await kernel.renderer.examine(workspace, unknown), strict=True))
    keep_at_hand(found | known)
    kept.add({one: facts for one, facts in found.items() if facts.is_known})
    return found


def _markup(sources: Sequence[str]) -> int:
    total = 0
    for source in sources:
        total += markup_chars(source) if len(source) > CHEAP_MARKUP_CHARS // 10 else len(source)
        if total > MOST_MARKUP_CHARS:
            break
    return total


def sources_in(given: object) -> list[str]:
    """Return every string that has Liquid in it, once."""
    return list(dict.fromkeys(one for one in _strings(given) if "{{" in one or "{%" in one))


def _strings(given: object) -> Iterator[str]:
    left = [given]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
