"""A template as its author gives it, checked as a whole: every problem is reported, each with its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from tidings.domain.content.linking import FrozenTemplate
from tidings.domain.content.template import check, required_variables
from tidings.domain.errors import DefinitionInvalid, Problem, TemplateInvalid
from tidings.domain.messages import did_you_mean, quoted, unfit
from tidings.domain.names import problem_of_slug
from tidings.domain.storable import UNSTORABLE, is_storable
from tidings.views.templates import NamedTemplate, TemplateFormat, TemplateKind

LONGEST_TEXT = 200_000
LONGEST_DESCRIPTION = 10_000
CONTENT = "content"
FIELDS = ("name", "kind", "format", "text", "description")
_READ_ONLY = frozenset({"id", "version", "users", "createdAt", "updatedAt", "created_at", "updated_at"})
"""What an answer says and a body may repeat, so that what was read can be changed and written back."""

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class WrittenTemplate:
    """What its author says about a template."""

    name: str
    kind: TemplateKind
    format: TemplateFormat
    text: str
    description: str | None = None

    @property
    def frozen(self) -> FrozenTemplate:
        """The template as another that is being defined would find it."""
        return FrozenTemplate(0, self.text, self.kind, self.format)


def read_template(given: Mapping[str, object], before: NamedTemplate | None = None) -> WrittenTemplate:
    """Read a template, or raise DefinitionInvalid; one that is there already keeps its name and its kind."""
    name, kind = (before.name, before.kind) if before else (None, None)
    problems = [
        Problem(
            str(one)[:100], f"is not a field of a template: use {', '.join(FIELDS)}{did_you_mean(str(one), FIELDS)}"
        )
        for one in given
        if one not in FIELDS and one not in _READ_ONLY
    ]
    called, text, description = given.get("name", name), given.get("text"), given.get("description")
    if said := problem_of_slug(called):
        problems.append(Problem("name", said))
    elif name is not None and called != name:
        problems.append(Problem("name", f"{quoted(called)} is another: a template keeps its name, {name!r}"))
    found_kind = _word(given, "kind", TemplateKind, kind or TemplateKind.PARTIAL, problems)
    if kind is not None and found_kind != kind:
        problems.append(Problem("kind", f"{found_kind} is another: a template that is a {kind} stays one"))
    written_in = _word(given, "format", TemplateFormat, before.format if before else TemplateFormat.HTML, problems)
    if found_kind is TemplateKind.LAYOUT and written_in is not TemplateFormat.HTML:
        problems.append(Problem("format", "a layout wraps HTML: use html"))
    problems += [Problem("text", said)] if (said := _wrong_text(text)) else []
    problems += [Problem("description", said)] if (said := _wrong_description(description)) else []
    if problems:
        raise DefinitionInvalid(problems)
    return WrittenTemplate(
        str(called), found_kind, written_in, str(text), None if description is None else str(description)
    )


def check_template(template: WrittenTemplate, linked: str) -> None:
    """Raise DefinitionInvalid unless a template can be rendered; `linked` is its text with all that it renders."""
    try:
        check(linked, html=template.format is TemplateFormat.HTML)
        prints = required_variables(template.text)
    except TemplateInvalid as error:
        where = f"(line {error.line}, column {error.column})"
        raise DefinitionInvalid([Problem("text", f"{error} {where}")]) from None
    if template.kind is TemplateKind.LAYOUT and CONTENT not in prints:
        raise DefinitionInvalid([Problem("text", "a layout prints {{ content }} where the message goes")])


def _word(given: Mapping[str, object], name: str, words: type[Word], default: str, problems: list[Problem]) -> Word:
    value = given.get(name)
    try:
        return words(str(default if value is None else value))
    except ValueError:
        problems.append(Problem(name, f"{quoted(value)} is not one of {', '.join(words)}"))
        return words(default)


def _wrong_text(text: object) -> str | None:
    if not isinstance(text, str) or not text.strip():
        return f"{unfit(text, 'says nothing')}: write what it prints"
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters; the most is {LONGEST_TEXT:,}"
    return None if is_storable(text) else UNSTORABLE


def _wrong_description(description: object) -> str | None:
    if description is None or (isinstance(description, str) and len(description) <= LONGEST_DESCRIPTION):
        return None if description is None or is_storable(str(description)) else UNSTORABLE
    return f"use a string of at most {LONGEST_DESCRIPTION:,} characters"
