"""What a comment or a docstring names is there: each file, and "X in Y.py" with X in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "tidings"
SOURCES = sorted([*SRC.rglob("*.py"), *SRC.rglob("*.sql")])

# Not what begins a quoted string: that is data of the code, not something it says.
FILE = r"(?<![\w/.<*\"'-])(?P<file>(?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:py|sql))\b"
NAME = r"`?(?P<{0}>[A-Za-z_][\w.]*)(?:\(\))?`?"
NAMED = re.compile(rf"(?P<says>[Aa]s )?{NAME.format('first')}(?: and {NAME.format('second')})? in {FILE}")


def prose(path: Path) -> str:
    """A file's text with the lines of each comment joined, so that a reference may be broken between two."""
    return joined(path.read_text())


def joined(text: str) -> str:
    return re.sub(r"\n\s*(?:--|#)?\s*", " ", text)


def meant(path: Path, named: str) -> list[Path]:
    """The files that a source may mean: a whole path, or a name alone that the reader finds in the package."""
    if "/" not in named:
        return [source for source in SOURCES if source.name == named]
    return [place / named for place in (SRC, path.parent, ROOT) if (place / named).is_file()]


def is_name(match: re.Match[str], name: str) -> bool:
    """Whether this is a name of code and no word of the sentence: "as X in", or something no word looks like."""
    looks = "_" in name or "." in name or f"`{name}`" in match[0] or f"{name}()" in match[0]
    return looks or match["says"] is not None


def stale(path: Path) -> Iterator[str]:
    text = prose(path)
    for match in re.finditer(FILE, text):
        if not meant(path, match["file"]):
            yield f"{path.relative_to(SRC)}: {match['file']} is not there"
    for match in NAMED.finditer(text):
        targets = [target.read_text() for target in meant(path, match["file"])]
        for name in filter(None, (match["first"], match["second"])):
            last = re.compile(rf"\b{name.rpartition('.')[2]}\b")
            if targets and is_name(match, name) and not any(map(last.search, targets)):
                yield f"{path.relative_to(SRC)}: {name} is not in {match['file']}"


def test_every_file_and_name_that_the_source_refers_to_is_there() -> None:
    assert [one for path in SOURCES for one in stale(path)] == []


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("-- As stop in kernel/nowhere.py.", "kernel/nowhere.py is not there"),
        ("# as in nowhere.py", "nowhere.py is not there"),
        ("-- As find_contact in\n-- domain/flow/keys.py", "find_contact is not in domain/flow/keys.py"),
        ("# As campaign_key and gone in domain/flow/keys.py", "gone is not in domain/flow/keys.py"),
        ("# `gone` in keys.py makes it", "gone is not in keys.py"),
        ("# As campaign_key in domain/flow/keys.py; whoever is in keys.py", None),
    ],
)
def test_a_stale_reference_is_noticed(monkeypatch: pytest.MonkeyPatch, comment: str, said: str | None) -> None:
    path = SRC / "engine.py"
    monkeypatch.setattr("tests.architecture.test_references.prose", lambda _: joined(comment))

    assert list(stale(path)) == ([f"engine.py: {said}"] if said else [])
