"""`make web` and what `make dist` asks of the page: that it is there, of these sources, and small."""

import gzip
import json
from pathlib import Path

import pytest

from tools import page
from tools.dist import ROOT
from tools.page import PageUnfit, build, first_load, hash_of_sources, main, require_page


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with sources and a page that was built of them."""
    (tmp_path / "web/src").mkdir(parents=True)
    (tmp_path / "web/sources.json").write_text(json.dumps({"folders": ["web/src"], "files": ["web/sources.json"]}))
    (tmp_path / "web/src/main.tsx").write_text("one")
    built = tmp_path / "src/tidings/page"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text('<script src="/assets/main.js"></script><link href="/assets/main.css">')
    manifest = {
        "main.tsx": {"file": "assets/main.js", "imports": ["_shared.js"], "css": ["assets/main.css"]},
        "_shared.js": {"file": "assets/shared.js"},
        "screen.tsx": {"file": "assets/screen.js", "imports": ["_shared.js"]},
    }
    (built / "manifest.json").write_text(json.dumps(manifest))
    for name, size in [("main.js", 1000), ("main.css", 100), ("shared.js", 10), ("screen.js", 1)]:
        (built / f"assets/{name}").write_bytes(b"x" * size * 10)
        (built / f"assets/{name}.gz").write_bytes(b"x" * size)
    mark_built(tmp_path)
    return tmp_path


def mark_built(tree: Path) -> None:
    (tree / "src/tidings/page/sources.sha256").write_text(f"{hash_of_sources(tree)}\n")


def test_a_page_of_these_sources_is_fit(tree: Path) -> None:
    assert "at first" in require_page(tree)


def test_first_load_is_what_the_index_names_and_what_that_imports(tree: Path) -> None:
    built = tree / "src/tidings/page"

    index = len(gzip.compress((built / "index.html").read_bytes()))

    assert first_load(built) == index + 1000 + 100 + 10


def test_a_missing_an_old_and_a_large_page_are_unfit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_AT_FIRST", 1_000)
    with pytest.raises(PageUnfit, match=r"loads 1,\d+ bytes at first, above 1,000"):
        require_page(tree)

    (tree / "web/src/main.tsx").write_text("two")
    with pytest.raises(PageUnfit, match="older than web/; run `make web`"):
        require_page(tree)

    (tree / "src/tidings/page/index.html").unlink()
    with pytest.raises(PageUnfit, match="holds no page; run `make web`"):
        require_page(tree)


def test_a_source_that_is_renamed_makes_the_page_old(tree: Path) -> None:
    (tree / "web/src/main.tsx").rename(tree / "web/src/other.tsx")

    with pytest.raises(PageUnfit, match="older"):
        require_page(tree)


def test_a_current_page_is_not_built_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("nothing was to be run")

    monkeypatch.setattr(page, "run_npm", refuse)

    build(tree, if_older=True)


def test_starting_everything_goes_on_without_a_page(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise PageUnfit("there is no npm")

    monkeypatch.setattr(page, "run_npm", fail)
    (tree / "web/src/main.tsx").write_text("two")

    build(tree, if_older=True)

    assert "everything else works: there is no npm" in capsys.readouterr().err
    with pytest.raises(PageUnfit):
        build(tree, if_older=False)


def test_what_cannot_be_checked_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def lack(*_: object) -> None:
        raise page.NodeMissing("no index answers")

    monkeypatch.setattr(page, "run_npm", lack)

    assert main(["check"]) == 2
    assert capsys.readouterr().err.startswith("UNCHECKED: web/ was neither checked nor built")


def test_every_source_that_is_listed_is_there() -> None:
    listed = json.loads((ROOT / "web/sources.json").read_text())

    assert all((ROOT / one).is_dir() for one in listed["folders"])
    assert all((ROOT / one).is_file() for one in listed["files"])


def test_the_lock_files_of_npm_name_no_registry() -> None:
    for lock in [ROOT / "web/package-lock.json", ROOT / "clients/typescript/package-lock.json"]:
        assert '"resolved"' not in lock.read_text()
