"""What a command imports: its own group, and what it does; never what it does not use."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from tests.cli.conftest import Command
from tidings import cli
from tidings.cli.app import COMMANDS, ELSEWHERE, GROUPS, app
from tidings.engine import Engine
from tidings.resources.every import Part, Resources

LOOK = """
import atexit, json, sys
from tidings.cli import main
atexit.register(lambda: sys.stderr.write("\\n" + json.dumps(sorted(sys.modules))))
sys.argv = ["tidings", *sys.argv[1:]]
main()
"""
LEAVE = """
import atexit, gc, sys
from tidings.cli import main
atexit.register(lambda: sys.stderr.write(str(gc.get_freeze_count() > 0)))
sys.argv = ["tidings", "--version"]
main()
"""
IMPORT = "import json, sys; import {}; sys.stderr.write(json.dumps(sorted(sys.modules)))"
SERVERS = {"fastapi", "pydantic", "starlette", "uvicorn", "prometheus_client"}
HEAVY = SERVERS | {"cryptography", "httpx2", "httpcore2", "liquid", "structlog", "yaml"}
"""What takes long to import, and only some commands need."""
ENGINES = {"asyncpg", "tidings.engine", "tidings.wiring", "uvloop"}
GROUPS_MODULES = {f"tidings.cli.{ELSEWHERE.get(name, (name.replace('-', '_'),))[0]}" for name in GROUPS}
WORKERS = {"tidings.kernel.flow.executions", "tidings.kernel.flow.jobs", "tidings.kernel.campaigns.rollup"}
OTHER_RESOURCE = re.compile(r"tidings\.resources\.(?!every|pages|workflows|versions_in_flight)\w+")
MOST_OF_OURS = 207
MOST_MODULES = 515
"""Some more than `workflows list` imports on Python 3.11: 200 of ours, 502 in all."""


def modules(ended: "subprocess.CompletedProcess[str]") -> set[str]:
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stderr.splitlines()[-1]))


def imported_by(tidings: Command, *arguments: str) -> set[str]:
    """The modules that a command has imported when it ends, in a process of its own."""
    look = [sys.executable, "-c", LOOK, *arguments]
    environment = tidings.environment({})
    return modules(
        subprocess.run(
            look, cwd=tidings.directory, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
    )


def imported_with(module: str) -> set[str]:
    look = [sys.executable, "-c", IMPORT.format(module)]
    return modules(subprocess.run(look, capture_output=True, text=True, check=False, timeout=60))


def test_a_command_leaves_without_a_last_look_at_all_that_was_imported() -> None:
    left = subprocess.run([sys.executable, "-c", LEAVE], capture_output=True, text=True, check=True, timeout=60)

    assert left.stderr == "True"


def test_help_imports_no_group_and_nothing_heavy(anywhere: Command) -> None:
    found = imported_by(anywhere, "--help")

    assert found & (GROUPS_MODULES | HEAVY | ENGINES) == set()


def test_the_help_of_a_group_imports_that_group_and_nothing_heavy(anywhere: Command) -> None:
    found = imported_by(anywhere, "workflows", "--help")

    assert found & GROUPS_MODULES == {"tidings.cli.workflows"}
    assert found & (HEAVY | ENGINES) == set()


def test_the_version_is_shown_without_any_command(anywhere: Command) -> None:
    found = imported_by(anywhere, "--version")

    assert found & (GROUPS_MODULES | HEAVY | ENGINES | {"rich", "asyncio", "tidings.config"}) == set()


@pytest.mark.parametrize("arguments", [["workflows", "list"], ["workflows", "list", "--tenant", "acme", "--name", "x"]])
def test_a_command_that_looks_imports_neither_the_flow_nor_other_resources(
    tidings: Command, arguments: Sequence[str]
) -> None:
    found = imported_by(tidings, *arguments, "--json")
    ours = {name for name in found if name.startswith("tidings.")}

    assert found & GROUPS_MODULES == {"tidings.cli.workflows"}
    assert found & (HEAVY | WORKERS | {"rich", "tidings.http", "tidings.worker", "tidings.simulation"}) == set()
    assert {
        name
        for name in ours
        if re.fullmatch(r"tidings\.resources\.(?!every|pages|workflows|versions_in_flight)\w+", name)
    } == set()
    assert ours >= {"tidings.resources.workflows", "tidings.engine"}  # it has done what it was asked for
    assert (len(ours) <= MOST_OF_OURS, len(found) <= MOST_MODULES) == (True, True), (len(ours), len(found))


def test_tables_need_rich_and_no_more(tidings: Command) -> None:
    found = imported_by(tidings, "workflows", "list")

    assert "rich.table" in found
    assert found & (HEAVY | WORKERS | {"pygments", "rich.traceback"}) == set()


@pytest.mark.parametrize("module", ["tidings", "tidings.engine", "tidings.wiring"])
def test_a_host_application_imports_what_it_calls_when_it_calls_it(module: str) -> None:
    found = imported_with(module)

    assert found & (HEAVY | WORKERS | {"rich", "typer", "tidings.http", "tidings.cli"}) == set()


async def test_each_resource_is_what_its_annotation_says_and_all_are_made_for_a_service(engine: Engine) -> None:
    parts = {name for name, one in vars(Resources).items() if isinstance(one, Part)}

    engine.import_everything()

    assert parts == set(Resources.__annotations__)
    assert len(parts) > 15
    for name, annotation in Resources.__annotations__.items():
        assert type(vars(engine)[name]).__name__ in str(annotation)


def test_every_name_in_the_table_is_a_command_and_every_module_of_commands_is_named() -> None:
    every = typer.main.get_command(app)
    assert isinstance(every, TyperGroup)
    written = {
        file.stem for file in Path(cli.__file__).parent.glob("*.py") if "app = typer.Typer()" in file.read_text()
    }

    assert list(every.commands) == [*COMMANDS, *GROUPS]
    assert {every.commands[name].name for name in COMMANDS} == set(COMMANDS)
    assert [name for name in GROUPS if not list(getattr(every.commands[name], "commands", ()))] == []
    assert written == {ELSEWHERE.get(name, (name.replace("-", "_"),))[0] for name in (*COMMANDS, *GROUPS)}
