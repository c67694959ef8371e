"""What one more of a kind costs: the source files that name an existing one of it.

    python tools/touch.py [--root TREE] [--files]

A new field, channel, filter or node type has to be written wherever its twin is named today, so the files and lines
that name the twin are what a change would touch. A twin is a word that means nothing else in this tree, or does so
only in the folders that its rule leaves out or beside another word. Comments and docstrings count: they would have to
be changed too. What is made from other files is counted apart: migrations, which a test compares with schema.sql, and
files whose first lines say that they are generated.

At the end stand the lines and files of the tree, and its public names: those in an `__all__`, and all functions and
classes of modules that have no underscore before their name.
"""

import argparse
import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {".py", ".sql", ".html", ".ts"}
MADE_FROM_OTHERS = "storage/migrations/"
GENERATED = re.compile(r"\bgenerated (from|by)\b", re.IGNORECASE)
HEAD_LINES = 3
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCK = re.compile(r"(    )?(async def |def |class )|-- name: |create ")


@dataclass(frozen=True, slots=True)
class Twin:
    """Something there is one of already, and how it is found."""

    kind: str
    named: str
    word: str
    """A regular expression for its names, matched as whole words."""
    but_not_in: tuple[str, ...] = ()
    """Folders in which the word means something else."""
    beside: str = ""
    """What a function, class or statement must say too, for the word to mean this."""


TWINS = (
    Twin("a contact's field", "locale", "locale", but_not_in=("embedded/", "domain/content/", "domain/liquid_dates")),
    Twin("a channel", "voice", "voice|VOICE|Voice"),
    Twin("a channel with an address of its own", "whatsapp", "whatsapp|WHATSAPP|WhatsApp|Whatsapp"),
    Twin("a list filter", "the node of dead letters", "node|AtNode", beside=r"dead.?letter|failed_execution|replay"),
    Twin("an audience filter", "allows", "allows|allows_is", beside=r"allows(_is|\"|: Reached| sms)"),
    Twin("a node type", "branch", "branch|Branch|BRANCH", but_not_in=("domain/content/", "domain/liquid_tags")),
)
"""`voice` takes the phone number and `whatsapp` has its own field. `allows` is no field of a contact and no option: of
the older filters `tag`, `company` and `status`, lists and commands have options and parameters of their own as well."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the tree."""

    name: str
    text: str

    @property
    def is_derived(self) -> bool:
        """Whether it follows from other files."""
        head = "\n".join(self.text.splitlines()[:HEAD_LINES])
        return self.name.startswith(MADE_FROM_OTHERS) or bool(GENERATED.search(head))


def read_sources(root: Path) -> list[Source]:
    """The files of the package in a tree."""
    package = root / "src" / "tidings"
    paths = sorted(path for path in package.rglob("*") if path.suffix in SUFFIXES)
    return [Source(path.relative_to(package).as_posix(), path.read_text()) for path in paths]


def blocks(text: str) -> Iterable[list[str]]:
    """The functions, methods, classes and statements of a file, and what stands before and between them."""
    block: list[str] = []
    for line in text.splitlines():
        if _BLOCK.match(line) and block:
            yield block
            block = []
        block.append(line)
    yield block


def lines_naming(twin: Twin, source: Source) -> int:
    """How many lines of a file name the twin."""
    if source.name.startswith(twin.but_not_in):
        return 0
    word = re.compile(rf"\b({twin.word})\b")
    beside = re.compile(twin.beside, re.IGNORECASE)
    meant = [block for block in blocks(source.text) if beside.search("\n".join(block))]
    return sum(bool(word.search(line)) for block in meant for line in block)


def count_touched(twin: Twin, sources: Sequence[Source]) -> Mapping[str, int]:
    """The files that name a twin, each with the number of its lines that do."""
    counted = {source.name: lines_naming(twin, source) for source in sources}
    return {name: lines for name, lines in counted.items() if lines}


def exported_names(sources: Sequence[Source]) -> Mapping[str, int]:
    """How many names each module lists in `__all__`."""
    return {
        source.name: sum(isinstance(one, ast.Constant) for one in ast.walk(node.value))
        for source in sources
        if source.name.endswith(".py") and "__all__" in source.text
        for node in ast.parse(source.text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    }


def defined_names(sources: Sequence[Source]) -> int:
    """How many functions and classes of modules have a name without an underscore before it."""
    modules = [ast.parse(source.text) for source in sources if source.name.endswith(".py")]
    defined = [node for module in modules for node in module.body if isinstance(node, DEFINITIONS)]
    return sum(not node.name.startswith("_") for node in defined)


def report(sources: Sequence[Source], *, with_files: bool) -> Iterable[str]:
    """The lines to print."""
    written = [source for source in sources if not source.is_derived]
    derived = [source for source in sources if source.is_derived]
    for twin in TWINS:
        touched, made = count_touched(twin, written), count_touched(twin, derived)
        counts = f"{len(touched):3} files {sum(touched.values()):4} lines"
        yield f"{twin.kind + ', as ' + twin.named:52} {counts}   and derived: {len(made)} files"
        if with_files:
            yield from (f"    {lines:4} {name}" for name, lines in touched.items())
    for what, suffix in (("Python", ".py"), ("SQL", ".sql"), ("other", "")):
        chosen = [one for one in written if one.name.endswith(suffix or (".html", ".ts"))]
        yield f"{what:52} {len(chosen):3} files {sum(len(one.text.splitlines()) for one in chosen):5} lines"
    yield f"{'derived':52} {len(derived):3} files {sum(len(one.text.splitlines()) for one in derived):5} lines"
    exported = exported_names(sources)
    yield f"{'names in __all__':52} {sum(exported.values()):3} in {len(exported)} modules"
    yield f"{'functions and classes without an underscore':52} {defined_names(sources)}"


def main() -> None:
    """Print what the tree at `--root` would have touched."""
    parser = argparse.ArgumentParser(description="Show which files name an existing field, channel, filter or node.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the tree to look at")
    parser.add_argument("--files", action="store_true", help="name the files")
    given = parser.parse_args()
    print(*report(read_sources(given.root), with_files=given.files), sep="\n")


if __name__ == "__main__":
    main()
