"""What a page names is there: links, headings, files, tests, commands, options, roles."""

import dataclasses
import re
import shlex
from collections.abc import Iterator

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup

from tests.pages import DOCS, PAGES, ROOT, USERS_PAGES, anchors, columns_about_people, fences, name_of, prose
from tidings.cli.app import app
from tidings.config import Config, variable
from tidings.domain.roles import Permission, Role, may

DECISIONS = DOCS / "decisions"
PLACES = (ROOT, ROOT / "src" / "tidings", ROOT / "tests", DOCS)
"""What a path in a page is below."""
DOCUMENT_NUMBER = re.compile(r"(?:^|[^0-9,.])00[0-4](?:[^0-9]|$)")
MOST_LINES = {"README.md": 100, "ARCHITECTURE.md": 150}


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            path, _, heading = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if "://" not in link and not (target.exists() and (not heading or heading in anchors(target))):
                broken.append(f"{name_of(page)}: {link}")

    assert broken == []


def test_every_file_and_test_that_a_page_names_is_there() -> None:
    missing = []
    for page in PAGES:
        for path, test in re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|sql|md|yaml|json))(?:::(\w+))?`", prose(page)):
            found = [place / path for place in PLACES if (place / path).is_file()]
            if not found or (test and not re.search(rf"def {test}\b", found[0].read_text())):
                missing.append(f"{name_of(page)}: {path}::{test}")

    assert missing == []


def test_every_page_that_the_source_points_to_is_there() -> None:
    sources = [file for folder in ("src", "tests", "bench", "examples") for file in (ROOT / folder).glob("**/*")]
    texts = [file for file in sources if file.suffix in {".py", ".sql", ".md", ".yaml"} and ".peers" not in file.parts]
    named = {(file, page) for file in texts for page in re.findall(r"(?<![\w/])docs/[\w/-]+\.md", file.read_text())}

    assert sorted(f"{name_of(file)}: {page}" for file, page in named if not (ROOT / page).exists()) == []


def test_every_decision_is_in_the_index_once_and_says_what_was_decided() -> None:
    files = sorted(DECISIONS.glob("[0-9]*.md"))
    listed = re.findall(r"^- \[(.*)\]\((\d{4}-[\w-]+\.md)\)$", (DECISIONS / "README.md").read_text(), re.MULTILINE)
    titles = {file.name: file.read_text().splitlines()[0] for file in files}

    assert sorted(name for _, name in listed) == sorted(titles)
    assert {name: f"# {title}" for title, name in listed} == titles
    assert [name for name, title in titles.items() if not title.startswith(f"# {int(name[:4])}. ")] == []
    assert [file.name for file in files if "**Decided.**" not in file.read_text()] == []


def test_users_pages_say_what_a_document_is_about_and_not_its_number() -> None:
    numbered = [
        f"{name_of(page)}: {line}"
        for page in USERS_PAGES
        for line in page.read_text().splitlines()
        if DOCUMENT_NUMBER.search(line)
    ]

    assert numbered == []


@pytest.mark.parametrize("name", MOST_LINES)
def test_the_first_pages_stay_short(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= MOST_LINES[name]


SCHEMA = (ROOT / "src" / "tidings" / "storage" / "schema.sql").read_text()
OWN_COLUMNS = {"id", "shard", "tenant_id", "workspace_id"}
"""Columns that most tables have."""


def test_every_table_and_column_of_the_glossary_is_there() -> None:
    rows = re.findall(r"^\|.*\| ([^|]*) \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)?)`", row)}

    assert len(named) > 40
    assert sorted(name for name in named - OWN_COLUMNS if not is_in_schema(*name.split("."))) == []


def test_every_table_and_column_of_the_page_about_privacy_is_there() -> None:
    """That it names every column with something about a person, the search of an erasure proves."""
    named = columns_about_people()

    assert {table for table in named if not is_in_schema(table)} == set()
    assert {one for table, own in named.items() for one in own if not is_in_schema(table, one)} == set()


def is_in_schema(relation: str, column: str = "") -> bool:
    """Whether there is such a table, view or function, and its text names the column."""
    found = re.search(rf"^create (?:table|view|function) {relation}\b(.*?);$", SCHEMA, re.MULTILINE | re.DOTALL)
    return found is not None and (not column or re.search(rf"\b{column}\b", found[1]) is not None)


def test_every_setting_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", (DOCS / "reference" / "settings.md").read_text(), re.MULTILINE)

    assert dict(rows) == {field.name: variable(field.name) for field in dataclasses.fields(Config)}


# Commands


def statements() -> Iterator[tuple[str, list[str]]]:
    """Every `tidings …` that a page shows, and where."""
    for page in PAGES:
        for block in fences(page, "", "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True) if "tidings " in line and "'" not in line else line.split()
                while words and "=" in words[0]:
                    words = words[1:]  # settings before the command
                if words[:1] == ["tidings"]:
                    yield name_of(page), words[1:]


def unknown_words(words: list[str]) -> list[str]:
    """The names of commands and options that there are not, of one line."""
    command = typer.main.get_command(app)
    rest = list(words)
    while isinstance(command, TyperGroup) and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    if not isinstance(command, TyperCommand):
        return words
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    return [word for word in rest if re.match(r"--[a-z]", word) and word.split("=")[0] not in known]


def test_every_command_and_option_that_a_page_shows_is_there() -> None:
    shown = list(statements())

    assert len(shown) > 60
    assert [(page, words) for page, words in shown if unknown_words(words)] == []


# Roles


COLUMNS = (
    *(Role.WORKFLOW_MANAGER, Role.TRIGGER_OPERATOR, Role.WORKER_SERVICE, Role.SYSTEM_ADMIN, Role.OPERATOR),
    *(Role.PUBLISHABLE, Role.READER),
)
ROWS = {
    "define workflows": Permission.DEFINE,
    "read definitions": Permission.READ_DEFINITIONS,
    "see contacts": Permission.READ_CONTACTS,
    "write contacts": Permission.CONTACTS,
    "start, enroll": Permission.OPERATE,
    "read executions": Permission.READ_WORK,
    "read `/metrics`": Permission.RUN_WORKERS,
    "keys, people, functions": Permission.ADMINISTER,
    "see and set what belongs to the whole installation": Permission.OPERATE_INSTALLATION,
}


@pytest.mark.parametrize("row", ROWS)
def test_the_table_of_roles_says_what_a_role_may(row: str) -> None:
    [cells] = re.findall(rf"^\| {row}.*$", (DOCS / "reference" / "roles.md").read_text(), re.MULTILINE)

    assert [cell.strip() == "yes" for cell in cells.split("|")[2:-1]] == [
        may(frozenset([role]), ROWS[row]) for role in COLUMNS
    ]
