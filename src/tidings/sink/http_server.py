"""The sink's HTTP server: takes any vendor's calls and answers in its form; GET /messages shows what arrived."""

import asyncio
from collections import OrderedDict, deque
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from tidings.sink.arrivals import MOST_KEPT, Answer, Arrival, Arrivals
from tidings.sink.chance import Chance
from tidings.sink.email_forms import EMAIL_FORMS
from tidings.sink.look_ups import looked_up
from tidings.sink.other_forms import OTHER_FORMS
from tidings.sink.vendor_form import SinkCall, SinkReply, VendorForm

LARGEST_CALL = 50_000_000
IDLE_SECONDS = 300.0
FORMS = (*EMAIL_FORMS, *OTHER_FORMS)
_PIECE = 262_144
_MOST_KEYS = 100_000
_TOO_LARGE = SinkReply(413, {"error": f"a call has at most {LARGEST_CALL:,} bytes here"})
_NOT_HTTP = SinkReply(400, {"error": "this is not HTTP"})


class HttpSink:
    """Answers calls, one after the other on each connection."""

    def __init__(self, arrivals: Arrivals, chance: Chance, latency: float) -> None:
        self._arrivals, self._chance, self._latency = arrivals, chance, latency
        self._by_key: OrderedDict[tuple[str, str], SinkReply] = OrderedDict()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer on one connection until it ends."""
        reading = _CallReader()
        try:
            while data := await _piece(reader):
                reading.feed(data)
                if reading.wants_a_word:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                while reading.calls:
                    writer.write(_written(await self._answer(reading.calls.popleft())))
                await writer.drain()
                if reading.refused:
                    writer.write(_written(reading.refused, closes=True))
                    await writer.drain()
                    break
        except (OSError, EOFError, TimeoutError):
            pass  # the other side is gone or silent
        finally:
            writer.close()

    async def _answer(self, call: SinkCall) -> SinkReply:
        if self._latency:
            await asyncio.sleep(self._latency)
        if found := looked_up(self._arrivals, call):
            return found
        if call.method == "GET":
            return shown(self._arrivals, call)
        form = next((one for one in FORMS if one.is_for(call)), None)
        return self._take(form, call) if form else SinkReply(405, {"error": f"nothing is at {call.path}"})

    def _take(self, form: VendorForm, call: SinkCall) -> SinkReply:
        key = form.key(call)
        if key and (known := self._by_key.get((form.vendor, key))):
            return known  # as the vendor does: the first answer again, and no second message
        envelope = form.read(call)
        whose = envelope.recipient or call.path
        attempt = self._arrivals.attempt(whose)
        answer = self._chance.answer(whose, attempt)
        options = {Answer.REFUSED: form.refusals, Answer.DEFERRED: form.deferrals}.get(answer, ())
        if not options:
            answer = Answer.TAKEN
        id = self._arrivals.next_id()
        reply = self._chance.pick(options, whose, attempt) if options else form.taken(id, call)
        if key and answer is Answer.TAKEN:
            self._remember((form.vendor, key), reply)
        self._arrivals.add(
            Arrival(
                id=id,
                via=form.vendor,
                recipients=[envelope.recipient] if envelope.recipient else [],
                sender=envelope.sender,
                subject=envelope.subject,
                answer=answer,
                said=reply.said,
                content_type=call.headers.get("content-type", "application/octet-stream"),
                raw=call.body,
            )
        )
        return reply

    def _remember(self, key: tuple[str, str], reply: SinkReply) -> None:
        self._by_key[key] = reply
        if len(self._by_key) > _MOST_KEYS:
            self._by_key.popitem(last=False)


def shown(arrivals: Arrivals, call: SinkCall) -> SinkReply:
    """What a person or a test may look at: the messages, and each as it came."""
    match call.path.strip("/").split("/"):
        case ["messages"]:
            limit = call.asked.get("limit", "")
            most = int(limit) if limit.isascii() and limit.isdigit() else MOST_KEPT
            counts = {answer: arrivals.counts[answer] for answer in Answer}
            return SinkReply(200, {"counts": counts, "data": [one.summary for one in arrivals.newest(most)]})
        case ["messages", id, *rest] if id.isascii() and id.isdigit() and rest in ([], ["raw"]):
            return _one(arrivals.find(int(id)), is_raw=bool(rest))
        case _:
            return SinkReply(404, {"error": "GET /messages lists what arrived, GET /messages/1/raw returns one"})


def _one(arrival: Arrival | None, *, is_raw: bool) -> SinkReply:
    if arrival is None:
        return SinkReply(404, {"error": f"no such message, or it is forgotten: the newest {MOST_KEPT:,} are kept"})
    if is_raw:
        # Never as HTML: what arrived must not run in the browser that looks at it.
        kind = "text/plain" if "html" in arrival.content_type else arrival.content_type
        return SinkReply(200, arrival.raw, {"Content-Type": kind, "X-Content-Type-Options": "nosniff"})
    return SinkReply(200, arrival.summary)


class _CallReader:
    """What came of the calls on one connection; the methods named on_… are called by the parser."""

    def __init__(self) -> None:
        self.calls: deque[SinkCall] = deque()
        self.refused: SinkReply | None = None
        self._wants_a_word = False
        self._parser = HttpRequestParser(self)
        self.on_message_begin()

    @property
    def wants_a_word(self) -> bool:
        """Whether the other side waits to be told to go on; true once."""
        wanted, self._wants_a_word = self._wants_a_word, False
        return wanted

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.refused = self.refused or _NOT_HTTP
        if self._size > LARGEST_CALL:
            self.refused = _TOO_LARGE

    def on_message_begin(self) -> None:
        self._url, self._size = b"", 0
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._size += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        self._size += len(name) + len(value)

    def on_headers_complete(self) -> None:
        length = self._headers.get("content-length", "")
        if len(length) > 9 or (length.isdigit() and int(length) > LARGEST_CALL):
            self.refused = _TOO_LARGE
        self._wants_a_word = self._headers.get("expect", "").lower() == "100-continue"

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= LARGEST_CALL:
            self._body.append(body)

    def on_message_complete(self) -> None:
        parts = urlsplit(self._url.decode("latin-1"))
        method = self._parser.get_method().decode("latin-1")
        self.calls.append(SinkCall(method, parts.path, parts.query, self._headers, b"".join(self._body)))


async def _piece(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(IDLE_SECONDS):
        return await reader.read(_PIECE)


def _written(reply: SinkReply, *, closes: bool = False) -> bytes:
    kind = {"Content-Type": "application/json"} if reply.content else {}
    headers = {**kind, **reply.headers, "Content-Length": str(len(reply.content))}
    headers |= {"Connection": "close"} if closes else {}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {reply.status} Sink\r\n{lines}\r\n".encode("latin-1", "replace") + reply.content
