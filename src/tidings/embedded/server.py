"""Start, share and stop the server of a data directory.

The server is started in a session of its own and outlives the process that started it; asked for with
`stop_when_unused`, it ends with its last user (keeper.py). It listens on 127.0.0.1 under a password and opens no socket
file, so no length or mode of a path matters.
"""

import asyncio
import os
import random
import secrets
import shutil
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded.binaries import Binaries, find_binaries
from tidings.embedded.keeper import spawn_keeper
from tidings.embedded.placement import REMEDY, Account, Site, find_site, make_site, run_as, write_private
from tidings.embedded.processes import POLL_SECONDS, is_held, is_postmaster, locked, open_lock, try_lock, until
from tidings.embedded.roles import MADE, OWNER, PASSWORDS, SUPERUSER, make_roles, password_of
from tidings.embedded.users import depart, is_used, join

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "5min",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "jit": "off",
    "autovacuum": "on",
    "autovacuum_naptime": "15s",
    # Not /dev/shm: containers make it tiny, and systemd empties it when the user who started the server logs out.
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # A client's own mistakes reach the client; in the log they would only grow, with addresses of people in them.
    "log_min_messages": "log",
}

LOG = "postgres.log"
LOG_BYTES = 10_000_000
LOG_LINES_SHOWN = 6
# Below the range from which systems pick the ports of outgoing connections.
PORTS = range(20_000, 32_000)
ORPHAN_SECONDS = 60.0
# The second is for a server that was killed while it started, or lost its port to another program.
START_ATTEMPTS = 2
COMING_SECONDS = 15.0
"""How long a command that starts nothing waits for a server that others are starting."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a data directory's server; the address holds the password and is not printed."""

    running: bool
    pid: int | None = None
    dsn: str | None = field(default=None, repr=False)
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What a live postmaster wrote about itself."""

    pid: int
    port: str
    state: str


async def ensure_running(
    data_dir: Path,
    *,
    bin_dir: Path | None = None,
    settings: Mapping[str, str] | None = None,
    stop_when_unused: bool = False,
) -> str:
    """Return the address of the data directory's server once it accepts connections, starting it if none runs.

    Any number of processes may call this at once; each is a user of the server until it ends. It waits without a limit
    while a live server recovers. `settings` and `stop_when_unused` apply only if this call starts the server.
    """
    with failures_naming(data_dir):
        site, account = make_site(data_dir)
        async with locked(site.turn):
            wanted, keep_port = SETTINGS | dict(settings or {}), is_used(site)
            await join(site)
            log_size = _shorten_log(site)
            for _ in range(START_ATTEMPTS):
                found = await _find_running(site)
                if found is None and stop_when_unused:
                    spawn_keeper(site, data_dir)  # before the server: we may die between the two
                pid = found.pid if found else await _start(site, account, bin_dir, wanted, keep_port=keep_port)
                server = await _until_ready(site, pid)
                if server is not None:
                    return _dsn(site, server)
            raise EmbeddedServerFailed(f"PostgreSQL in {site.data} stops while starting: {_read_log(site, log_size)}")


async def find_running(data_dir: Path) -> str:
    """Return the address of the data directory's server once it accepts connections; never starts one.

    Waits for a moment while another process is starting it.
    """
    with failures_naming(data_dir):
        site = find_site(data_dir)
        with suppress(TimeoutError):
            async with asyncio.timeout(COMING_SECONDS):
                await until(lambda: read_postmaster(site) is not None or not _is_coming(site))
        found = read_postmaster(site)
        if found is not None:
            await join(site)
            found = await _until_ready(site, found.pid)
        if found is None:
            raise EmbeddedServerFailed(
                f"no PostgreSQL of Tidings runs in {data_dir}: start it with 'tidings up', or name another with "
                "--data-dir, TIDINGS_DATA_DIR or DATABASE_URL"
            )
        return _dsn(site, found)


def _is_coming(site: Site) -> bool:
    return is_held(site.turn) or is_held(site.up)


async def stop(data_dir: Path) -> bool:
    """Stop the server, ending its connections, and wait until it is gone; False if it was not running."""
    with failures_naming(data_dir):
        site = find_site(data_dir)
        depart(site)
        if not site.data.exists():
            return False
        async with locked(site.turn):
            return await _stop(site)


async def stop_completely(site: Site) -> None:
    """Stop a server that may have no pid yet; the caller holds the turn."""
    # A starter that was cancelled or killed has left an initdb at work, or a server that has not yet written its pid.
    await _wait_out(site, lambda: read_postmaster(site) is not None or not is_held(site.life))
    await _stop(site)


async def remove(data_dir: Path) -> None:
    """Stop the server and remove the data directory with everything in it, wherever its files are kept."""
    with failures_naming(data_dir):
        site = find_site(data_dir)
        if not site.home.exists():
            return
        depart(site)
        async with locked(site.turn):
            await stop_completely(site)
            _remove_files(site, data_dir)


async def status(data_dir: Path) -> Status:
    """Return whether the server runs, without waiting for a process that is starting or stopping it."""
    with failures_naming(data_dir):
        site = find_site(data_dir)
        server, version = read_postmaster(site), _data_version(site)
        if server is None:
            return Status(running=False, version=version)
        return Status(running=True, pid=server.pid, dsn=_dsn(site, server), version=version)


def read_postmaster(site: Site) -> Postmaster | None:
    """Read postmaster.pid, believing it only if that pid is this server's postmaster."""
    try:
        lines = (site.data / "postmaster.pid").read_text(errors="replace").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    if not is_postmaster(pid, site.data):
        return None
    # The file grows line by line while the server starts; the eighth is its state.
    port, state = (lines[row].strip() if row < len(lines) else "" for row in (3, 7))
    return Postmaster(pid, port, state or "starting")


async def signal_and_wait(site: Site, pid: int, number: signal.Signals) -> None:
    """Signal a postmaster that was just read, and wait until no process of its server is left."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    await until(lambda: not _is_alive(site, pid))


def _is_alive(site: Site, pid: int) -> bool:
    # The lock alone would do, but network file systems do not hand it down to a child.
    return is_held(site.life) or is_postmaster(pid, site.data)


async def _stop(site: Site) -> bool:
    server = read_postmaster(site)
    if server is not None:
        await signal_and_wait(site, server.pid, signal.SIGINT)
    return server is not None


def _remove_files(site: Site, data_dir: Path) -> None:
    shutil.rmtree(site.home)
    if data_dir.exists():  # last: as long as it is there, it says where the rest is
        shutil.rmtree(data_dir)


async def _find_running(site: Site) -> Postmaster | None:
    """Find a server that runs or is about to; one that is being stopped is first stopped to the end."""
    server = read_postmaster(site)
    if server is None or server.state != "stopping":
        return server
    # A smart stop waits for its clients, who may stay for ever, and refuses new ones meanwhile.
    await signal_and_wait(site, server.pid, signal.SIGINT)
    return None


async def _start(
    site: Site, account: Account, bin_dir: Path | None, settings: dict[str, str], *, keep_port: bool
) -> int:
    binaries = await find_binaries(bin_dir, account)
    life = open_lock(site.life)
    try:
        await _take_over(site, life)
        if _data_version(site) is None:
            await _initialise(site, account, binaries, life, sync=settings.get("fsync") != "off")
        _check_version(site, binaries)
        # Its processes are gone, so a process that has that pid now is a stranger; PostgreSQL would refuse to start.
        (site.data / "postmaster.pid").unlink(missing_ok=True)
        await make_roles(site, account, binaries, life, _single_user_options(binaries, settings))
        settings |= {"port": _choose_port(site, keep_port)}
        if binaries.major >= 16:
            settings |= {"scram_iterations": "4096"}  # for passwords that people set for roles of their own
        return _launch(site, account, binaries, settings, life)
    finally:
        os.close(life)


async def _take_over(site: Site, life: int) -> None:
    """Wait out every process of an earlier server: an orphaned backend or initdb, or a server in another container."""
    await _wait_out(site, lambda: try_lock(life))


async def _wait_out(site: Site, is_over: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(ORPHAN_SECONDS):
            await until(is_over)
    except TimeoutError as error:
        raise EmbeddedServerFailed(
            f"{site.data} is in use by processes of an earlier server, or from another container: stop them, {REMEDY}"
        ) from error


async def _initialise(site: Site, account: Account, binaries: Binaries, life: int, *, sync: bool) -> None:
    """Make the data directory beside its place, then rename it: a crash leaves either all of it or none."""
    draft = site.home / "initdb"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if not (site.home / PASSWORDS[SUPERUSER]).exists():
        write_private(site.home / PASSWORDS[SUPERUSER], secrets.token_urlsafe(24))
    (site.home / MADE).unlink(missing_ok=True)  # of data that was removed by hand
    write_private(draft / "password", password_of(site, SUPERUSER))
    if account.is_switched:
        os.chown(draft / "password", account.uid, account.gid)
        os.chown(draft, account.uid, account.gid)
    result = await asyncio.to_thread(run_as, account, _initdb_command(draft, binaries, sync), pass_fds=[life])
    if result.returncode != 0:
        raise EmbeddedServerFailed(f"initdb failed in {site.home}: {_last_lines(result.stdout)}")
    (draft / "data").rename(site.data)
    _sync_directory(site.home)
    shutil.rmtree(draft)


def _initdb_command(draft: Path, binaries: Binaries, sync: bool) -> list[str]:
    # The built-in provider, since 17, sorts alike on every system and through every upgrade of its libraries.
    builtin = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # Many rounds make guessing a short password expensive; ours has 192 bits, and rounds are half of a connection.
    # But some clients refuse to do with one, so only a server for tests does.
    rounds = ["--set=scram_iterations=1"]
    return [
        str(binaries.directory / "initdb"),
        f"--pgdata={draft / 'data'}",
        f"--username={SUPERUSER}",
        f"--pwfile={draft / 'password'}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--data-checksums",
        "--no-instructions",
        *([] if sync else ["--no-sync"]),  # it will not wait for the disk later either: a third of the time
        *(builtin if binaries.major >= 17 else ["--locale=C.UTF-8"]),
        *(rounds if binaries.major >= 16 and not sync else []),
    ]


def _single_user_options(binaries: Binaries, settings: Mapping[str, str]) -> list[str]:
    # It waits for the disk, and makes passwords expensive to guess, only where the server itself would; and a
    # statement that fails is not written down: there are passwords in it.
    sync = settings.get("fsync") != "off"
    options = {"fsync": "on" if sync else "off", "log_min_error_statement": "panic"}
    options |= {"scram_iterations": "4096" if sync else "1"} if binaries.major >= 16 else {}
    options |= {"dynamic_shared_memory_type": "mmap", "shared_buffers": "8MB"}
    return [part for name, value in options.items() for part in ("-c", f"{name}={value}")]


def _launch(site: Site, account: Account, binaries: Binaries, settings: Mapping[str, str], life: int) -> int:
    """Start the postmaster as no child of ours, in its own session, holding the life lock; return its pid."""
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    postgres = [str(binaries.directory / "postgres"), "-D", str(site.data), *options]
    log = os.open(site.home / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        shell = run_as(account, ["sh", "-c", '"$@" >&2 & echo $!', "sh", *postgres], pass_fds=[life], stderr=log)
    finally:
        os.close(log)
    return int(shell.stdout)


async def _until_ready(site: Site, pid: int) -> Postmaster | None:
    """Wait as long as the server lives, however long it recovers; None if it is gone."""
    while _is_alive(site, pid):
        server = read_postmaster(site)
        if server is not None and server.state == "ready":
            return server
        await asyncio.sleep(POLL_SECONDS)
    return None


def _dsn(site: Site, server: Postmaster) -> str:
    return f"postgresql://{OWNER}:{password_of(site, OWNER)}@127.0.0.1:{server.port}/postgres"


def _data_version(site: Site) -> str | None:
    try:
        return (site.data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return None


def _check_version(site: Site, binaries: Binaries) -> None:
    version = _data_version(site)
    if version != str(binaries.major):
        raise EmbeddedServerFailed(
            f"{site.data} was made by PostgreSQL {version}, and {binaries.directory} is {binaries.major}: set "
            f"TIDINGS_PG_BIN to binaries of {version}, or move the data with pg_dump, {REMEDY}"
        )


def _choose_port(site: Site, keep: bool) -> str:
    """Take the port of the last start, so that the address stays, unless another program has it now.

    With `keep` there is no other choice: processes that use the server know it by this port.
    """
    record = site.home / "port"
    with suppress(FileNotFoundError, ValueError):
        kept = int(record.read_text())
        if _is_free(kept):
            return str(kept)
        if keep:
            raise EmbeddedServerFailed(
                f"port {kept}, where the users of {site.data} look for it, is taken by another program: end that one, "
                "or stop every process that uses the server and start again"
            )
    port = next(port for port in random.sample(PORTS, len(PORTS)) if _is_free(port))
    write_private(record, str(port))
    return str(port)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As PostgreSQL binds: connections of the last server that linger do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _shorten_log(site: Site) -> int:
    """Bound the log, keeping its end in a second file; return its size."""
    log = site.home / LOG
    size = log.stat().st_size if log.exists() else 0
    if size <= LOG_BYTES:
        return size
    with log.open("rb") as file:
        file.seek(size - LOG_BYTES)
        write_private(site.home / f"{LOG}.1", file.read(LOG_BYTES).decode(errors="replace"))
    os.truncate(log, 0)  # in place: a running server appends to it
    return 0


def _read_log(site: Site, start: int) -> str:
    with (site.home / LOG).open("rb") as file:
        file.seek(start)
        return _last_lines(file.read(LOG_BYTES).decode(errors="replace"))


def _last_lines(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-LOG_LINES_SHOWN:])


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def failures_naming(data_dir: Path) -> Iterator[None]:
    """Turn what the system refuses into an error that names the data directory and the remedy."""
    try:
        yield
    except OSError as error:
        raise EmbeddedServerFailed(
            f"cannot use {data_dir} ({error}): choose another data directory, {REMEDY}"
        ) from error
