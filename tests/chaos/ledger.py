"""The independent ledger: what really reached a provider, kept outside the database by a process of its own.

It answers HTTP here and SMTP in mail.py; doors.py is its process. Each call becomes one line of an append-only file
that is on disk **before** the call is answered; calls that come together share one fsync. On each call the ledger also
asks PostgreSQL, over a connection of its own, for the committed row.

The first call for a recipient named like `drop.17@…` is handled in that mode, later ones are acknowledged; for the
rest the seed draws a mode by the weights that `POST /control` sets, at most twice for one recipient: whoever is refused
as often as the retry policy allows would fail, and rightly.
"""

import asyncio
import json
import os
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

from tests.chaos.book import TENANTS

WITNESS_SECONDS = 0.6
MOST_FAULTS = 2
MOST_HEADER_BYTES = 16_384


class Mode(StrEnum):
    """What the ledger does with one call."""

    ACK = "ack"  # takes it and says so
    DROP = "drop"  # takes it and closes the connection
    HALF = "half"  # takes it and sends half of the answer
    HANG = "hang"  # takes it and says nothing
    ERROR = "error"  # takes it and answers 500
    BROKEN = "broken"  # does not take it and answers 500
    CUT = "cut"  # does not take it and closes the connection
    STUCK = "stuck"  # does not take it and says nothing
    THROTTLE = "throttle"  # does not take it: 429
    REFUSE = "refuse"  # does not take it, for good: 422
    SHUT = "shut"  # does not take it: the account is closed, which is no mode of a call but an order


TAKES = frozenset({Mode.ACK, Mode.DROP, Mode.HALF, Mode.HANG, Mode.ERROR})
FOR_EVERY_CALL = frozenset({Mode.ACK, Mode.REFUSE})
"""The other modes, asked for by name, are for the first call only, so that a repeat can end the doubt."""


@dataclass(frozen=True, slots=True)
class Line:
    """One call, as the file has it."""

    at: float
    key: str
    recipient: str
    provider: str
    body: str  # sha256
    worker: int
    connection: int
    mode: Mode
    taken: bool
    effective: bool  # reached the person: taken, and for a keyed provider the first under its key
    row: str | None  # the committed row as the ledger saw it; None when PostgreSQL did not answer
    account: str = ""  # of a vendor: a key is known to the account that it was used with


@dataclass(frozen=True, slots=True)
class Call:
    """One call on its way into the file."""

    key: str
    recipient: str
    provider: str
    body: str
    worker: int
    connection: int
    written: "asyncio.Future[Line]"
    account: str = ""


@dataclass(slots=True)
class Orders:
    """How the ledger behaves, as `POST /control` last said."""

    weights: dict[str, float] = field(default_factory=dict)  # mode → share of calls; the rest are acknowledged
    delay_seconds: float = 0.0
    retry_after_seconds: float = 0.2


class Witness:
    """Asks PostgreSQL for the committed rows behind some keys."""

    STATEMENT = """
        select o.idempotency_key as key,
               o.status || case when o.marked_at is null and not o.in_doubt then '' else ' marked' end as row
          from tidings.shards s
         cross join unnest($1::bytea[]) as wanted(key)
         cross join unnest($2::text[]) as of(tenant)
          join tidings.outbox o
            on o.shard = s.shard and o.tenant_id = of.tenant and o.workspace_id = 'default'
           and o.idempotency_key = wanted.key
    """

    KEY_STATEMENT = "select idempotency_key as key from tidings.outbox where recipient = $1"

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        """Connect in good time: the first call would have to wait for it."""
        self._connection = await asyncpg.connect(self._dsn)

    async def rows(self, keys: Sequence[str]) -> Mapping[str, str] | None:
        """The rows by key; None when PostgreSQL cannot say."""
        found = await self._ask(self.STATEMENT, [bytes.fromhex(key) for key in keys], list(TENANTS))
        return None if found is None else {row["key"].hex(): row["row"] for row in found}

    async def key_of(self, recipient: str) -> str:
        """The key of the only item for a recipient; empty when PostgreSQL cannot say."""
        found = await self._ask(self.KEY_STATEMENT, recipient)
        return found[0]["key"].hex() if found else ""

    async def _ask(self, statement: str, *values: object) -> Sequence[asyncpg.Record] | None:
        try:
            async with asyncio.timeout(WITNESS_SECONDS), self._turn:
                if self._connection is None or self._connection.is_closed():
                    self._connection = await asyncpg.connect(self._dsn)
                return await self._connection.fetch(statement, *values)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            if self._connection is not None:
                self._connection.terminate()
            self._connection = None
            return None


