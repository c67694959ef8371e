"""The ledger's process: `python -m tests.chaos.doors` answers HTTP and SMTP on loopback.

It prints both ports and ends with its standard input.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from tests.chaos.ledger import MOST_HEADER_BYTES, Ledger, Server
from tests.chaos.mail import MailDoor


async def _until_the_parent_leaves() -> None:
    """Standard input is a pipe that nobody writes to: it ends with the process that holds the other end."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def main() -> None:
    """Serve until standard input ends."""
    ledger = Ledger(Path(os.environ["CHAOS_FILE"]), os.environ["DATABASE_URL"], os.environ["CHAOS_SEED"])
    writing = asyncio.create_task(ledger.write())
    http = await asyncio.start_server(Server(ledger).serve, "127.0.0.1", 0, limit=MOST_HEADER_BYTES, backlog=1000)
    smtp = await asyncio.start_server(MailDoor(ledger).serve, "127.0.0.1", 0, backlog=1000)
    print(*(door.sockets[0].getsockname()[1] for door in (http, smtp)), flush=True)
    leaving = asyncio.create_task(_until_the_parent_leaves())
    done, _ = await asyncio.wait([writing, leaving], return_when=asyncio.FIRST_COMPLETED)
    if writing in done:
        writing.result()  # a ledger that cannot write must not go on answering


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        import uvloop

        uvloop.run(main())
