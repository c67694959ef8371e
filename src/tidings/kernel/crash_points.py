"""Named places where a test can make this process die or freeze; without the setting they cost one comparison.

`TIDINGS_CRASH_AT=after_mark:3` kills the process (SIGKILL) the third time it gets there; `after_mark:3:stop` freezes
it (SIGSTOP).
"""

import os
import signal

POINTS = (
    "before_trigger_commit",
    "after_claim",
    "after_render",
    "before_reserve_commit",
    "after_reserve",
    "before_mark_commit",
    "after_mark",
    "before_call",
    "after_call",
    "before_finalize_commit",
    "after_finalize",
    "before_release_commit",
    "after_release",
    "before_deploy_commit",
    "after_deploy_chunk",
    "before_rollup_commit",
    "before_enroll_commit",
    "after_enroll_chunk",
)


def _armed() -> tuple[str, int, signal.Signals] | None:
    setting = os.environ.get("TIDINGS_CRASH_AT")
    if not setting:
        return None
    name, _, rest = setting.partition(":")
    count, _, how = rest.partition(":")
    if name not in POINTS or how not in {"", "stop"}:
        raise SystemExit(f"TIDINGS_CRASH_AT={setting!r}: use one of {', '.join(POINTS)}, then :N or :N:stop")
    return name, int(count or 1), signal.SIGSTOP if how else signal.SIGKILL


_target = _armed()
_reached = 0


def is_armed(point: str) -> bool:
    """Whether a test wants the process to end here; a lone statement is then given a transaction to end in."""
    return _target is not None and _target[0] == point


def reach(point: str) -> None:
    """Die or freeze here if a test asked for it."""
    global _reached  # noqa: PLW0603 – one count for the process is the point
    if _target is None or not is_armed(point):
        return
    _reached += 1
    if _reached == _target[1]:
        os.kill(os.getpid(), _target[2])
