"""Build the sdist, the wheel and the bill of materials of this version: `make dist`.

Refuses a tree that holds more or less than what is committed, a version that CHANGELOG.md does not speak of, and a page
that is missing, older than its sources or too large (tools/page.py). The wheel is built from the sdist, as others will
build it, so that the sdist lacks nothing; without the network, and the same bytes from the same commit.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from tools.page import PageUnfit, require_page
from tools.pins import read_pins
from tools.sbom import make_sbom

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


class Refused(Exception):
    """Why nothing was built."""


def main() -> int:
    """Check, build, and print what was made."""
    try:
        version = read_version(ROOT)
        require_clean(ROOT)
        require_changelog((ROOT / "CHANGELOG.md").read_text(), version)
        print(require_page(ROOT))
    except (Refused, PageUnfit) as error:
        print(f"nothing was built: {error}", file=sys.stderr)
        return 1
    made = [*build(ROOT, DIST), write_sbom(ROOT, DIST, version)]
    for path in made:
        print(
            f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes  sha256 {sha256(path.read_bytes()).hexdigest()}"
        )
    return 0


def read_version(root: Path) -> str:
    """The version, from the one place that says it."""
    found = re.search(r'^__version__ = "([^"]+)"$', (root / "src/tidings/version.py").read_text(), re.MULTILINE)
    if found is None:
        raise Refused("src/tidings/version.py says no version")
    return found[1]


def require_clean(root: Path) -> None:
    """Refuse what nobody could build again from a commit."""
    changed = _run(["git", "status", "--porcelain"], root).splitlines()
    if changed:
        raise Refused(f"{len(changed)} files are not as committed, {changed[0][3:]} first; commit or remove them")


def require_changelog(text: str, version: str) -> None:
    """Refuse a release without its own section at the top, and anything else without one for what is unreleased."""
    sections = [line.removeprefix("## ").split()[0] for line in text.splitlines() if line.startswith("## ")]
    due = "Unreleased" if is_unreleased(version) else version
    if sections[:1] != [due]:
        raise Refused(f"the first section of CHANGELOG.md must be '## {due}' for version {version}")


def is_unreleased(version: str) -> bool:
    """Whether a version is only what the next release will be called."""
    return ".dev" in version


def build(root: Path, into: Path) -> Sequence[Path]:
    """Make the sdist of a tree, and of it the wheel."""
    shutil.rmtree(into, ignore_errors=True)
    _run([sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(into)], root)
    (sdist,) = into.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(sdist) as packed:
            packed.extractall(scratch, filter="data")
        (unpacked,) = Path(scratch).iterdir()
        _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(into)], unpacked)
    return [sdist, *into.glob("*.whl")]


def write_sbom(root: Path, into: Path, version: str) -> Path:
    """Write what this version is made of, beside what was built."""
    committed_at = _run(["git", "show", "--no-patch", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"], root)
    path = into / f"tidings-{version}.cdx.json"
    path.write_bytes(make_sbom(version, read_pins((root / "requirements.txt").read_text()), committed_at.strip()))
    return path


def _run(command: Sequence[str], where: Path) -> str:
    environment = {**os.environ, "TZ": "UTC"}
    ended = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
