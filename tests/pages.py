"""The pages that people read, and what is in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *(ROOT / "tests").glob("**/README.md")])
USERS_PAGES = [page for page in PAGES if page.is_relative_to(DOCS) or page.name in {"README.md", "CHANGELOG.md"}]
USERS_PAGES = [page for page in USERS_PAGES if not page.is_relative_to(ROOT / "tests")]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path, *languages: str) -> list[str]:
    """The blocks of a page in some languages, without the indentation of a list they stand in."""
    found = FENCE.findall(page.read_text())
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, name, text in found if name in languages]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Where a link may lead within a page, as GitHub names its headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def columns_about_people() -> dict[str, set[str]]:
    """The columns of each table that the page about privacy names; none where it says that all are meant."""
    rows = [line.split("|")[1:3] for line in (DOCS / "privacy.md").read_text().splitlines() if line.startswith("| `")]
    found: dict[str, set[str]] = {}
    for tables, columns in rows:
        for table in re.findall(r"`(\w+)`", tables):
            found.setdefault(table, set()).update(re.findall(r"`(\w+)`", columns))
    return found
