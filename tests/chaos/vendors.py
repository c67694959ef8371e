"""The ledger's vendors: one of each class, in the words of their documents, on the door that it answers HTTP at.

Resend is keyed, each account for itself; Twilio shows its records and no key, so that a look-up finds and never proves
absence; FCM is blind. Whose item a call without a key is, the recipient says. An account that `POST /close` names
refuses every call.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

from tests.chaos.ledger import Line, Mode, Request, answer


@dataclass(frozen=True, slots=True)
class VendorCall:
    """A message as one of the vendors was given it."""

    vendor: "Vendor"
    account: str
    recipient: str
    body: str
    """What is the same at every repeat, hashed: whatever the account."""
    key: str = ""

    @property
    def provider(self) -> str:
        """The class that it stands for."""
        return self.vendor.provider


@dataclass(frozen=True, slots=True)
class Vendor:
    """How a vendor says what became of a call."""

    provider: str
    accepted: Callable[[Line], bytes]
    error: Callable[[int, Mapping[str, str] | None], bytes]

    def says(self, line: Line, retry_after_seconds: float) -> bytes | None:
        """The answer of a mode; None closes the connection."""
        match line.mode:
            case Mode.ACK | Mode.HALF:
                accepted = self.accepted(line)
                return accepted if line.mode is Mode.ACK else accepted[:-8]
            case Mode.ERROR | Mode.BROKEN:
                return self.error(500, None)
            case Mode.THROTTLE:
                return self.error(429, {"Retry-After": str(max(1, round(retry_after_seconds)))})
            case Mode.REFUSE:
                return self.error(422 if self is RESEND else 400, None)
            case Mode.SHUT:
                return self.error(401, None)
            case _:
                return None


def _resend_accepted(line: Line) -> bytes:
    return answer(200, {"id": line.key})


def _resend_error(status: int, headers: Mapping[str, str] | None) -> bytes:
    names = {401: "invalid_api_key", 422: "validation_error", 429: "rate_limit_exceeded", 500: "internal_server_error"}
    return answer(status, {"statusCode": status, "name": names[status], "message": "said by the ledger"}, headers)


def _twilio_accepted(line: Line) -> bytes:
    return answer(201, {"sid": _sid(line.key), "status": "queued"})


def _twilio_error(status: int, headers: Mapping[str, str] | None) -> bytes:
    codes = {400: 21211, 401: 20003, 429: 20429, 500: 20500}
    return answer(status, {"code": codes[status], "message": "said by the ledger", "status": status}, headers)


def _fcm_accepted(line: Line) -> bytes:
    return answer(200, {"name": f"projects/{line.account}/messages/{line.key}"})


def _fcm_error(status: int, headers: Mapping[str, str] | None) -> bytes:
    words = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
    details = [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": words[status]}]
    error = {"code": status, "status": words[status], "message": "said by the ledger"}
    return answer(status, {"error": error | ({"details": details} if status == 400 else {})}, headers)


RESEND = Vendor("keyed", _resend_accepted, _resend_error)
TWILIO = Vendor("resolvable", _twilio_accepted, _twilio_error)
FCM = Vendor("blind", _fcm_accepted, _fcm_error)


def read_call(request: Request) -> VendorCall | None:
    """The message that a request is to one of the vendors; None where it is none."""
    parts = request.path.strip("/").split("/")
    match [request.method, *parts]:
        case ["POST", "emails"]:
            account = request.headers["authorization"].removeprefix("Bearer ")
            [recipient] = json.loads(request.body)["to"]
            return VendorCall(RESEND, account, recipient, _hash(request.body), request.headers["idempotency-key"])
        case ["POST", "2010-04-01", "Accounts", account, "Messages.json"]:
            recipient = parse_qs(request.body.decode())["To"][0]
            return VendorCall(TWILIO, account, recipient, _hash(request.body))
        case ["POST", "v1", "projects", account, "messages:send"]:
            recipient = json.loads(request.body)["message"]["token"]
            return VendorCall(FCM, account, recipient, _hash(request.body))
        case _:
            return None


@dataclass(slots=True)
class Records:
    """What an account of Twilio's shows of the messages that it has taken."""

    _by_address: dict[tuple[str, str], list[Mapping[str, str]]] = field(default_factory=dict)

    def note(self, request: Request, line: Line) -> None:
        """Keep the record of a message that was taken."""
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        record = {
            "sid": _sid(line.key),
            "to": form["To"],
            "from": form["From"],
            "body": form["Body"],
            "direction": "outbound-api",
            "date_created": formatdate(line.at),
            "status": "sent",
        }
        self._by_address.setdefault((line.account, line.recipient), []).append(record)

    def find(self, request: Request) -> bytes | None:
        """The answer to who asks for the messages to a number; None where nobody does."""
        match [request.method, *request.path.strip("/").split("/")]:
            case ["GET", "2010-04-01", "Accounts", account, "Messages.json"]:
                found: Sequence[Any] = self._by_address.get((account, request.query["To"][0]), [])
                return answer(200, {"messages": found, "next_page_uri": None})
            case _:
                return None


def token_for(request: Request) -> bytes | None:
    """The token that FCM's calls need."""
    if (request.method, request.path) != ("POST", "/token"):
        return None
    return answer(200, {"access_token": "a-token-of-the-ledger", "expires_in": 3600})


def _sid(key: str) -> str:
    return f"SM{key[:32]:0<32}"


def _hash(body: bytes) -> str:
    return sha256(body).hexdigest()
