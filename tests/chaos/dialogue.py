"""What a client of PostgreSQL says, message by message: enough of the protocol to know what a commit is of."""

from collections.abc import Iterator
from dataclasses import dataclass

PROTOCOL_3 = b"\x00\x03"
READY_OUTSIDE_A_TRANSACTION = b"Z\x00\x00\x00\x05I"
"""The last of the server's answer to a commit: what comes before it may leave before the commit is on disk."""


@dataclass(frozen=True, slots=True)
class Message:
    """One whole message, and the texts of the statements that it commits."""

    raw: bytes
    commits: frozenset[str] = frozenset()


class Frontend:
    """Takes one client's stream apart.

    A driver prepares a statement under a name and later only names it, so names are kept with their texts.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._has_started = False
        self._is_in_transaction = False
        self._texts: dict[bytes, str] = {}
        self._ran: set[str] = set()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole by now."""
        self._rest += data
        while raw := self._take():
            yield Message(raw, self._read(raw))

    def _take(self) -> bytes:
        start = int(self._has_started)  # the first messages have a length but no kind
        length = start + int.from_bytes(self._rest[start : start + 4], "big")
        if len(self._rest) < max(start + 4, length):
            return b""
        raw, self._rest = self._rest[:length], self._rest[length:]
        return raw

    def _read(self, raw: bytes) -> frozenset[str]:
        if not self._has_started:
            self._has_started = raw[4:6] == PROTOCOL_3  # else it asks for encryption, or cancels another's query
            return frozenset()
        match raw[:1]:
            case b"P":
                name, text = raw[5:].split(b"\0", 2)[:2]
                self._texts[name] = text.decode()
            case b"B":
                name = raw[5:].split(b"\0", 2)[1]
                self._ran.add(self._texts.get(name, ""))
            case b"S" if not self._is_in_transaction:
                return self._end()
            case b"Q":
                return self._obey(raw[5:-1].strip().upper())
            case _:
                pass
        return frozenset()

    def _obey(self, command: bytes) -> frozenset[str]:
        """Transactions begin and end by a plain query."""
        if command.startswith(b"BEGIN"):
            self._is_in_transaction = True
            self._end()
        elif command.startswith((b"COMMIT", b"ROLLBACK")):
            self._is_in_transaction = False
            ran = self._end()
            return ran if command.startswith(b"COMMIT") else frozenset()
        return frozenset()

    def _end(self) -> frozenset[str]:
        ran = frozenset(self._ran)
        self._ran.clear()
        return ran
