"""Environments that hold a wheel, what it asks for, and nothing else: made without the network, in a second or two.

Packages are links to those of the tests' own environment, taken along the requirements that the wheel and they state;
pip then installs the wheel without an index and would refuse one that lacks something.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

# No file says otherwise where pip looks for packages: it is to look nowhere.
ALONE = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull, "PYTHONNOUSERSITE": "1"}


@dataclass(frozen=True)
class Environment:
    """A Python of its own with Tidings in it."""

    root: Path

    def run(self, command: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run one of its commands, in a home directory of its own that holds no settings."""
        return subprocess.run(
            [str(self.root / "bin" / command), *arguments],
            cwd=self.root,
            env={**ALONE, "HOME": str(self.root), **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def make_environment(root: Path, wheel: Path, *extras: str) -> Environment:
    """An empty environment, then what the wheel asks for with these extras, then the wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    (packages,) = root.glob("lib/python*/site-packages")
    for found in closure(wheel, extras):
        link(found, packages)
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    pip = [sys.executable, "-m", "pip", "--python", str(root / "bin" / "python"), "--isolated", "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-compile", wanted], check=True, env=ALONE)
    return Environment(root)


def metadata_of(wheel: Path) -> Message:
    """What a wheel says of itself."""
    with ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(packed.read(name).decode())


def requirements(texts: Sequence[str], extras: Sequence[str] = ()) -> Iterator[Requirement]:
    """Those that hold here and with these extras."""
    for requirement in map(Requirement, texts):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def closure(wheel: Path, extras: Sequence[str]) -> list[Distribution]:
    """The packages that a wheel needs, and those that they need."""
    found: dict[tuple[str, tuple[str, ...]], Distribution] = {}
    waiting = list(requirements(metadata_of(wheel).get_all("Requires-Dist", []), extras))
    while waiting:
        one = waiting.pop()
        key = (one.name.lower(), tuple(sorted(one.extras)))
        if key not in found:
            found[key] = distribution(one.name)
            waiting += requirements(found[key].requires or [], key[1])
    return list({id(one): one for one in found.values()}.values())


def link(found: Distribution, packages: Path) -> None:
    home = Path(sysconfig.get_path("purelib"))
    for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
        place = packages / top
        if not place.exists():
            place.symlink_to(home / top)
