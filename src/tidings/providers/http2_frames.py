"""Takes GOAWAY out of what an HTTP/2 server sends, before h2 reads it.

GOAWAY says which requests the server will still answer (RFC 9113, section 6.8). h2 closes the connection at once and
would lose those answers, each of which is a message in doubt. Nothing else depends on the frame: it carries no headers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = 9
_GOAWAY = 0x7
_LARGEST_FRAME = 16_384
"""What we allow a server, by leaving the setting as it is; h2 refuses what is larger."""
_STREAM_ID = 0x7FFF_FFFF


@dataclass(frozen=True, slots=True)
class Goaway:
    """The server takes no more requests; those above `last_stream` were not processed."""

    last_stream: int
    error: int
    words: str


class FrameSplitter:
    """Splits what arrives into whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes | Goaway]:
        """Return the frames that are whole now, in their order: GOAWAY as such, the others as they came."""
        self._buffer += data
        while len(self._buffer) >= _HEAD:
            length = int.from_bytes(self._buffer[:3], "big")
            end = _HEAD + length if length <= _LARGEST_FRAME else len(self._buffer)
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[:end])
            del self._buffer[:end]
            yield _goaway(frame) if frame[3] == _GOAWAY and length >= 8 else frame


def _goaway(frame: bytes) -> Goaway:
    last, error = (int.from_bytes(frame[at : at + 4], "big") for at in (_HEAD, _HEAD + 4))
    return Goaway(last & _STREAM_ID, error, frame[_HEAD + 8 :].decode("utf-8", "replace"))
