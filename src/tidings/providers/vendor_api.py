"""Calls of a vendor's HTTP API: how far a call came is told here, once for all vendors.

What did not begin is the vendor's trouble (Unavailable); what was sent without a whole answer is Unknown; an answer
goes to the vendor's own `judge`. A file of vendors/ knows no sockets, and this file knows no vendor.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, assert_never
from urllib.parse import urlencode, urlsplit

import msgspec

from tidings.domain.connections.kind import ConnectionSettings
from tidings.domain.content.attachment import AttachmentReference
from tidings.domain.errors import StorageUnavailable
from tidings.domain.flow.dialogue import dialogue
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, MayStart, ProviderClass
from tidings.domain.private_addresses import FindPrivateAddresses, PrivateAddresses
from tidings.providers.enclosed import Fetched
from tidings.providers.guard import REMEDY
from tidings.providers.http_client import HttpClient
from tidings.providers.http_request import (
    AddressClosed,
    HttpAnswer,
    HttpEnd,
    HttpRequest,
    LeaseSpent,
    NoAnswer,
    NotSent,
)
from tidings.providers.mask import Mask
from tidings.providers.printable import printable
from tidings.providers.retry_after import retry_after

if TYPE_CHECKING:
    from tidings.providers.attachments import AttachmentFetcher

LARGEST_ANSWER = 1_000_000
HIDDEN = "…"
_SHOWN_HEADERS = frozenset({"content-type", "accept", "idempotency-key"})
"""Others may carry a key, or what is made of one."""
LONGEST_REASON = 500
_SEARCHED_FOR_SECRETS = 50_000
_REMEMBERED_TOKENS = 4
HOST_WAIT = timedelta(minutes=1)
"""How long a recipient's own host that cannot be reached is left alone."""
LEASE_SPENT = RetryLater("the lease was spent before the call", uses_attempt=False)


class HttpTransport(Protocol):
    """What carries requests: HTTP/1.1 for most vendors, HTTP/2 for those that speak nothing else."""

    async def send(self, request: HttpRequest, until: float, may_start: MayStart) -> HttpEnd:
        """Make one call that ends by `until` on the loop's clock."""

    async def close(self) -> None:
        """Let go of every connection."""


