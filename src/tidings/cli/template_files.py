"""Templates in files: a page or a text by itself, or YAML or JSON with one or more."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidings.cli.definition_files import SUFFIXES, FileProblem, FilesInvalid
from tidings.cli.object_files import read_given

PAGES: Mapping[str, str] = {".html": "html", ".htm": "html", ".liquid": "html", ".mjml": "html", ".txt": "text"}
"""The files that hold nothing but a template, and what it is written in."""
LAYOUT = ".layout"
"""Before the ending of a file that wraps messages: `newsletter.layout.html`."""


def read_templates(files: Sequence[Path]) -> list[Mapping[str, object]]:
    """Return every template in these files, or raise FilesInvalid; a page is named after its file."""
    objects = [file for file in files if file.suffix.lower() in SUFFIXES]
    pages = [file for file in files if file.suffix.lower() in PAGES]
    unknown = [file for file in files if file not in objects and file not in pages]
    if unknown:
        known = ", ".join(sorted({*SUFFIXES, *PAGES}))
        raise FilesInvalid([FileProblem(str(file), None, None, "", f"use one of {known}") for file in unknown])
    return [*(one.value for one in read_given(objects, "template")), *map(_page, pages)]


def _page(file: Path) -> Mapping[str, object]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FilesInvalid([FileProblem(str(file), None, None, "", f"cannot be read: {reason}")]) from error
    name = file.stem
    kind = {"kind": "layout"} if name.endswith(LAYOUT) else {}
    # An editor ends a file with a line end, which nobody means to send.
    return {"name": name.removesuffix(LAYOUT), "format": PAGES[file.suffix.lower()], "text": text.rstrip("\n"), **kind}
