"""What is installed is pinned with hashes, pip and setuptools among it, and no file names an index."""

import re
from importlib.metadata import version

import pytest

from tools.pins import REQUIREMENTS, ROOT, read_pins

INDEX = re.compile(r"--(?:extra-)?index-url|--find-links|https?://|file://")
BUILD = ("requirements-install.txt", "requirements.txt", "requirements-dev.txt")


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_package_has_its_version_and_its_hashes(name: str) -> None:
    text = (ROOT / name).read_text()
    pins = read_pins(text)

    assert len(pins) == len(re.findall(r"^\S+==", text, re.MULTILINE)) > 0
    assert [one.name for one in pins if not one.hashes] == []
    assert INDEX.search(text) is None


def test_the_files_that_make_the_environment_agree() -> None:
    versions: dict[str, set[str]] = {}
    for name in BUILD:
        for one in read_pins((ROOT / name).read_text()):
            versions.setdefault(one.name, set()).add(one.version)

    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", ["pip", "setuptools", "hatchling"])
def test_what_installs_is_as_pinned(name: str) -> None:
    [pinned] = [one for one in read_pins((ROOT / "requirements-install.txt").read_text()) if one.name == name]

    assert version(name) == pinned.version


def test_nothing_is_fetched_without_a_hash() -> None:
    """Building the package itself fetches nothing: what builds it is installed before, as pinned."""
    makefile = (ROOT / "Makefile").read_text()
    steps = [line for line in re.findall(r"-m pip install (.*)", makefile) if "test-wheel" not in line]

    assert "requirements-install.txt" in steps[0]
    assert all("--require-hashes" in step or "--no-deps --no-build-isolation" in step for step in steps)


def test_a_line_that_pins_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="pins nothing"):
        read_pins("idna>=3.10\n")
