"""What people install: complete, the same at each build, and of use without the extras."""

from collections import defaultdict
from pathlib import Path
from zipfile import ZipFile

import asyncpg
import pytest

from tests.packaging.environments import Environment, make_environment, metadata_of, requirements
from tidings.extras import EXTRAS
from tidings.version import __version__
from tools.dist import ROOT, build

PACKAGE = ROOT / "src" / "tidings"
IMPORTED_AS = {"argon2-cffi": "argon2"}
"""Packages whose module has another name than they have themselves."""
BROUGHT = {"pydantic", "starlette"}
"""What we import because fastapi brings it."""
ENGINE = """
import asyncio
from tidings import open_engine

async def main():
    engine = await open_engine()
    steps = {"entryNodeId": "a", "nodes": [{"id": "a", "type": "delay", "delayMs": 0}], "edges": []}
    await engine.define("wait", steps)
    await engine.trigger("wait", {}, idempotency_key="once")
    await engine.work_everything()
    await engine.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel of this tree."""
    sdist, wheel = build(ROOT, tmp_path_factory.mktemp("dist"))
    return sdist, wheel


@pytest.fixture(scope="module")
def plain(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Tidings without any extra."""
    return make_environment(tmp_path_factory.mktemp("plain") / "env", built[1])


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    files = {str(path.relative_to(ROOT / "src")) for path in PACKAGE.rglob("*") if path.is_file()}
    with ZipFile(built[1]) as packed:
        held = {name for name in packed.namelist() if not name.startswith(f"tidings-{__version__}.dist-info/")}

    assert held == {name for name in files if "__pycache__" not in name}
    assert {Path(name).suffix for name in held} >= {".py", ".sql", ".html", ".typed"}


def test_the_same_tree_gives_the_same_bytes(built: tuple[Path, Path], tmp_path: Path) -> None:
    again = build(ROOT, tmp_path / "again")

    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in built]


def test_the_extras_bring_what_is_looked_for(built: tuple[Path, Path]) -> None:
    texts = metadata_of(built[1]).get_all("Requires-Dist", [])
    plain = {one.name for one in requirements(texts)}
    brought = defaultdict(set)
    for extra in EXTRAS:
        names = {one.name for one in requirements(texts, [extra]) if one.name not in plain}
        brought[extra] = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}

    assert brought["demo"] == {*EXTRAS["demo"], *EXTRAS["embedded"]}
    assert brought["embedded"] == set(EXTRAS["embedded"])
    assert brought["server"] == set(EXTRAS["server"]) - BROUGHT


def test_requirements_are_ranges(built: tuple[Path, Path]) -> None:
    pinned = [text for text in metadata_of(built[1]).get_all("Requires-Dist", []) if "==" in text.partition(";")[0]]

    assert pinned == []


def test_without_extras_the_command_answers_and_the_client_can_be_imported(plain: Environment) -> None:
    assert plain.run("tidings", "--version").stdout == f"{__version__}\n"
    assert "demo" in plain.run("tidings", "--help").stdout
    client = plain.run("python", "-c", "import tidings.client; print(tidings.client.__file__)")
    assert client.stdout.startswith(str(plain.root)), client.stderr


async def test_without_extras_an_engine_works_on_a_database_of_its_own(
    plain: Environment, dsn: str, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    where = {"DATABASE_URL": dsn, "TIDINGS_ALLOW_UNSAFE_STORAGE": "true"}

    assert plain.run("tidings", "db", "migrate", **where).stdout == "the tables are up to date\n"
    assert plain.run("python", "-c", ENGINE, **where).stderr == ""
    assert await sql.fetchval("select status from executions") == "completed"


@pytest.mark.parametrize(
    ("command", "lacking", "extra"),
    [
        (["serve"], "uvicorn", "server"),
        (["up"], "uvicorn", "server"),
        (["demo"], "aiosmtpd", "demo"),
        (["db", "migrate"], "the embedded PostgreSQL", "embedded"),
        (["worker"], "the embedded PostgreSQL", "embedded"),
    ],
)
def test_a_command_that_lacks_an_extra_says_so_in_one_line(
    plain: Environment, command: list[str], lacking: str, extra: str
) -> None:
    ended = plain.run("tidings", *command)

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert lacking in ended.stderr
    assert f"run pip install 'tidings[{extra}]'" in ended.stderr


def test_with_every_extra_the_api_can_be_made(built: tuple[Path, Path], tmp_path: Path) -> None:
    whole = make_environment(tmp_path / "env", built[1], "all")

    made = whole.run(
        "python",
        "-c",
        "import tidings.http.server, tidings.demo.sink, tidings.embedded.binaries as b;"
        "print(b._packaged_directory().is_dir())",
    )

    assert made.stdout == "True\n", made.stderr
