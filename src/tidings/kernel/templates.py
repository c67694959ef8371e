"""Have expensive templates read in the rendering process, before what holds them is checked in this one.

Checking a template takes about 5 µs for each character inside of its tags. Up to CHEAP_MARKUP_CHARS that is done where
it is needed; beyond it the process would answer nobody else meanwhile. Called with whatever is about to be checked: a
definition as it was given, or the templates of something stored.
"""

from collections.abc import Iterator, Mapping, Sequence

from tidings.domain.content.template import markup_chars
from tidings.domain.content.template_facts import TemplateFacts, keep_at_hand, known_facts
from tidings.domain.errors import DefinitionInvalid, Problem, RendererUnavailable
from tidings.domain.flow.ids import Workspace
from tidings.domain.storable import is_storable
from tidings.kernel.kernel import Kernel

CHEAP_MARKUP_CHARS = 4_000
MOST_MARKUP_CHARS = 200_000
"""What one definition may have inside of its tags: a second of CPU time."""


async def know_templates(kernel: Kernel, workspace: Workspace, *given: object) -> None:
    """Find out about every template in what was given; raise DefinitionInvalid where that is too much to check."""
    sources = _sources(given)
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
    return _markup(_sources(given)) <= CHEAP_MARKUP_CHARS


async def know_stored_templates(kernel: Kernel, workspace: Workspace, *stored: object) -> None:
    """Find out about the templates of something stored, however large they are; they were valid when it was."""
    found = await _examine(kernel, workspace, _sources(stored))
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


def _sources(given: object) -> list[str]:
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
