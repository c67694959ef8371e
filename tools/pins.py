"""What is pinned: every package with its version, its hashes and what asks for it, from the requirements files."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENTS = (
    "requirements-install.txt",
    "requirements.txt",
    "requirements-dev.txt",
    "bench/peers/requirements.txt",
)
NODE_LOCK = "bench/peers/bullmq/package-lock.json"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^\s+#(?: via)?\s+([A-Za-z0-9._-]+)")


@dataclass(frozen=True, slots=True)
class Pinned:
    """One package at one version."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    ecosystem: str = "PyPI"


def normal_name(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(text: str) -> list[Pinned]:
    """Read a requirements file as `uv pip compile` writes it; a line that pins nothing is an error."""
    return [_pinned(block) for block in _blocks(text)]


def every_pin(root: Path = ROOT) -> list[Pinned]:
    """Return what any of the requirements files and the lock file of Node pins, once each."""
    found = [one for name in REQUIREMENTS for one in read_pins((root / name).read_text())]
    distinct = {(one.ecosystem, one.name, one.version): one for one in [*found, *_node_pins(root / NODE_LOCK)]}
    return [distinct[key] for key in sorted(distinct)]


def _blocks(text: str) -> Iterator[Sequence[str]]:
    block: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace() and block:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _pinned(block: Sequence[str]) -> Pinned:
    found = _PIN.match(block[0])
    if found is None:
        raise ValueError(f"{block[0]!r} pins nothing: write it like name==1.2.3")
    hashes = _HASH.findall("\n".join(block))
    via = [normal_name(asked[1]) for line in block[1:] if (asked := _VIA.match(line)) and asked[1] != "via"]
    return Pinned(normal_name(found[1]), found[2], tuple(sorted(hashes)), tuple(sorted(via)))


def _node_pins(lock: Path) -> Iterator[Pinned]:
    for place, package in json.loads(lock.read_text())["packages"].items():
        if "node_modules/" in place and "version" in package:
            name = package.get("name") or place.rpartition("node_modules/")[2]
            yield Pinned(name, package["version"], ecosystem="npm")
