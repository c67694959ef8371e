"""`make dist`: nothing is built that nobody could build again, or that the changelog does not speak of."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging.environments import ALONE
from tidings.version import __version__
from tools import dist
from tools.dist import ROOT, Refused, read_version, require_changelog, require_clean, write_sbom

UNRELEASED = "# Changelog\n\n## Unreleased\n\n### Added\n"
RELEASED = "# Changelog\n\n## 0.1.0 (2026-12-01)\n\n### Added\n"


def test_the_version_stands_in_one_place() -> None:
    assert read_version(ROOT) == __version__


@pytest.mark.parametrize(("text", "version"), [(UNRELEASED, "0.1.0.dev0"), (RELEASED, "0.1.0")])
def test_a_version_has_its_section_first(text: str, version: str) -> None:
    require_changelog(text, version)


@pytest.mark.parametrize(
    ("text", "version", "due"),
    [
        (UNRELEASED, "0.1.0", "## 0.1.0"),
        (RELEASED, "0.2.0.dev0", "## Unreleased"),
        (RELEASED, "0.1.1", "## 0.1.1"),
        (UNRELEASED + RELEASED, "0.1.0", "## 0.1.0"),
        ("", "0.1.0", "## 0.1.0"),
    ],
)
def test_a_version_without_its_section_is_refused(text: str, version: str, due: str) -> None:
    with pytest.raises(Refused, match=f"must be '{due}' for version {version}"):
        require_changelog(text, version)


def test_a_tree_that_is_not_as_committed_is_refused(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "first"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, env={**ALONE, "HOME": str(tmp_path)}, check=True)
    require_clean(tmp_path)
    (tmp_path / "stray.txt").touch()

    with pytest.raises(Refused, match=r"1 files are not as committed, stray\.txt first; commit or remove them"):
        require_clean(tmp_path)


def test_what_is_refused_is_one_line_and_builds_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refuse(_: Path) -> None:
        raise Refused("the reason")

    monkeypatch.setattr(dist, "require_clean", refuse)
    monkeypatch.setattr(dist, "DIST", tmp_path / "dist")

    assert dist.main() == 1
    assert capsys.readouterr().err == "nothing was built: the reason\n"
    assert not (tmp_path / "dist").exists()


def test_the_bill_of_materials_is_made_of_the_commit(tmp_path: Path) -> None:
    made = [write_sbom(ROOT, _made(tmp_path / name), "0.1.0") for name in ("a", "b")]

    assert [one.name for one in made] == ["tidings-0.1.0.cdx.json"] * 2
    assert made[0].read_bytes() == made[1].read_bytes()
    committed_at = json.loads(made[0].read_bytes())["metadata"]["timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", committed_at)


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
