"""The check at the end of the tests' own run."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.leftovers import Run, server_directory
from tidings.embedded import placement


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setattr(placement, "SHARED_ROOT", tmp_path / "shared")
    run = Run()
    yield run
    run.end()
    assert not run.directory.exists()


def moved(owner: Path) -> Path:
    """Where root's server keeps its files if its account cannot enter the data directory."""
    home = placement.make_shared_directory(owner.name, mode=0o711)
    placement.write_private(home / placement.OWNER, f"{owner}\n")
    return home


def test_a_run_that_cleared_away_has_left_nothing(run: Run, tmp_path: Path) -> None:
    assert server_directory(run.directory).exists()
    moved(tmp_path / "of another run" / "data")

    assert run.wait_for_leftovers([tmp_path / "mine"], patience_seconds=0) == []


def test_what_a_run_left_is_named(run: Run, tmp_path: Path) -> None:
    left = Path(tempfile.mkdtemp(dir=run.directory))
    homes = {moved(run.directory / "hidden" / "data"), moved(tmp_path / "test_one" / "home")}

    assert {*run.wait_for_leftovers([tmp_path], patience_seconds=0)} == {left, *homes}


def test_everything_that_tests_make_is_within_the_run() -> None:
    assert Path(tempfile.gettempdir()) == Path(os.environ["TIDINGS_TEST_RUN"])
