"""Whose server it is, and where its files are."""

import hashlib
import os
import pwd
import secrets
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidings.domain.errors import EmbeddedServerFailed

REMEDY = "or set DATABASE_URL to a PostgreSQL of your own"
NAME_ONE = "name a data directory with --data-dir or TIDINGS_DATA_DIR"

# Where root's server lives when its own account cannot reach what was asked for. Every parent belongs to root.
SHARED_ROOT = Path("/var/lib/tidings")
OWNER = "owner"
"""The file in such a place that names the data directory whose files these are."""


def default_data_dir() -> Path:
    """Return the directory where this user's programs keep their data."""
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "tidings"
    configured = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (configured if configured.is_absolute() else _home() / ".local" / "share") / "tidings"


def _home() -> Path:
    """This user's home directory; one that does not exist is refused: root would make it, anywhere."""
    try:
        home = Path(os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError as error:
        raise EmbeddedServerFailed(f"HOME is not set: {NAME_ONE}, {REMEDY}") from error
    if not (home.is_absolute() and home.is_dir()):
        raise EmbeddedServerFailed(f"the home directory {str(home)!r} does not exist: {NAME_ONE}, {REMEDY}")
    return home


@dataclass(frozen=True, slots=True)
class Account:
    """The user that PostgreSQL runs as; never root, which PostgreSQL refuses."""

    uid: int
    gid: int
    name: str

    @property
    def is_switched(self) -> bool:
        """Whether a child must change its user to become this account."""
        return self.uid != os.geteuid()


@dataclass(frozen=True, slots=True)
class Site:
    """The files of one server, all below `home`: the data directory itself, or where root had to put it."""

    home: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's own directory."""
        return self.home / "postgres"

    @property
    def turn(self) -> Path:
        """The lock of the process that starts or stops the server."""
        return self.home / "supervisor.lock"

    @property
    def life(self) -> Path:
        """The lock that every process of the server inherits, so that it is free only when all of them are gone."""
        return self.home / "server.lock"

    @property
    def users(self) -> Path:
        """The lock that every process that uses the server shares."""
        return self.home / "users.lock"

    @property
    def keeper(self) -> Path:
        """The lock of the process that stops the server after its last user."""
        return self.home / "keeper.lock"

    @property
    def up(self) -> Path:
        """The lock of the one `tidings up` that keeps the server running; the file holds its pid."""
        return self.home / "up.lock"


def find_site(data_dir: Path) -> Site:
    """Find where the files of a data directory are, or would be; makes nothing."""
    data_dir = data_dir.resolve()
    if data_dir.exists():
        _check_owner(data_dir, os.geteuid())
    record = data_dir / "location"
    if not record.exists():
        return Site(data_dir)
    home = Path(record.read_text().strip())
    if not home.is_dir():
        raise EmbeddedServerFailed(
            f"the data of {data_dir} was kept in {home}, which is gone: restore it, or delete {record} to begin empty"
        )
    return Site(home)


def make_site(data_dir: Path) -> tuple[Site, Account]:
    """Find the files of a data directory and the account that runs them, making the directories that are missing."""
    data_dir = data_dir.resolve()
    _make_directory(data_dir, mode=0o711 if os.geteuid() == 0 else 0o700)
    site = find_site(data_dir)
    account = _account_for(site)
    if site.data.exists():
        _check_owner(site.data, account.uid)
    if _can_enter(site.home, account):
        return site, account
    if site.data.exists():
        raise EmbeddedServerFailed(f"user {account.name!r} cannot enter {site.home}: open its parents, {REMEDY}")
    return _move_site(data_dir, account), account


def _account_for(site: Site) -> Account:
    if os.geteuid() != 0:
        return _known_account(os.geteuid())
    if site.data.exists() and site.data.stat().st_uid != 0:
        return _known_account(site.data.stat().st_uid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name)
    raise EmbeddedServerFailed(
        f"PostgreSQL does not run as root, and there is no user postgres or nobody: run as another user, {REMEDY}"
    )


def _known_account(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise EmbeddedServerFailed(
            f"uid {uid} has no entry in /etc/passwd, which PostgreSQL needs: add one, {REMEDY}"
        ) from error
    return Account(uid, entry.pw_gid, entry.pw_name)


def _check_owner(path: Path, uid: int) -> None:
    owner = path.stat().st_uid
    if owner != uid:
        raise EmbeddedServerFailed(
            f"{path} belongs to {_user_name(owner)}, not to {_user_name(uid)}: run as its owner, "
            f"choose another data directory, {REMEDY}"
        )


def _user_name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name!r}"
    except KeyError:
        return f"uid {uid}"


def _move_site(data_dir: Path, account: Account) -> Site:
    # Opening root's directories to others would be worse than keeping the files elsewhere.
    home = make_shared_directory(hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16], mode=0o711)
    if not _can_enter(home, account):
        raise EmbeddedServerFailed(
            f"user {account.name!r} can enter neither {data_dir} nor {home}: run as another user, {REMEDY}"
        )
    write_private(home / OWNER, f"{data_dir}\n")
    write_private(data_dir / "location", f"{home}\n")
    return Site(home)


def moved_sites() -> Iterator[tuple[Site, Path]]:
    """Yield each place that root's files were moved to, with the data directory that it belongs to."""
    for record in SHARED_ROOT.glob(f"*/{OWNER}"):
        with suppress(FileNotFoundError):  # another process is removing it
            yield Site(record.parent), Path(record.read_text().strip())


def make_shared_directory(name: str, mode: int) -> Path:
    """Make a directory of root's that every account can pass through."""
    _make_directory(SHARED_ROOT, mode=0o755)
    _make_directory(SHARED_ROOT / name, mode)
    return SHARED_ROOT / name


def _make_directory(path: Path, mode: int) -> None:
    if not path.exists():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)  # whatever the umask says


def _can_enter(directory: Path, account: Account) -> bool:
    return not account.is_switched or run_as(account, ["sh", "-c", 'cd -- "$1"', "sh", str(directory)]).returncode == 0


def run_as(
    account: Account,
    command: Sequence[str],
    *,
    pass_fds: Sequence[int] = (),
    stderr: int = subprocess.STDOUT,
    text_in: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end as the account, in a session of its own, with its output captured."""
    switched = account.is_switched
    return subprocess.run(  # noqa: S603
        command,
        input=text_in,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        check=False,
        cwd="/",
        env=_clean_environment(),
        pass_fds=pass_fds,
        start_new_session=True,
        user=account.uid if switched else None,
        group=account.gid if switched else None,
        extra_groups=[] if switched else None,
    )


def _clean_environment() -> dict[str, str]:
    # None of the caller's PG* settings, none of its secrets, and messages in one language.
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    draft.rename(path)
