"""Workflow definitions in files: YAML or JSON, one workflow or several in each."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from tidings.cli.command import Refused
from tidings.domain.errors import InputInvalid, Problem
from tidings.domain.json_text import parse_json
from tidings.domain.messages import quoted
from tidings.domain.names import problem_of_name

JSON_SUFFIX = ".json"
SUFFIXES = frozenset({".yaml", ".yml", JSON_SUFFIX})
MOST_PARTS = 1_000_000
"""The most values in a YAML document once its aliases are written out; a workflow has some thousands."""
ABOUT = frozenset({"name", "description", "active"})
"""The fields of a document that describe the workflow; the rest is its definition."""

_CAPITAL = re.compile(r"[A-Z]")
_PLACE = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


@dataclass(frozen=True)
class Document:
    """One workflow as a file has it."""

    file: Path
    name: str
    description: str | None
    active: bool | None
    definition: Mapping[str, Any]
    node: yaml.Node | None = None

    def line_of(self, place: str) -> int | None:
        """Return the line of a place such as `nodes[2].to`, or of what is nearest to it; None in JSON."""
        return line_of(self.node, place)


def line_of(node: yaml.Node | None, place: str) -> int | None:
    """Return the line of a place below a node, or of what is nearest to it; None without a node."""
    if node is None:
        return None
    for match in _PLACE.finditer(place):
        inner = _item(node, int(match[1])) if match[1] else _field(node, match[2])
        if inner is None:
            break
        node = inner
    return int(node.start_mark.line) + 1


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One thing wrong in a file, and where."""

    file: str
    line: int | None
    workflow: str | None
    place: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (where, self.workflow, self.place, self.message) if part)


class FilesInvalid(InputInvalid):
    """Files that cannot be applied, with every problem in them."""

    code = "files_invalid"

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def refused(problems: Sequence[FileProblem]) -> Refused:
    """Return the refusal of such files: a line for each problem."""
    return Refused([str(problem) for problem in problems], {"valid": False, "errors": problems})


@dataclass
class FoundDefinition:
    """What a file holds before its kind is known."""

    value: object
    node: yaml.Node | None = None


class _Loader(yaml.SafeLoader):
    """YAML as people expect it: a time stays the string that was written, and no key may be repeated."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else None
            if text in seen and text != "<<":
                raise ConstructorError(None, None, f"{text!r} is there twice", key.start_mark)
            seen.add(text)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_definitions(files: Sequence[Path]) -> tuple[list[Document], list[FileProblem]]:
    """Return every workflow in these files, and everything that keeps one from being read."""
    documents: list[Document] = []
    problems: list[FileProblem] = []
    for file in files:
        try:
            found = list(read_objects(file))
        except FilesInvalid as error:
            problems += error.problems
            continue
        if not found:
            problems.append(FileProblem(str(file), None, None, "", "there is no workflow in it"))
        for one in found:
            read, wrong = _document(file, one)
            problems += wrong
            documents += [read] if read else []
    return documents, problems + list(_repeated(documents))


def problems_of(document: Document, problems: Sequence[Problem]) -> list[FileProblem]:
    """Return the problems of a definition, with their places in its file."""
    file, name = str(document.file), document.name
    return [FileProblem(file, document.line_of(one.place), name, one.place, one.message) for one in problems]


def read_objects(file: Path) -> Iterator[FoundDefinition]:
    """Yield every object of a YAML or JSON file, from each document and list; raise FilesInvalid on a bad file."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FilesInvalid([FileProblem(str(file), None, None, "", f"cannot be read: {reason}")]) from error
    found = _read_json(file, text) if file.suffix.lower() == JSON_SUFFIX else _read_yaml(file, text)
    for one in found:
        if isinstance(one.value, list):
            inner = one.node.value if isinstance(one.node, yaml.SequenceNode) else [None] * len(one.value)
            yield from (FoundDefinition(value, node) for value, node in zip(one.value, inner, strict=True))
        elif one.value is not None:  # an empty document between two `---` is skipped
            yield one


def _read_json(file: Path, text: str) -> list[FoundDefinition]:
    try:
        return [FoundDefinition(parse_json(text))]
    except json.JSONDecodeError as error:
        problem = FileProblem(str(file), error.lineno, None, "", f"is no JSON: {error.msg} (column {error.colno})")
        raise FilesInvalid([problem]) from error
    except ValueError as error:  # a name twice, NaN, a number of thousands of digits
        raise FilesInvalid([FileProblem(str(file), None, None, "", f"is no JSON: {error}")]) from error
    except RecursionError as error:
        raise FilesInvalid([FileProblem(str(file), None, None, "", "is nested too deeply")]) from error


