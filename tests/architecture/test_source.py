"""The shape of the source: what is public, how long things are, and what is not there at all."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tidings
from tidings import engine

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "tidings"
MODULES = sorted(SRC.rglob("*.py"))
NAMES = {path: str(path.relative_to(SRC)) for path in MODULES}

READING_PATH = [
    *("engine.py", "domain/flow/execution.py"),
    *("storage/sql/claim.sql", "storage/sql/outbox.sql", "storage/sql/finalize.sql"),
    *(
        "kernel/flow/claim.py",
        "kernel/flow/executions.py",
        "kernel/flow/case.py",
        "kernel/flow/plan.py",
        "kernel/flow/reserve.py",
        "kernel/flow/windows.py",
        "kernel/flow/commit.py",
        "kernel/flow/mark.py",
    ),
    *("kernel/flow/deliver.py", "kernel/flow/finalize.py", "kernel/flow/release.py"),
]
READING_LINES = 1_720
FILE_LINES = 450
LONGER_FILES: dict[str, int] = {}
FUNCTION_LINES = 40
LONGER_FUNCTIONS: dict[str, int] = {"domain/content/liquid/strings.py:string_filters": 41}  # a table of names
VAGUE = {"utils", "util", "helpers", "helper", "manager", "managers", "service", "services", "base", "common", "misc"}

PUBLIC = [
    *("App", "Channel", "Config", "Deployment", "Engine", "FunctionRejected", "FunctionRetryLater", "Recipient"),
    *("Resolution", "Trigger", "Workspace", "open_engine", "__version__"),
]
PUBLIC_OF_ENGINE = [
    *("Check", "Deployment", "Engine", "Recipient", "Resolution", "Started", "Trigger", "Version", "Workspace"),
]
ENGINE = {
    "define": ["name", "definition", "workspace"],
    "trigger": ["workflow", "data", "idempotency_key", "workspace"],
    "trigger_many": ["workflow", "triggers", "workspace"],
    "deploy": ["deployment", "workspace"],
    "claim": ["shard", "lane", "limit"],
    "next_due": ["shard"],
    "move": ["shard", "lane", "claimed"],
    "work": ["shard", "lane", "limit"],
    "work_everything": ["limit"],
    "verify": [],
    "import_everything": [],
    "close": [],
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


# Public names: a change here is a change for everybody who imports them, and belongs in the changelog.


def test_the_names_of_the_package_are_these() -> None:
    assert sorted(tidings.__all__) == sorted(PUBLIC)
    assert all(getattr(tidings, name) is not None for name in PUBLIC)


def test_the_names_of_the_engine_are_these() -> None:
    assert sorted(engine.__all__) == sorted(PUBLIC_OF_ENGINE)
    assert all(hasattr(engine, name) for name in PUBLIC_OF_ENGINE)


def test_the_engine_does_these_things_with_these_arguments() -> None:
    found = {
        name: [parameter for parameter in inspect.signature(method).parameters if parameter != "self"]
        for name, method in vars(engine.Engine).items()
        if not name.startswith("_")
    }

    assert found == ENGINE


# Lengths


def read_lines(path: Path) -> list[str]:
    """The lines that a reader reads: without blank ones and imports."""
    lines = path.read_text().splitlines()
    if path.suffix == ".py":
        tree = ast.parse(path.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        skipped = {line for node in imports for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        lines = [line for number, line in enumerate(lines, start=1) if number not in skipped]
    return [line for line in lines if line.strip()]


def test_the_flow_can_be_read_in_half_an_hour() -> None:
    lines = {name: len(read_lines(SRC / name)) for name in READING_PATH}

    assert sum(lines.values()) <= READING_LINES, lines


def test_a_reader_s_lines_are_counted_without_blank_lines_and_imports(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    top = '"""Doc."""\n\nimport os\nfrom a import (\n    b,\n)\n\nx = 1  # import\n'
    module.write_text(f"{top}def f():\n    import c\n    return c\n")

    assert read_lines(module) == ['"""Doc."""', "x = 1  # import", "def f():", "    return c"]


def test_no_file_is_too_long_to_hold_in_mind() -> None:
    lines = {name: len(path.read_text().splitlines()) for path, name in NAMES.items()}

    assert {name: count for name, count in lines.items() if count > LONGER_FILES.get(name, FILE_LINES)} == {}


def long_functions(tree: ast.Module, limit: int) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limit:
                yield node.name, lines


def every_long_function() -> dict[str, int]:
    return {
        f"{name}:{function}": lines
        for path, name in NAMES.items()
        for function, lines in long_functions(tree_of(path), FUNCTION_LINES)
    }


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = {name: lines for name, lines in every_long_function().items() if lines > LONGER_FUNCTIONS.get(name, 0)}

    assert too_long == {}


def test_a_long_function_is_found_wherever_it_stands() -> None:
    body = "\n".join("        x = 1" for _ in range(40))

    assert list(long_functions(ast.parse(f"class A:\n    async def long(self):\n{body}\n"), 40)) == [("long", 41)]
    assert list(long_functions(ast.parse(f"class A:\n    async def long(self):\n{body}\n"), 41)) == []


def test_what_may_be_longer_is_no_longer_than_it_must_be() -> None:
    """An exception that is not needed any more goes."""
    files = {name: len((SRC / name).read_text().splitlines()) for name in LONGER_FILES}

    assert all(lines > FILE_LINES for lines in files.values())
    assert every_long_function().keys() == LONGER_FUNCTIONS.keys()


# What is there, and what is not


def test_every_module_says_what_it_is() -> None:
    assert [name for path, name in NAMES.items() if not ast.get_docstring(tree_of(path))] == []


def says_nothing(name: str) -> bool:
    path = Path(name).with_suffix("")
    vague_ending = any(path.stem.endswith(f"_{word}") for word in VAGUE)
    return vague_ending or bool({part.lower() for part in path.parts} & VAGUE)


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [name for name in NAMES.values() if says_nothing(name)] == []
    assert says_nothing("kernel/utils.py")
    assert says_nothing("http/key_manager.py")


def test_the_type_checker_is_never_told_to_look_away() -> None:
    orders = ("type: " + "ignore", "pyright: " + "ignore")

    assert [name for path, name in NAMES.items() if any(order in path.read_text() for order in orders)] == []


def constructions(path: Path, name: str) -> int:
    return sum(
        isinstance(node, ast.Call)
        and (getattr(node.func, "id", None) == name or getattr(node.func, "attr", None) == name)
        for node in ast.walk(tree_of(path))
    )


def test_only_the_mark_makes_what_a_provider_takes() -> None:
    """A Marked item is the proof of a committed mark, so nobody else may make one but for tests of providers."""
    made = {name: constructions(path, "make_marked") for path, name in NAMES.items()}

    assert {name for name, count in made.items() if count} == {"kernel/flow/mark.py", "testing/marked.py"}
    assert sum(constructions(path, "Marked") for path in MODULES) == 0


def test_sql_stands_only_in_the_storage_folder() -> None:
    verbs = ("select ", "insert into ", "update ", "delete from ", "create table ", "with ")
    found = [
        (name, node.value[:60])
        for path, name in NAMES.items()
        if not {"embedded", "demo"} & set(path.relative_to(SRC).parts)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.lower().lstrip().startswith(verbs)
        and (" from " in node.value.lower() or " set " in node.value.lower() or "into " in node.value.lower())
        and not node.value.rstrip().endswith(".")
    ]

    assert found == []


def test_imports_run_one_way() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    if not program.exists():
        pytest.skip("import-linter is not installed")

    result = subprocess.run([str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout
