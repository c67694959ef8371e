"""A real SMTP server in a process of its own that takes every message and remembers it: the demo's witness.

`python -m tidings.demo.sink 900` prints its port, then one JSON line for each line it reads; it ends when its standard
input does, so it never outlives the demo. After so many messages it keeps senders waiting until it reads "go on": a
small demo must not be over before its worker is killed.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from typing import Any

from aiosmtpd.smtp import SMTP

from tidings.demo.processes import GO_ON

_MESSAGE_ID = re.compile(rb"^Message-ID:\s*(<[^>]+>)", re.IGNORECASE | re.MULTILINE)


class Mailbox:
    """What arrived, counted before the sender gets its reply."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.may_go_on = asyncio.Event()
        self.recipients: Counter[str] = Counter()
        self.message_ids: Counter[str] = Counter()

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802 – its name there
        """Take one message."""
        if self.message_ids.total() >= self._most:
            await self.may_go_on.wait()
        found = _MESSAGE_ID.search(envelope.content)
        self.message_ids[found[1].decode() if found else ""] += 1
        self.recipients.update(envelope.rcpt_tos)
        return "250 2.0.0 taken"

    def report(self) -> str:
        """Everything there is to know, on one line."""
        return json.dumps(
            {
                "accepted": self.message_ids.total(),
                "distinct": len(self.message_ids.keys() - {""}),
                "recipients": self.recipients,
            }
        )


async def serve(most: int) -> None:
    """Take mail until standard input ends."""
    mailbox = Mailbox(most)
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(mailbox, hostname="sink.example.com"), "127.0.0.1", 0
    )
    _answer(str(server.sockets[0].getsockname()[1]))
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() == GO_ON:
            mailbox.may_go_on.set()
        _answer(mailbox.report())
    server.close()


def _answer(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(int(sys.argv[1])))
    else:
        uvloop.run(serve(int(sys.argv[1])))