def _read_yaml(file: Path, text: str) -> list[FoundDefinition]:
    loader = _Loader(text)
    found: list[FoundDefinition] = []
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None and _parts(node, {}) > MOST_PARTS:
                raise ConstructorError(None, None, "its aliases make it endless", node.start_mark)
            found.append(FoundDefinition(loader.construct_document(node), node))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        reason = error.problem or error.context or "it cannot be understood"
        raise FilesInvalid([FileProblem(str(file), line, None, "", f"is no YAML: {reason}")]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise FilesInvalid([FileProblem(str(file), None, None, "", f"is no YAML: {error}")]) from error
    except RecursionError as error:
        raise FilesInvalid([FileProblem(str(file), None, None, "", "is nested too deeply")]) from error
    finally:
        loader.dispose()
    return found


def _parts(node: yaml.Node, counted: dict[int, float]) -> float:
    """How many values a document has once every alias is replaced by what it names; infinitely many inside itself.

    Aliases are shared when they are read, so ten short lines can name more values than any machine can hold.
    """
    if id(node) not in counted:
        counted[id(node)] = math.inf
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = chain.from_iterable(inner) if isinstance(node, yaml.MappingNode) else inner
        counted[id(node)] = 1 + sum(_parts(one, counted) for one in pairs)
    return counted[id(node)]


def _document(file: Path, found: FoundDefinition) -> tuple[Document | None, list[FileProblem]]:
    """Return a workflow of a file and its problems; its definition is checked even where the rest is wrong."""
    value, line = found.value, found.node.start_mark.line + 1 if found.node else None
    if not isinstance(value, dict):
        told = f"a workflow is an object with a name, not {_kind(value)}"
        return None, [FileProblem(str(file), line, None, "", told)]
    if odd := wrong_as_json(value):
        return None, [FileProblem(str(file), line, _named(value), odd.place, odd.message)]
    problems = [
        FileProblem(str(file), line_of(found.node, one.place), _named(value), one.place, one.message)
        for one in _wrong_about(value)
    ]
    definition = {key: inner for key, inner in value.items() if key not in ABOUT}
    name, description, active = _named(value) or "", value.get("description"), value.get("active")
    return Document(file, name, description, active, definition, found.node), problems


def _named(value: Mapping[Any, Any]) -> str | None:
    name = value.get("name")
    return name if isinstance(name, str) else None


def _wrong_about(value: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield what keeps an object from being a workflow, whatever its definition says."""
    name, description, active = value.get("name"), value.get("description"), value.get("active")
    if wrong := "give the workflow a name" if name in (None, "") else problem_of_name(name):
        yield Problem("name", wrong)
    if description is not None and not isinstance(description, str):
        yield Problem("description", f"{quoted(description)} is not a string")
    if active is not None and not isinstance(active, bool):
        yield Problem("active", f"{quoted(active)} is neither true nor false")


def wrong_as_json(value: Mapping[Any, Any]) -> Problem | None:
    """Return what keeps an object of a file from being JSON."""
    if odd := [key for key in value if not isinstance(key, str)]:
        return Problem("", f"{odd[0]!r} is not the name of a field; put it in quotes")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # a set, bytes, an alias inside itself: YAML can say more than JSON
        return Problem("", "has something in it that JSON cannot say")
    return None


def _repeated(documents: Sequence[Document]) -> Iterator[FileProblem]:
    first: dict[str, Path] = {}
    for one in filter(lambda one: one.name, documents):
        if one.name in first:
            message = f"{one.name!r} is defined twice, first in {first[one.name]}"
            yield FileProblem(str(one.file), one.line_of("name"), one.name, "name", message)
        first.setdefault(one.name, one.file)


def _field(node: yaml.Node, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    names = {name, _CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)}
    if name == "payload":  # a step's is written payload_template
        names |= {"payload_template", "payloadTemplate"}
    return next((value for key, value in node.value if key.value in names), None)


def _item(node: yaml.Node, place: int) -> yaml.Node | None:
    if not isinstance(node, yaml.SequenceNode) or place >= len(node.value):
        return None
    inner = node.value[place]
    return inner if isinstance(inner, yaml.Node) else None


def _kind(value: object) -> str:
    return "a string" if isinstance(value, str) else f"a {type(value).__name__}"