@dataclass(frozen=True, slots=True)
class VendorAnswer:
    """A whole answer, and how it may be spoken of: without our secrets, on one line, cut short."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    mask: Mask = field(repr=False)
    now: datetime

    @property
    def is_success(self) -> bool:
        """Whether the status says that it worked."""
        return 200 <= self.status < 300

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is none, or nested too deeply."""
        try:
            return msgspec.json.decode(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def fields(self) -> Mapping[str, Any]:
        """The body as an object of JSON; empty when it is none."""
        read = self.json
        return read if isinstance(read, dict) else {}

    @property
    def delay(self) -> timedelta | None:
        """How long Retry-After asks us to wait."""
        return retry_after(self.headers.get("retry-after"), self.now)

    def shown(self, text: object) -> str:
        """Their words fit for a reason, which is stored: a vendor may repeat the key it was sent."""
        return printable(self.mask.text(str(text)), LONGEST_REASON)

    def reason(self, text: object = None) -> str:
        """The status with what the vendor says about it; with nothing given, with the start of the body."""
        # Much more than is shown: a secret that the cut parted would not be found.
        words = self.body[:_SEARCHED_FOR_SECRETS].decode("utf-8", "replace") if text is None else text
        return self.shown(f"{self.status} {words}".strip())


class VendorCalls:
    """Makes the calls of one connection, within its deadline, from the addresses its workspace may call."""

    def __init__(self, transport: HttpTransport, secrets: Iterable[str], find_private: FindPrivateAddresses) -> None:
        self._transport = transport
        self._secrets = [one for one in secrets if one]
        self._tokens: deque[str] = deque(maxlen=_REMEMBERED_TOKENS)
        self._mask = Mask(self._secrets)
        self._find_private = find_private
        self._fetcher: AttachmentFetcher | None = None

    def hide(self, token: str) -> None:
        """Strike a token that a vendor has handed out from whatever is said from now on, until others follow it."""
        if token not in self._tokens:
            self._tokens.append(token)
            self._mask = Mask([*self._secrets, *self._tokens])

    async def call(
        self, request: HttpRequest, workspace: Workspace, until: float, may_start: MayStart
    ) -> VendorAnswer | Outcome:
        """Make one call; return the whole answer, or what the lack of one means."""
        private = await self._private(workspace, until)
        if not isinstance(private, PrivateAddresses):
            return private
        asked = HttpRequest(request.method, request.url, request.headers, request.body, private, LARGEST_ANSWER)
        self._note_request(request)
        end = await self._transport.send(asked, until, may_start)
        self._note_end(end)
        return self._whole(end) if isinstance(end, HttpAnswer) else self._without_answer(end)

    def _note_request(self, request: HttpRequest) -> None:
        if noted := dialogue():
            noted.note(f"> {request.method} {self._mask.text(request.url)}")
            for name, value in request.headers:
                noted.note(f"> {name}: {value if name.lower() in _SHOWN_HEADERS else HIDDEN}")
            noted.note(f"> {self._mask.text((request.body or b'').decode('utf-8', 'replace'))}")

    def _note_end(self, end: HttpEnd) -> None:
        noted = dialogue()
        if noted and isinstance(end, HttpAnswer):
            noted.note(f"< {end.status}")
            noted.note(f"< {self._mask.text((end.body or b'').decode('utf-8', 'replace'))}")
        elif noted:
            noted.note(f"< ({printable(self._mask.text(str(getattr(end, 'reason', 'no answer'))))})")

    async def ask(self, request: HttpRequest, workspace: Workspace, until: float) -> VendorAnswer | CannotTell:
        """Ask what became of an earlier call; return the answer of a success, and nothing else says anything."""
        answer = await self.call(request, workspace, until, _always)
        if not isinstance(answer, VendorAnswer):
            return CannotTell("nothing was asked" if isinstance(answer, Accepted) else answer.reason)
        return answer if answer.is_success else CannotTell(answer.reason())

    async def fetch(
        self,
        references: Sequence[AttachmentReference],
        files: ExitStack,
        workspace: Workspace,
        until: float,
        largest: int,
    ) -> list[Fetched] | Outcome:
        """Get the files of a message, at most `largest` bytes in all, or say what the lack of one means."""
        # Only messages with files pay for importing the client.
        from tidings.providers.attachments import AttachmentFetcher  # noqa: PLC0415

        if self._fetcher is None:
            self._fetcher = AttachmentFetcher(self._find_private, largest=largest)
        try:
            return await self._fetcher.fetch(references, files, workspace, until)
        except StorageUnavailable as error:
            return RetryLater(f"the attachments could not be fetched: {error}", uses_attempt=False)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._transport.close()
        if self._fetcher is not None:
            await self._fetcher.close()

    async def _private(self, workspace: Workspace, until: float) -> PrivateAddresses | Outcome:
        try:
            async with asyncio.timeout_at(until):
                return await self._find_private(workspace)
        except TimeoutError:
            return Unavailable("the deadline of the call passed before it began")
        except StorageUnavailable as error:
            return RetryLater(f"the workspace could not be read: {error}", uses_attempt=False)

    def _whole(self, answer: HttpAnswer) -> VendorAnswer | Outcome:
        if answer.body is None or answer.size > LARGEST_ANSWER:
            what = "broke off" if answer.body is None else "is too large to be read"
            return Unknown(f"the answer, {answer.status}, {what}")
        return VendorAnswer(answer.status, answer.headers, answer.body, self._mask, datetime.now(UTC))

    def _without_answer(self, end: NotSent | LeaseSpent | AddressClosed | NoAnswer) -> Outcome:
        match end:
            case LeaseSpent():
                return LEASE_SPENT
            case AddressClosed(reason):
                return Unavailable(f"{reason}: {REMEDY}", is_refused=True)
            case NotSent(reason):
                return Unavailable(f"{self._shown(reason)} (before the request was sent)")
            case NoAnswer(reason):
                return Unknown(f"{self._shown(reason)} (after the request was sent)", is_unanswered=True)
            case _:
                assert_never(end)

    def _shown(self, text: str) -> str:
        return printable(self._mask.text(text), LONGEST_REASON)


class Vendor(Protocol):
    """What a file of vendors/ knows: how a request is written, and what an answer means."""

    @property
    def provider_class(self) -> ProviderClass:
        """What may be done after doubt."""

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write the request for an item; an outcome when it cannot be sent, or when its token could not be had.

        `calls` is for what must be asked before (a token); nothing of the message may be handed over by it.
        """

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what a whole answer means for the item."""

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:
        """Say what became of an earlier call; only those that are Resolvable know."""


class VendorProvider:
    """A connection to a vendor: one call in, one Outcome out."""

    def __init__(
        self,
        connection: ConnectionSettings,
        vendor: Vendor,
        secrets: Iterable[str],
        transport: HttpTransport | None = None,
    ) -> None:
        self.name = connection.name
        self.provider_class = vendor.provider_class
        self.concurrency = connection.concurrency
        self.call_deadline = connection.call_deadline
        self._vendor = vendor
        own = transport or HttpClient(connections=connection.concurrency, keeps_connections=True)
        self._calls = VendorCalls(own, secrets, connection.private_addresses)

    def __repr__(self) -> str:
        return f"VendorProvider({self.name!r}, {type(self._vendor).__name__})"

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Make the call for one item; never raises for what a vendor or the network does."""
        until = self._until()
        request = await self._vendor.request(item, self._calls, until)
        if not isinstance(request, HttpRequest):
            return request
        answer = await self._calls.call(request, item.workspace, until, may_start)
        return _judged(self._vendor, item, answer) if isinstance(answer, VendorAnswer) else answer

    async def look_up(self, item: Doubtful) -> Evidence:
        """Ask the vendor what became of an earlier call."""
        return await self._vendor.look_up(item, self._calls, self._until())

    async def close(self) -> None:
        """Let go of every connection."""
        await self._calls.close()

    def _until(self) -> float:
        """A little before the kernel gives up: the side that gives up first must know whether anything was sent."""
        seconds = self.call_deadline.total_seconds()
        return asyncio.get_running_loop().time() + seconds - min(1.0, seconds / 10)


def _judged(vendor: Vendor, item: Marked, answer: VendorAnswer) -> Outcome:
    outcome = vendor.judge(item, answer)
    if isinstance(outcome, Unavailable) and item.recipient and item.recipient in outcome.reason:
        # A vendor may quote whom the message was for, and this reason is shown to operators of every workspace.
        return Unavailable(outcome.reason.replace(item.recipient, "the recipient"), is_refused=outcome.is_refused)
    return outcome


def _always() -> bool:
    return True


class HostVendor(Vendor, Protocol):
    """A vendor whose recipients name the hosts that are called."""

    def address_of(self, recipient: str) -> str:
        """Return the address that a call for a recipient goes to; empty when there is none."""


class RecipientHosts(VendorProvider):
    """A connection whose recipients name the hosts that are called: the trouble of one must not stop the others."""

    def __init__(self, connection: ConnectionSettings, vendor: HostVendor, secrets: Iterable[str]) -> None:
        super().__init__(connection, vendor, secrets)
        self._address_of = vendor.address_of

    async def host_of(self, workspace: Workspace, recipient: str) -> str | None:  # noqa: ARG002 – functions differ by it
        """Return the host and port that a call for a recipient would go to; None where the call itself is refused."""
        try:
            parts = urlsplit(self._address_of(recipient))
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except (ValueError, msgspec.DecodeError):
            return None
        return f"{parts.hostname.rstrip('.')}:{port}" if parts.hostname else None

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Make the call for one item; what could not begin is tried every minute, and uses no attempt."""
        outcome = await super().send(item, may_start)
        if not isinstance(outcome, Unavailable):
            return outcome
        if outcome.is_refused:
            return Rejected(outcome.reason)
        return RetryLater(outcome.reason, HOST_WAIT, uses_attempt=False, is_unanswered=True)


async def nothing_to_ask(vendor: str) -> Evidence:
    """The answer of a vendor that cannot be asked what became of a message."""
    return CannotTell(f"{vendor} cannot be asked what became of a message")


def judge_refusal(answer: VendorAnswer, words: object = None) -> Outcome:
    """What a status that is no success means where the vendor's documents say nothing else about it.

    401 and 403 are about our settings and 429 about our rate, so nothing was taken. A 5xx may come after the message
    was taken: it is in doubt, and a key makes it safe to repeat with this vendor, but not to send with another.
    """
    reason = answer.reason(words)
    if answer.status in (401, 403):
        return Unavailable(reason, is_refused=True)
    if 300 <= answer.status < 400:
        return Unavailable(f"{reason}: redirects are refused; correct baseUrl", is_refused=True)
    if answer.status == 429:
        return RetryLater(reason, answer.delay, uses_attempt=False)
    if answer.status in (408, 425):
        return RetryLater(reason, answer.delay)
    if answer.status < 500:
        return Rejected(reason)
    return Unknown(reason)


def code_in(fields: Mapping[str, Any]) -> int | None:
    """The number that a vendor gives an error; None where it gives none."""
    code = fields.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def wall_seconds() -> int:
    """The time of this machine in whole seconds, as tokens and signatures name it."""
    return int(time.time())


def json_request(url: str, body: object, *headers: tuple[str, str], method: str = "POST") -> HttpRequest:
    """A request whose body is JSON, with the same bytes at every attempt."""
    kinds = [("Content-Type", "application/json"), ("Accept", "application/json")]
    return HttpRequest(method, url, [*kinds, *headers], msgspec.json.encode(body, order="deterministic"))


def form_request(url: str, fields: Mapping[str, str], *headers: tuple[str, str]) -> HttpRequest:
    """A request whose body is a form."""
    kinds = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    return HttpRequest("POST", url, [*kinds, *headers], urlencode(fields).encode())
