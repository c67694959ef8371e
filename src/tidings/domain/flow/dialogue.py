"""What a provider and its server say to each other in one call, kept for somebody who tries a connection.

A provider notes each line as it goes, without its secrets; nothing is kept unless the call is recorded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

MOST_LINES = 200
LONGEST_LINE = 2_000


@dataclass(slots=True)
class Dialogue:
    """The lines of one call: what we said begins with >, what the server said with <."""

    lines: list[str] = field(default_factory=list)
    is_hidden: bool = False

    def note(self, line: str) -> None:
        """Add a line, cut short; of a secret exchange only that there was one."""
        if len(self.lines) < MOST_LINES:
            self.lines.append(f"{line[0]} …" if self.is_hidden else line[:LONGEST_LINE])


_recorded: ContextVar[Dialogue | None] = ContextVar("dialogue", default=None)


def dialogue() -> Dialogue | None:
    """Return where the lines of this call are noted; None for nearly every call."""
    return _recorded.get()


@contextmanager
def recorded() -> Iterator[Dialogue]:
    """Record the call that is made in the block."""
    made = Dialogue()
    token = _recorded.set(made)
    try:
        yield made
    finally:
        _recorded.reset(token)


@contextmanager
def hidden() -> Iterator[None]:
    """Show nothing of what is said in the block: a password is, or what is made of it."""
    noted = _recorded.get()
    if noted is None:
        yield
        return
    noted.is_hidden = True
    try:
        yield
    finally:
        noted.is_hidden = False
