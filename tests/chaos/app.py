"""A host application whose three providers are the ledger: one keyed, one resolvable, one blind.

Loaded by real workers as `--app tests.chaos.app:app`; CHAOS_LEDGER says where the ledger listens. With CHAOS_SMTP the
blind one is the real SMTP provider, and what it reaches is the ledger's SMTP door.
"""

import asyncio
import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.chaos import oddities
from tidings.domain.flow import retry
from tidings.domain.flow.graph import Schedule
from tidings.domain.flow.item import Channel, Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import (
    Absent,
    Blind,
    CannotTell,
    Doubtful,
    Evidence,
    Found,
    Keyed,
    MayStart,
    ProviderClass,
    Resolvable,
)
from tidings.domain.sequences import step_time
from tidings.kernel.flow import doubt
from tidings.providers.smtp import SmtpProvider
from tidings.providers.vendors.twilio.records import RESOLVED_BY_MATCH
from tidings.wiring import App

CONCURRENCY = 20
LOOK_UPS = 10
CLASSES: Mapping[str, ProviderClass] = {
    "keyed": Keyed(retention=timedelta(hours=1)),
    "resolvable": Resolvable(authoritative=True, settle=timedelta(seconds=0.5)),
    "blind": Blind(),
}
CHANNELS: Mapping[str, Channel] = {"keyed": Channel.SMS, "resolvable": Channel.PUSH, "blind": Channel.EMAIL}
"""The channel that leads to each provider; all other channels lead to the blind one."""


class NotStarted(Exception):
    """No byte of a request has left."""


class LeaseSpent(NotStarted):
    """It was too late to begin."""


