"""Definitions in files: what is read, and what is said about what cannot be."""

from pathlib import Path

import pytest

from tidings.cli.definition_files import problems_of, read_definitions
from tidings.domain.errors import Problem

TWO = """
name: first
description: One
active: false
steps:
  - {name: a, function: f}
---
name: second
entryNodeId: a
nodes:
  - id: a
    type: delay
    until: 2026-12-24T18:00:00Z
"""


def written(directory: Path, text: str, name: str = "flow.yaml") -> Path:
    file = directory / name
    file.write_text(text)
    return file


def test_a_file_may_hold_several_workflows(tmp_path: Path) -> None:
    documents, problems = read_definitions([written(tmp_path, TWO)])

    assert problems == []
    first, second = documents
    assert (first.name, first.description, first.active) == ("first", "One", False)
    assert first.definition == {"steps": [{"name": "a", "function": "f"}]}
    assert second.active is None
    assert second.definition["nodes"][0]["until"] == "2026-12-24T18:00:00Z"  # the text as it was written


@pytest.mark.parametrize("text", ['{"name": "a", "steps": []}', '[{"name": "a", "steps": []}]'])
def test_json_is_one_workflow_or_a_list_of_them(tmp_path: Path, text: str) -> None:
    [document], problems = read_definitions([written(tmp_path, text, "flow.JSON")])

    assert (document.name, document.definition, problems) == ("a", {"steps": []}, [])


def test_a_problem_is_shown_with_the_line_it_stands_in(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    [first, second], _ = read_definitions([file])

    found = problems_of(second, [Problem("nodes[0].until", "is past"), Problem("edges[3].to", "is nowhere")])
    [other] = problems_of(first, [Problem("steps[0].payload.x", "is wrong")])

    assert str(found[0]) == f"{file}:13: second: nodes[0].until: is past"
    assert str(found[1]) == f"{file}:8: second: edges[3].to: is nowhere"
    assert other.line == 6


def laughs(line: str) -> str:
    """Forty lines, each of which names the one before several times."""
    lines = [f"x{number}: &n{number} " + line.replace("*n", f"*n{number - 1}") for number in range(1, 40)]
    return "\n".join(["name: a", "x: &n0 {k: v}", *lines])


def test_an_alias_that_is_used_a_few_times_is_fine(tmp_path: Path) -> None:
    text = "name: a\nsteps:\n  - &s {name: a, function: f}\n  - {<<: *s, name: b}\n  - {<<: *s, name: c}\n"

    [document], problems = read_definitions([written(tmp_path, text)])

    assert problems == []
    assert [step["function"] for step in document.definition["steps"]] == ["f", "f", "f"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: a\nsteps: [", 2, "is no YAML"),
        ("name: a\nsteps: []\nname: b\n", 3, "'name' is there twice"),
        ("name: a\n---\n- just a text\n", 3, "a workflow is an object with a name, not a string"),
        ("steps: []\n", 1, "give the workflow a name"),
        ("name: 7\n", 1, "7 is not a name: use a string of 1 to 200 characters"),
        ("name: '  '\n", 1, "use at least one character that can be seen"),
        ('name: "a\\u202eb"\n', 1, "turns the direction of writing around"),
        ("name: a\ndescription: [x]\n", 2, "['x'] is not a string"),
        ("name: a\nactive: maybe\n", 2, "'maybe' is neither true nor false"),
        ("name: a\nx: .nan\n", 1, "JSON cannot say"),
        ("name: a\non: x\n", 1, "True is not the name of a field"),
        ("name: a\nsteps: &s [*s]\n", 1, "its aliases make it endless"),
        (laughs("[*n, *n, *n]"), 1, "its aliases make it endless"),
        (laughs("{<<: [*n, *n, *n]}"), 1, "its aliases make it endless"),
        ("name: a\nsteps: !!binary aGk=\n", 1, "JSON cannot say"),
        ("name: a\nsteps: !!python/object:os.system {}\n", 2, "is no YAML"),
        ("", None, "there is no workflow in it"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    _, problems = read_definitions([written(tmp_path, text)])

    assert [problem.line for problem in problems] == [line]
    assert message in problems[0].message


def test_json_that_is_none_is_said_with_its_line(tmp_path: Path) -> None:
    _, [problem] = read_definitions([written(tmp_path, '{\n "name": }', "flow.json")])

    assert (problem.line, problem.message.startswith("is no JSON")) == (2, True)


def test_a_number_of_thousands_of_digits_is_no_json(tmp_path: Path) -> None:
    _, [problem] = read_definitions([written(tmp_path, '{"name": ' + "9" * 5_000 + "}", "flow.json")])

    assert problem.message.startswith("is no JSON")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "a", "steps": [], "name": "b"}', "is no JSON: 'name' is there twice; give it once"),
        ('{"name": "a", "steps": [{"x": 1, "x": 2}]}', "is no JSON: 'x' is there twice; give it once"),
        ('{"name": "a", "x": NaN}', "is no JSON: NaN is no JSON; write a number, or null"),
    ],
)
def test_json_that_could_be_read_in_two_ways_is_refused(tmp_path: Path, text: str, message: str) -> None:
    _, [problem] = read_definitions([written(tmp_path, text, "flow.json")])

    assert problem.message == message


def test_a_definition_is_looked_at_although_its_name_is_missing(tmp_path: Path) -> None:
    [document], problems = read_definitions([written(tmp_path, "active: maybe\nsteps: [{name: a}]\n")])

    assert [one.place for one in problems] == ["name", "active"]
    assert document.definition == {"steps": [{"name": "a"}]}


def test_every_file_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9t\xe9\n")
    files = [tmp_path / "missing.yaml", tmp_path / "latin.yaml", written(tmp_path, "name: a\nsteps: []\n")]

    documents, problems = read_definitions(files)

    assert [document.name for document in documents] == ["a"]
    assert [problem.message for problem in problems] == [
        "cannot be read: No such file or directory",
        "cannot be read: it is not UTF-8 text",
    ]


def test_a_name_is_defined_once(tmp_path: Path) -> None:
    one = written(tmp_path, "name: a\nsteps: []\n", "one.yaml")
    two = written(tmp_path, "name: a\nsteps: []\n", "two.yaml")

    _, [problem] = read_definitions([one, two])

    assert str(problem) == f"{two}:1: a: name: 'a' is defined twice, first in {one}"
