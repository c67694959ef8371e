"""Every example runs, as a reader would run it."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_to_its_end_and_every_promise_holds(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(example)]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    assert "every promise holds: True" in done.stdout


def test_the_examples_of_a_users_own_tests_pass(tmp_path: Path) -> None:
    for file in (Path(__file__).parent.parent / "examples" / "testing").glob("test_*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "asyncio_mode=auto",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout
