"""Rules and events in files: YAML or JSON, one or several in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.cli.definition_files import (
    FileProblem,
    FilesInvalid,
    FoundDefinition,
    line_of,
    read_objects,
    wrong_as_json,
)
from tidings.domain.errors import Problem


@dataclass(frozen=True)
class ObjectFile:
    """One object as a file has it."""

    file: Path
    value: Mapping[str, Any]
    found: FoundDefinition

    def problems(self, problems: Sequence[Problem], name: str | None = None) -> list[FileProblem]:
        """Return its problems, with their places in its file."""
        return [
            FileProblem(str(self.file), line_of(self.found.node, one.place), name, one.place, one.message)
            for one in problems
        ]


def read_given(files: Sequence[Path], what: str) -> list[ObjectFile]:
    """Return every object in these files, or raise FilesInvalid with everything that keeps one from being read."""
    given: list[ObjectFile] = []
    problems: list[FileProblem] = []
    for file in files:
        try:
            found = list(read_objects(file))
        except FilesInvalid as error:
            problems += error.problems
            continue
        if not found:
            problems.append(FileProblem(str(file), None, None, "", f"there is no {what} in it"))
        for one in found:
            wrong = _wrong_in(one, what)
            if wrong:
                problems.append(FileProblem(str(file), line_of(one.node, ""), None, wrong.place, wrong.message))
            elif isinstance(one.value, dict):
                given.append(ObjectFile(file, one.value, one))
    if problems:
        raise FilesInvalid(problems)
    return given


def _wrong_in(found: FoundDefinition, what: str) -> Problem | None:
    if not isinstance(found.value, dict):
        return Problem("", f"it holds a {type(found.value).__name__}; write the {what} as an object")
    return wrong_as_json(found.value)
