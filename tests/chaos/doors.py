"""The ledger's process: `python -m tests.chaos.doors` answers HTTP and SMTP on loopback.

It prints both ports and ends with its standard input.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from tests.chaos.ledger import MOST_HEADER_BYTES, Call, Ledger, Mode, Request, Server, answer
from tests.chaos.mail import MailDoor
from tests.chaos.vendors import TWILIO, Records, VendorCall, read_call, token_for


class VendorDoor(Server):
    """The ledger's HTTP door, at which its vendors are too."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._ledger = ledger
        self._records = Records()

    async def reply_else(self, request: Request, connection: int, reader: asyncio.StreamReader) -> bytes | None:
        """What a vendor answers, of which the request is."""
        call = read_call(request)
        if call is not None:
            return await self._take(call, request, connection, reader)
        found = self._records.find(request) or token_for(request)
        return found or answer(404, {"error": f"no {request.method} {request.path} here"})

    async def _take(
        self, call: VendorCall, request: Request, connection: int, reader: asyncio.StreamReader
    ) -> bytes | None:
        key = call.key or await self._ledger.key_of(call.recipient)
        written = asyncio.get_running_loop().create_future()
        line = await self._ledger.add(
            Call(key, call.recipient, call.provider, call.body, 0, connection, written, call.account)
        )
        if line.taken and call.vendor is TWILIO:
            self._records.note(request, line)
        await asyncio.sleep(self._ledger.orders.delay_seconds)
        if line.mode in {Mode.HANG, Mode.STUCK}:
            await reader.read()  # until the caller gives up
        return call.vendor.says(line, self._ledger.orders.retry_after_seconds)


async def _until_the_parent_leaves() -> None:
    """Standard input is a pipe that nobody writes to: it ends with the process that holds the other end."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def main() -> None:
    """Serve until standard input ends."""
    ledger = Ledger(Path(os.environ["CHAOS_FILE"]), os.environ["DATABASE_URL"], os.environ["CHAOS_SEED"])
    writing = asyncio.create_task(ledger.write())
    http = await asyncio.start_server(VendorDoor(ledger).serve, "127.0.0.1", 0, limit=MOST_HEADER_BYTES, backlog=1000)
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
