"""Attributes that templates print and that a contact may lack: without a default, their message fails when it is sent.

What contacts have is known before, so a dry run, a count, a simulation and `why` report it.
"""

from collections.abc import Iterable, Mapping

from tidings.domain.content.template import has_path, required_variables
from tidings.domain.errors import TemplateInvalid
from tidings.domain.people.contact import CONTACT
from tidings.views.lacks import Lack

__all__ = ["Lack", "attributes_in", "hint_of", "lacking", "lacks_of"]

MOST_ATTRIBUTES = 200
"""Each is looked for in each contact, of whom there may be a million."""
ATTRIBUTES = f"{CONTACT}.attributes."
"""All else that templates see of a contact is there, if only as null."""


def lacks_of(counts: Mapping[str, int], of: int) -> list[Lack]:
    """What is missing for how many, by its path; the most first."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Lack(path=path, contacts=count, of=of, hint=hint_of(path)) for path, count in ordered if count]


def hint_of(path: str) -> str:
    """How to write a template that does without it."""
    return f"write {{{{ {path} | default: … }}}}"


def attributes_in(sources: Iterable[str]) -> frozenset[str]:
    """The attributes that templates print without a default, as dotted paths; of very many the first."""
    found = {path for source in sources for path in _printed(source) if path.startswith(ATTRIBUTES)}
    return frozenset(sorted(found)[:MOST_ATTRIBUTES])


def lacking(paths: Iterable[str], attributes: object) -> list[str]:
    """Those of the paths that a contact's attributes do not have; a null counts as there."""
    return [path for path in sorted(paths) if not has_path(attributes, path.removeprefix(ATTRIBUTES))]


def _printed(source: str) -> frozenset[str]:
    try:
        return required_variables(source)
    except TemplateInvalid:
        return frozenset()  # let in by an older release: it fails for everybody
