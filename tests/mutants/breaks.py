"""What a deliberate break is: one guard of the source taken away, and the tests that must notice."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/tidings")


class StaleBreak(Exception):
    """The table names a text that its file no longer has, or has more than once."""


@dataclass(frozen=True, slots=True)
class Break:
    """One guard taken away: `text` occurs exactly once in `file` (below src/tidings), and one of `tests` must fail."""

    name: str
    guards: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The file, from the root of the tree."""
        return PACKAGE / self.file

    def broken(self, root: Path = ROOT) -> str:
        """The file's text with the guard taken away."""
        whole = (root / self.path).read_text()
        if (times := whole.count(self.text)) != 1:
            raise StaleBreak(f"{self.name}: its text occurs {times} times in {self.path}: write it anew")
        return whole.replace(self.text, self.replacement)
