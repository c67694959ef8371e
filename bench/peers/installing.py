"""Install the peers where nothing else is: a virtual environment, a node_modules and a Redis below `bench/.peers`."""

import asyncio
import hashlib
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PEERS = Path(__file__).parent
HOME = PEERS.parent / ".peers"
REQUIREMENTS = PEERS / "requirements.txt"
REDIS_PACKAGE = "redis-server"
INSTALL_SECONDS = 300.0
NODE_MAJOR = 18
_WARNING = re.compile(r"(npm )?warn", re.IGNORECASE)


class CannotInstall(Exception):
    """Something a peer needs cannot be had on this machine; the message is the reason."""


async def install_python() -> Path:
    """Give the interpreter of an environment with the pinned Python peers."""
    venv = HOME / "venv"
    if not _is_current(venv, REQUIREMENTS):
        shutil.rmtree(venv, ignore_errors=True)
        await run([sys.executable, "-m", "venv", str(venv)])
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        await run([*pip, "--require-hashes", "--requirement", str(REQUIREMENTS)])
        _mark_current(venv, REQUIREMENTS)
    return venv / "bin" / "python"


async def install_node() -> Path:
    """Give a directory with BullMQ's scripts and the pinned packages that they import."""
    node, npm = find_program("node"), find_program("npm")
    version = await run([node, "--version"])
    if int(version.strip().lstrip("v").split(".")[0]) < NODE_MAJOR:
        raise CannotInstall(f"node {version.strip()} is too old: install {NODE_MAJOR} or newer")
    home = HOME / "bullmq"
    lock = PEERS / "bullmq" / "package-lock.json"
    if not _is_current(home, lock):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _copy_scripts(home)
        await run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=home)
        _mark_current(home, lock)
    _copy_scripts(home)
    return home


async def install_redis() -> list[str]:
    """Give the command of a Redis: the system's own, or Debian's packages unpacked without touching the system."""
    if installed := shutil.which(REDIS_PACKAGE):
        return [installed]
    home = HOME / "redis"
    if not (home / ".installed").exists():
        await _unpack_redis(home)
        (home / ".installed").touch()
    libraries = ":".join(str(path) for path in sorted((home / "usr" / "lib").glob("*-linux-*")))
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(home / "usr" / "bin" / REDIS_PACKAGE)]


async def redis_version(command: Sequence[str]) -> str:
    """Ask a Redis for its version, which also shows that it runs here."""
    answer = await run([*command, "--version"])
    found = re.search(r"v=(\S+)", answer)
    if found is None:
        raise CannotInstall(f"redis-server does not run here: {answer.strip()}")
    return found[1]


def pinned_version(package: str) -> str:
    """Read the version of a Python peer from its pin."""
    found = re.search(rf"^{package}==(\S+)", REQUIREMENTS.read_text(), re.MULTILINE)
    return found[1] if found else "?"


def find_program(name: str) -> str:
    """Find a program on the path."""
    found = shutil.which(name)
    if found is None:
        raise CannotInstall(f"there is no {name} on this machine")
    return found


async def run(
    command: Sequence[str],
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    timeout: float = INSTALL_SECONDS,
) -> str:
    """Run a command to its end and give what it printed; a failure carries its last words."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), timeout)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise CannotInstall(f"{_short(command)} did not finish within {timeout:.0f} s") from None
    if process.returncode:
        raise CannotInstall(f"{_short(command)} failed: {_summary(err.decode() or out.decode())}")
    return out.decode()


async def _unpack_redis(home: Path) -> None:
    apt, dpkg = find_program("apt-get"), find_program("dpkg")
    # Only what is missing here: libraries that the system has already are found where they are.
    plan = await run([apt, "-qq", "install", "--simulate", "--no-install-recommends", REDIS_PACKAGE])
    names = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    shutil.rmtree(home, ignore_errors=True)
    downloads = home / "downloads"
    downloads.mkdir(parents=True)
    # apt's own user may not write below a private directory; without it apt downloads as whoever runs this.
    await run([apt, "-qq", "-o", "APT::Sandbox::User=root", "download", *names], cwd=downloads)
    for package in sorted(downloads.glob("*.deb")):
        await run([dpkg, "-x", str(package), str(home)])


def _copy_scripts(home: Path) -> None:
    for source in (PEERS / "bullmq").iterdir():
        if source.is_file():
            shutil.copy(source, home)


def _is_current(directory: Path, pins: Path) -> bool:
    stamp = directory / ".installed"
    return stamp.exists() and stamp.read_text() == _digest(pins)


def _mark_current(directory: Path, pins: Path) -> None:
    (directory / ".installed").write_text(_digest(pins))


def _digest(pins: Path) -> str:
    return hashlib.sha256(pins.read_bytes()).hexdigest()


def _short(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:3]])


def _summary(text: str) -> str:
    """Give the first and the last line that is no warning: npm says what is wrong in the one, Python in the other."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _WARNING.match(line)]
    return " … ".join(dict.fromkeys([*lines[:1], *lines[-1:]]))
