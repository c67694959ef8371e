"""One name for one class: whoever reads `Version` somewhere should not have to look which one is meant."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "tidings"

ALLOWED = [
    "Campaigns",
    "Conflict",
    "Contacts",
    "Enrollments",
    "Events",
    "Executions",
    "NotFound",
    "Outbox",
    "Providers",
    "Rules",
    "Runs",
    "Segments",
    "Sequences",
    "Workflows",
]
"""Names that more than one file gives to a class. No name joins this list; a name that is unique again leaves it."""


def find_shared_names(modules: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    """The names of classes, inner and private ones too, that occur in more than one file, with those files."""
    files = defaultdict(set)
    for file, source in modules:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                files[node.name].add(file)
    return {name: sorted(places) for name, places in sorted(files.items()) if len(places) > 1}


@cache
def shared_names() -> Mapping[str, list[str]]:
    return find_shared_names((str(path.relative_to(SRC)), path.read_text()) for path in sorted(SRC.rglob("*.py")))


def test_a_class_has_a_name_of_its_own() -> None:
    assert {name: files for name, files in shared_names().items() if name not in ALLOWED} == {}


def test_a_name_that_is_unique_again_is_not_excused_any_more() -> None:
    assert [name for name in ALLOWED if name not in shared_names()] == []
    assert sorted(set(ALLOWED)) == ALLOWED


def test_a_name_that_two_files_use_is_found_wherever_it_stands() -> None:
    inner = "def f():\n    class _One: ...\nclass Two: ..."

    assert find_shared_names([("a", inner), ("b", "class _One: ..."), ("c", "Two = 1")]) == {"_One": ["a", "b"]}
