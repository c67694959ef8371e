"""How the vendors of e-mail answer; refusals are those of their documents (docs/reference/vendors.md says which)."""

from collections.abc import Mapping
from email import message_from_bytes
from email.policy import HTTP
from hashlib import sha256
from uuid import UUID

from tidings.sink.vendor_form import Envelope, SinkCall, SinkReply, VendorForm, text_of, within


def uuid_of(number: int) -> str:
    """The id that a vendor with UUIDs gives a message."""
    return str(UUID(bytes=sha256(number.to_bytes(8, "big")).digest()[:16], version=4))


def sendgrid_id(number: int) -> str:
    """The id that SendGrid gives a message."""
    return f"sink{number:018}"


def mailgun_id(number: int) -> str:
    """The id that Mailgun gives a message."""
    return f"{number:020}@sink.example.com"


def _read_resend(call: SinkCall) -> Envelope:
    said = call.json
    return Envelope(text_of(within(said, "to")), text_of(said.get("from")), text_of(said.get("subject")))


def _resend_error(status: int, name: str, message: str, **headers: str) -> SinkReply:
    return SinkReply(status, {"statusCode": status, "name": name, "message": message}, headers)


RESEND = VendorForm(
    vendor="resend",
    path="/emails",
    read=_read_resend,
    taken=lambda number, _: SinkReply(200, {"id": uuid_of(number)}),
    key=lambda call: call.headers.get("idempotency-key"),
    refusals=(
        _resend_error(
            422,
            "validation_error",
            "Invalid `to` field. The email address needs to follow the `email@example.com` format.",
        ),
        _resend_error(422, "invalid_attachment", "Attachment must have either a `content` or `path`."),
    ),
    deferrals=(
        _resend_error(
            429,
            "rate_limit_exceeded",
            "Too many requests. Please limit the number of requests per second.",
            **{"Retry-After": "1"},
        ),
        _resend_error(429, "daily_quota_exceeded", "You have reached your daily email sending quota."),
    ),
)


def _read_sendgrid(call: SinkCall) -> Envelope:
    said = call.json
    to = text_of(within(said, "personalizations", "to", "email"))
    return Envelope(to, text_of(within(said, "from", "email")), text_of(said.get("subject")))


def _sendgrid_error(status: int, message: str, field: str | None = None, **headers: str) -> SinkReply:
    return SinkReply(status, {"errors": [{"message": message, "field": field, "help": None}]}, headers)


SENDGRID = VendorForm(
    vendor="sendgrid",
    path="/v3/mail/send",
    read=_read_sendgrid,
    taken=lambda number, _: SinkReply(202, b"", {"X-Message-Id": sendgrid_id(number)}),
    refusals=(
        _sendgrid_error(400, "Does not contain a valid address.", "personalizations.0.to.0.email"),
        _sendgrid_error(413, "The JSON payload you have included in your request is too large."),
    ),
    deferrals=(
        _sendgrid_error(429, "too many requests", **{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1392815263"}),
        _sendgrid_error(401, "Maximum credits exceeded"),
    ),
)


def _read_ses(call: SinkCall) -> Envelope:
    said = call.json
    subject = text_of(within(said, "Content", "Simple", "Subject", "Data"))
    return Envelope(text_of(within(said, "Destination", "ToAddresses")), text_of(said.get("FromEmailAddress")), subject)


def _ses_error(status: int, name: str, message: str) -> SinkReply:
    return SinkReply(status, {"message": message}, {"x-amzn-ErrorType": name})


AMAZON_SES = VendorForm(
    vendor="amazon-ses",
    path="/v2/email/outbound-emails",
    read=_read_ses,
    taken=lambda number, _: SinkReply(200, {"MessageId": f"0102{uuid_of(number)}-000000"}),
    refusals=(
        _ses_error(400, "BadRequestException", "Missing final '@domain'"),
        _ses_error(400, "BadRequestException", "Domain contains illegal character"),
    ),
    deferrals=(
        _ses_error(429, "TooManyRequestsException", "Maximum sending rate exceeded."),
        _ses_error(429, "TooManyRequestsException", "Daily message quota exceeded."),
    ),
)


def _read_postmark(call: SinkCall) -> Envelope:
    said = call.json
    return Envelope(text_of(said.get("To")), text_of(said.get("From")), text_of(said.get("Subject")))


def _postmark_error(status: int, code: int, message: str) -> SinkReply:
    return SinkReply(status, {"ErrorCode": code, "Message": message})


def _taken_by_postmark(number: int, call: SinkCall) -> SinkReply:
    return SinkReply(200, {"To": call.json.get("To"), "MessageID": uuid_of(number), "ErrorCode": 0, "Message": "OK"})


POSTMARK = VendorForm(
    vendor="postmark",
    path="/email",
    read=_read_postmark,
    taken=_taken_by_postmark,
    refusals=(
        _postmark_error(
            422,
            406,
            "You tried to send to a recipient that has been marked as inactive. Inactive recipients are ones that have "
            "generated a hard bounce or a spam complaint.",
        ),
        _postmark_error(422, 300, "Error parsing 'To': Illegal email address. It must contain the '@' symbol."),
    ),
    deferrals=(
        _postmark_error(429, 429, "Rate Limit Exceeded"),
        _postmark_error(503, 100, "Maintenance"),
    ),
)


def form_fields(content_type: str, body: bytes) -> Mapping[str, str]:
    """The fields of a multipart form, the last of each name; files are passed over."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    parts = message_from_bytes(head + body, policy=HTTP)
    named = {str(part.get_param("name", header="content-disposition")): part for part in parts.iter_parts()}
    read = {name: part.get_payload(decode=True) for name, part in named.items() if not part.get_filename()}
    return {name: value.decode("utf-8", "replace") for name, value in read.items() if isinstance(value, bytes)}


def _read_mailgun(call: SinkCall) -> Envelope:
    fields = form_fields(call.headers.get("content-type", ""), call.body)
    return Envelope(fields.get("to", ""), fields.get("from", ""), fields.get("subject", ""))


MAILGUN = VendorForm(
    vendor="mailgun",
    path="/v3/[^/]+/messages",
    read=_read_mailgun,
    taken=lambda number, _: SinkReply(200, {"id": f"<{mailgun_id(number)}>", "message": "Queued. Thank you."}),
    refusals=(SinkReply(400, {"message": "to parameter is not a valid address. please check documentation"}),),
    deferrals=(
        SinkReply(429, {"message": "Too many requests"}, {"Retry-After": "1"}),
        SinkReply(403, {"message": "Domain sink.example.com is not allowed to send: recipient limit exceeded."}),
    ),
)

EMAIL_FORMS = (RESEND, SENDGRID, AMAZON_SES, POSTMARK, MAILGUN)