class Ledger:
    """The file, what is known from it, and the one writer that several calls share."""

    def __init__(self, path: Path, dsn: str, seed: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._witness = Witness(dsn)
        self._seed = seed
        self._waiting: list[Call] = []
        self._stirred = asyncio.Event()
        self._calls: Counter[str] = Counter()
        self._unwritten: dict[str, asyncio.Future[Line]] = {}
        self.taken: set[str] = set()
        self._kept: set[tuple[str, str]] = set()  # the keys of each account
        self.closed: frozenset[str] = frozenset()  # the accounts that refuse every call
        self.lines = 0
        self.orders = Orders()

    async def add(self, call: Call) -> Line:
        """Give the call's line once it is on disk."""
        self._waiting.append(call)
        self._unwritten[call.key] = call.written
        self._stirred.set()
        return await call.written

    async def has_taken(self, key: str) -> bool:
        """Whether a message arrived; waits for a call that is on its way into the file, so the answer is final."""
        if key in self._unwritten:
            await asyncio.wait([self._unwritten[key]])
        return key in self.taken

    async def write(self) -> None:
        """Write what waits, for ever: one question, one write and one fsync for all of it."""
        await self._witness.prepare()
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            calls, self._waiting = self._waiting, []
            rows = await self._witness.rows([call.key for call in calls])
            lines = [self._line(call, rows) for call in calls]
            os.write(self._file, b"".join(json.dumps(asdict(line)).encode() + b"\n" for line in lines))
            await asyncio.to_thread(os.fsync, self._file)
            self.lines += len(lines)
            for call, line in zip(calls, lines, strict=True):
                if self._unwritten.get(call.key) is call.written:
                    del self._unwritten[call.key]
                if not call.written.done():
                    call.written.set_result(line)

    def _line(self, call: Call, rows: Mapping[str, str] | None) -> Line:
        mode = Mode.SHUT if call.account in self.closed else self._mode(call.recipient)
        taken, known = mode in TAKES, (call.account, call.key)
        effective = taken and not (call.provider == "keyed" and known in self._kept)
        if taken:
            self.taken.add(call.key)
            self._kept.add(known)
        return Line(
            time.time(),
            call.key,
            call.recipient,
            call.provider,
            call.body,
            call.worker,
            call.connection,
            mode,
            taken,
            effective,
            None if rows is None else rows.get(call.key, "absent"),
            call.account,
        )

    async def key_of(self, recipient: str) -> str:
        """The key of the item for a recipient, as the database has it."""
        return await self._witness.key_of(recipient)

    def _mode(self, recipient: str) -> Mode:
        mode = self.next_mode(recipient)
        self._calls[recipient] += 1
        return mode

    def next_mode(self, recipient: str) -> Mode:
        """How the next call for a recipient will be handled."""
        number = self._calls[recipient] + 1
        asked = recipient.partition(".")[0]
        if asked in set(Mode):
            mode = Mode(asked)
            return mode if number == 1 or mode in FOR_EVERY_CALL else Mode.ACK
        if number > MOST_FAULTS or not self.orders.weights:
            return Mode.ACK
        draw = random.Random(f"{self._seed}:{recipient}:{number}").random()
        for name, weight in self.orders.weights.items():
            draw -= weight
            if draw < 0:
                return Mode(name)
        return Mode.ACK


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one request; None when the other side has left."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").rstrip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    parts = urlsplit(target)
    return Request(method, parts.path, parse_qs(parts.query), headers, body)


def answer(status: int, value: Mapping[str, object], headers: Mapping[str, str] | None = None) -> bytes:
    """An HTTP answer with a JSON body."""
    body = json.dumps(value).encode()
    head = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
    lines = [f"HTTP/1.1 {status} -", *(f"{name}: {text}" for name, text in head.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Server:
    """The ledger's door."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until it ends."""
        self._connections += 1
        number = self._connections
        try:
            while request := await read_request(reader):
                reply = await self._reply(request, number, reader)
                writer.write(reply or b"")
                await writer.drain()
                if reply is None or not reply.endswith(b"}"):
                    return
        except ConnectionError:
            return
        finally:
            writer.close()

    async def _reply(self, request: Request, connection: int, reader: asyncio.StreamReader) -> bytes | None:
        """The bytes to send; None closes the connection, and so does half an answer."""
        match request.method, request.path:
            case "POST", "/send":
                return await self._send(request, connection, reader)
            case "GET", "/lookup":
                key = request.query["key"][0]
                return answer(200, {"found": await self._ledger.has_taken(key), "id": key})
            case "POST", "/control":
                self._ledger.orders = Orders(**json.loads(request.body))
                return answer(200, {})
            case "GET", "/stats":
                return answer(200, {"lines": self._ledger.lines, "taken": len(self._ledger.taken)})
            case "POST", "/close":
                self._ledger.closed = frozenset(json.loads(request.body)["accounts"])
                return answer(200, {})
            case _:
                return await self.reply_else(request, connection, reader)

    async def reply_else(self, request: Request, connection: int, reader: asyncio.StreamReader) -> bytes | None:
        """What is answered to anything else."""
        return answer(404, {"error": f"no {request.method} {request.path} here"})

    async def _send(self, request: Request, connection: int, reader: asyncio.StreamReader) -> bytes | None:
        orders = self._ledger.orders
        call = Call(
            request.headers["idempotency-key"],
            json.loads(request.body)["recipient"],
            request.headers["x-provider"],
            sha256(request.body).hexdigest(),
            int(request.headers["x-worker"]),
            connection,
            asyncio.get_running_loop().create_future(),
        )
        line = await self._ledger.add(call)
        await asyncio.sleep(orders.delay_seconds)
        if line.mode in {Mode.HANG, Mode.STUCK}:
            await reader.read()  # until the caller gives up
        return _said(line, orders)


def _said(line: Line, orders: Orders) -> bytes | None:
    """What a mode answers; None closes the connection."""
    accepted = answer(200, {"id": line.key})
    broken = answer(500, {"error": "something went wrong"})
    throttled = answer(429, {"error": "not so fast"}, {"Retry-After": f"{orders.retry_after_seconds}"})
    return {
        Mode.ACK: accepted,
        Mode.DROP: None,
        Mode.CUT: None,
        Mode.HANG: None,
        Mode.STUCK: None,
        Mode.HALF: accepted[:-8],
        Mode.ERROR: broken,
        Mode.BROKEN: broken,
        Mode.THROTTLE: throttled,
        Mode.REFUSE: answer(422, {"error": "no such person"}),
    }[line.mode]


def read_lines(path: Path, offset: int = 0) -> list[Line]:
    """What a ledger's file says from some byte on; of a line that is being written, nothing yet."""
    with path.open("rb") as file:
        file.seek(offset)
        return [_line(json.loads(text)) for text in file if text.endswith(b"\n")]


def _line(raw: dict[str, Any]) -> Line:
    return Line(**{**raw, "mode": Mode(raw["mode"])})
