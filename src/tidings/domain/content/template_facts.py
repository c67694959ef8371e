"""What is to be known of a template before it is stored, once found out: whether it is valid, and what it needs.

Reading a template of a megabyte takes seconds. A process that answers others has another one read it
(kernel/render/renderer.py) and lays the facts at hand while it checks what holds the template: template.py takes them
from here instead of parsing.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

import msgspec

from tidings.domain.errors import TemplateInvalid

MOST_KEPT_CHARS = 4_000_000
OF_A_STEP = re.compile(r"step_(\d{1,9})_(?:result|error)", re.ASCII)


@dataclass(frozen=True, slots=True)
class WalkVariable:
    """A name that only a workflow provides, `vars.<node>` or `step_N_result`, and where in a template it is used."""

    name: str
    line: int | None = None
    column: int | None = None

    @property
    def where(self) -> str:
        """Its place for a message; empty where it stands in no template."""
        return "" if self.line is None else f" (line {self.line}, column {self.column})"

    @property
    def node(self) -> str | None:
        """The node whose result it is, if it says so."""
        root, _, node = self.name.partition(".")
        return node if root == "vars" else None

    @property
    def step(self) -> int | None:
        """The place of the step whose result or error it is."""
        found = OF_A_STEP.fullmatch(self.name)
        return int(found[1]) if found else None


class TemplateFacts(msgspec.Struct, frozen=True):
    """What checking a template finds; one that does not parse has nothing but its problem."""

    problem: tuple[str, int, int] | None = None
    """What is wrong, the line and the column."""
    parses: bool = True
    is_known: bool = True
    """False where it could not be found out within the limits; another time it might."""
    required: frozenset[str] = frozenset()
    walk: tuple[WalkVariable, ...] = ()
    fixed_text: str = ""

    @classmethod
    def invalid(cls, message: str, line: int, column: int) -> "TemplateFacts":
        """Return the facts of a template that cannot be used at all."""
        return cls((message, line, column), parses=False)

    @classmethod
    def unknown(cls, reason: str) -> "TemplateFacts":
        """Return what is known of a template that took too much to check."""
        return cls((f"cannot be checked: it {reason}; make it simpler", 1, 1), parses=False, is_known=False)

    def require_parsed(self) -> "TemplateFacts":
        """Raise TemplateInvalid unless it parses."""
        if not self.parses:
            self.require_valid()
        return self

    def require_valid(self) -> None:
        """Raise TemplateInvalid unless it parses and nothing in it must fail."""
        if self.problem:
            raise TemplateInvalid(*self.problem)


_at_hand: ContextVar[Mapping[str, TemplateFacts]] = ContextVar("template_facts", default={})  # noqa: B039 – never changed


def keep_at_hand(facts: Mapping[str, TemplateFacts]) -> None:
    """Have the facts of these sources used by this task from now on; others are kept unless they are very many."""
    known = _at_hand.get()
    _at_hand.set({**known, **facts} if sum(map(len, known)) < MOST_KEPT_CHARS else facts)


class KeptFacts(dict[str, TemplateFacts]):
    """The facts of templates that were read lately, up to so many characters of them."""

    def add(self, facts: Mapping[str, TemplateFacts]) -> None:
        """Keep some more; those that were kept first go first."""
        self.update(facts)
        chars = sum(map(len, self))
        while chars > MOST_KEPT_CHARS:
            oldest = next(iter(self))
            chars -= len(oldest)
            del self[oldest]


def known_facts(source: str) -> TemplateFacts | None:
    """Return what is at hand of a template."""
    return _at_hand.get().get(source)