class NoAnswer(Exception):
    """The request has left, wholly or in part, and no whole answer came."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection to the ledger."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def is_usable(self) -> bool:
        return not (self.writer.is_closing() or self.reader.at_eof())


class LedgerClient:
    """Speaks HTTP/1.1 over kept connections, and always knows whether a byte has left."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._idle: list[Connection] = []

    async def ask(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], may_start: MayStart = lambda: True
    ) -> Reply:
        """Make one request; raises NotStarted before the first byte and NoAnswer after it."""
        connection = await self._connect()
        lines = [f"{method} {path} HTTP/1.1", "Host: ledger", f"Content-Length: {len(body)}"]
        request = "\r\n".join([*lines, *(f"{name}: {text}" for name, text in headers.items())])
        if not may_start():
            self._idle.append(connection)
            raise LeaseSpent("the lease was spent before the call")
        connection.writer.write(request.encode() + b"\r\n\r\n" + body)
        try:
            reply = await _read_reply(connection.reader)
        except (OSError, EOFError, ValueError, asyncio.IncompleteReadError) as error:
            connection.writer.close()
            raise NoAnswer(f"{type(error).__name__} after the request was written") from error
        except asyncio.CancelledError:
            connection.writer.close()
            raise
        self._idle.append(connection)
        return reply

    def close(self) -> None:
        for connection in self._idle:
            connection.writer.close()
        self._idle.clear()

    async def _connect(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.writer.close()
        try:
            return Connection(*await asyncio.open_connection(self._host, self._port))
        except OSError as error:
            raise NotStarted(f"cannot connect: {error}") from error


async def _read_reply(reader: asyncio.StreamReader) -> Reply:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").rstrip().split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Reply(int(first.split(" ")[1]), headers, json.loads(body))


class LedgerProvider:
    """One provider class, with the ledger behind it."""

    concurrency = CONCURRENCY

    def __init__(self, name: str, address: str, call_seconds: float) -> None:
        host, _, port = address.partition(":")
        self.name = name
        self.provider_class = CLASSES[name]
        self.call_deadline = timedelta(seconds=call_seconds)
        self._client = LedgerClient(host, int(port))

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Three phases: not started is the provider's trouble, no answer is unknown, an answer is what it says."""
        body = json.dumps({"recipient": item.recipient, **item.payload}, sort_keys=True).encode()
        headers = {"Idempotency-Key": item.key.hex(), "X-Provider": self.name, "X-Worker": str(os.getpid())}
        try:
            reply = await self._client.ask("POST", "/send", body, headers, may_start)
        except LeaseSpent as error:
            return RetryLater(str(error), uses_attempt=False)
        except NotStarted as error:
            return Unavailable(str(error))
        except NoAnswer as error:
            return Unknown(str(error))
        return _outcome(reply)

    async def look_up(self, item: Doubtful) -> Evidence:
        """Ask the ledger, whose answer is final."""
        try:
            reply = await self._client.ask("GET", f"/lookup?key={item.key.hex()}", b"", {})
        except (NotStarted, NoAnswer) as error:
            return CannotTell(str(error))
        if reply.status != 200:
            return CannotTell(f"status {reply.status}")
        return Found(str(reply.body["id"])) if reply.body["found"] else Absent()

    async def close(self) -> None:
        """Let go of the kept connections."""
        self._client.close()


def _outcome(reply: Reply) -> Outcome:
    if reply.status == 200:
        return Accepted(str(reply.body["id"]))
    if reply.status == 429:
        return RetryLater("429", delay=timedelta(seconds=float(reply.headers["retry-after"])), uses_attempt=False)
    if reply.status >= 500:
        return Unknown(f"status {reply.status}")
    return Rejected(f"status {reply.status}")


def make_app(address: str, call_seconds: float) -> App:
    """The three providers, each with its channel."""
    routes = dict.fromkeys(Channel, "blind") | {channel: name for name, channel in CHANNELS.items()}
    return App([LedgerProvider(name, address, call_seconds) for name in CLASSES], routes)


def shorten_days(seconds: float) -> None:
    """Have a sequence's day last only so long: a soak has none to wait for."""

    def due_of(schedule: Schedule, base: datetime, contact_zone: str | None) -> datetime:
        return base + schedule.day_offset * timedelta(seconds=seconds)

    step_time.due_of = due_of


def hurry_look_ups(seconds: float) -> None:
    """Ask vendors for their records so often, and a few times: what they do not show is a person's then."""
    wait = timedelta(seconds=seconds)
    object.__setattr__(RESOLVED_BY_MATCH, "settle", wait)
    doubt.ASK_AGAIN, doubt.ASK_FOR = wait, LOOK_UPS * wait


def hurry(seconds: float) -> None:
    """Wait only so long between attempts: a soak has no minutes for each retry, and no setting says it."""
    wait = timedelta(seconds=seconds)
    for policy in (retry.GRAPH, retry.CAMPAIGN, retry.RULE):
        object.__setattr__(policy, "base", wait)
    retry.SHORTEST_WAIT = wait


def app() -> App:
    """What a worker loads; it dies with the process that started it, so that a killed test leaves nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if wait := os.environ.get("CHAOS_RETRY_SECONDS"):
        hurry(float(wait))
    if wait := os.environ.get("CHAOS_LOOK_SECONDS"):
        hurry_look_ups(float(wait))
    if day := os.environ.get("CHAOS_DAY_SECONDS"):
        shorten_days(float(day))
    oddities.install(os.environ)
    call_seconds = float(os.environ["TIDINGS_CALL_SECONDS"])
    made = make_app(os.environ["CHAOS_LEDGER"], call_seconds)
    if address := os.environ.get("CHAOS_SMTP"):
        made = App([*made.providers[:-1], _smtp(address, call_seconds)], made.routes)
    return made


def _smtp(address: str, call_seconds: float) -> SmtpProvider:
    url = f"smtp://{address}?from=chaos@chaos.test&starttls=false"
    deadline = timedelta(seconds=call_seconds)
    return SmtpProvider.from_url(url, name="blind", concurrency=CONCURRENCY, call_deadline=deadline)
