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


def test_the_example_of_a_users_own_tests_passes(tmp_path: Path) -> None:
    file = tmp_path / "test_trial.py"
    file.write_text((Path(__file__).parent.parent / "examples" / "testing" / "test_trial.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "--rootdir", str(tmp_path), str(file)]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout
