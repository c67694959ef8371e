"""What processes have used, from /proc: CPU time and memory of a process with everything it has started."""

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def require_proc() -> None:
    """Say why nothing can be measured here, before anything is."""
    if not (PROC / "self" / "stat").exists():
        raise SystemExit("the benchmark reads CPU time and memory from /proc: run it on Linux")


def family(roots: Iterable[int]) -> list[int]:
    """The processes given and all that live of those they started, and so on."""
    children = _children()
    found, waiting = [], list(roots)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children[pid]
    return found


def cpu_seconds(roots: Iterable[int]) -> float:
    """User and system time of a family, with what its ended children have used.

    A process counts an ended child's time as soon as it has waited for it, so that nothing is lost or counted twice.
    """
    ticks = 0
    for pid in family(roots):
        stat = _stat(pid)
        ticks += sum(int(value) for value in stat[11:15])  # utime, stime, cutime, cstime
    return ticks * _TICK_SECONDS


def resident_bytes(roots: Iterable[int]) -> int:
    """The memory of a family; pages that its processes share are counted for each."""
    pages = 0
    for pid in family(roots):
        with suppress(FileNotFoundError, ProcessLookupError):
            pages += int((PROC / str(pid) / "statm").read_text().split()[1])
    return pages * _PAGE_BYTES


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for entry in PROC.glob("[0-9]*"):
        stat = _stat(int(entry.name))
        if stat:
            children[int(stat[1])].append(int(entry.name))
    return children


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may itself hold spaces and parentheses; none once the process is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
