"""How vendors of other channels answer, in short. What no form knows is a webhook, which says yes."""

from collections.abc import Callable
from hashlib import sha256
from urllib.parse import parse_qs

from tidings.sink.vendor_form import Envelope, SinkCall, SinkReply, VendorForm, text_of, within


def _hex(number: int) -> str:
    return sha256(number.to_bytes(8, "big")).hexdigest()[:32]


def _in_json(recipient: str, words: str = "text") -> Callable[[SinkCall], Envelope]:
    """Read a call whose recipient and text stand in its JSON; a dot leads into an object."""
    return lambda call: Envelope(
        text_of(within(call.json, *recipient.split("."))), subject=text_of(within(call.json, *words.split(".")))
    )


def _in_form(recipient: str, words: str) -> Callable[[SinkCall], Envelope]:
    """Read a call that is a form."""

    def read(call: SinkCall) -> Envelope:
        fields = parse_qs(call.body.decode("utf-8", "replace"))
        to, text = (fields.get(name, [""])[0] for name in (recipient, words))
        return Envelope(to, subject=text)

    return read


def _twilio_error(status: int, code: int, message: str) -> SinkReply:
    return SinkReply(status, {"code": code, "message": message, "status": status})


def _twilio(kind: str, prefix: str, words: str) -> VendorForm:
    return VendorForm(
        vendor="twilio",
        path=rf"/2010-04-01/Accounts/[^/]+/{kind}\.json",
        read=_in_form("To", words),
        taken=lambda number, _: SinkReply(201, {"sid": f"{prefix}{_hex(number)}", "status": "queued"}),
        refusals=(
            _twilio_error(400, 21211, "The 'To' number is not a valid phone number."),
            _twilio_error(400, 21610, "Attempt to send to unsubscribed recipient"),
        ),
        deferrals=(_twilio_error(429, 20429, "Too Many Requests"),),
    )


VONAGE = VendorForm(
    vendor="vonage",
    path="/sms/json",
    read=_in_form("to", "text"),
    taken=lambda number, _: SinkReply(
        200, {"message-count": "1", "messages": [{"message-id": _hex(number)[:16].upper(), "status": "0"}]}
    ),
    refusals=(SinkReply(200, {"message-count": "1", "messages": [{"status": "7", "error-text": "Number barred"}]}),),
    deferrals=(
        SinkReply(200, {"message-count": "1", "messages": [{"status": "1", "error-text": "Throughput Rate Exceeded"}]}),
    ),
)


def _meta_error(status: int, code: int, message: str) -> SinkReply:
    return SinkReply(status, {"error": {"message": message, "type": "OAuthException", "code": code}})


WHATSAPP = VendorForm(
    vendor="whatsapp-cloud",
    path=r"(/v[0-9.]+)?/[0-9]+/messages",
    read=_in_json("to", "text.body"),
    taken=lambda number, _: SinkReply(
        200, {"messaging_product": "whatsapp", "messages": [{"id": f"wamid.{_hex(number)}"}]}
    ),
    refusals=(_meta_error(400, 131026, "(#131026) Message undeliverable"),),
    deferrals=(_meta_error(429, 130429, "(#130429) Rate limit hit"),),
)
SLACK = VendorForm(
    vendor="slack",
    path=r"(/api)?/chat\.postMessage",
    read=_in_json("channel"),
    taken=lambda number, call: SinkReply(
        200, {"ok": True, "channel": call.json.get("channel"), "ts": f"{1_700_000_000 + number}.000100"}
    ),
    refusals=(SinkReply(200, {"ok": False, "error": "channel_not_found"}),),
    deferrals=(SinkReply(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "1"}),),
)
FCM = VendorForm(
    vendor="fcm",
    path=r"/v1/projects/[^/]+/messages:send",
    read=_in_json("message.token", "message.notification.title"),
    taken=lambda number, call: SinkReply(200, {"name": f"{call.path.removeprefix('/v1/').partition(':')[0]}/{number}"}),
    refusals=(
        SinkReply(
            404,
            {
                "error": {
                    "code": 404,
                    "status": "NOT_FOUND",
                    "message": "Requested entity was not found.",
                    "details": [
                        {
                            "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                            "errorCode": "UNREGISTERED",
                        }
                    ],
                }
            },
        ),
    ),
    deferrals=(
        SinkReply(
            429,
            {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded."}},
            {"Retry-After": "60"},
        ),
    ),
)
TELEGRAM = VendorForm(
    vendor="telegram",
    path="/bot[^/]+/sendMessage",
    read=_in_json("chat_id"),
    taken=lambda number, _: SinkReply(200, {"ok": True, "result": {"message_id": number}}),
    refusals=(SinkReply(400, {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}),),
    deferrals=(
        SinkReply(
            429,
            {
                "ok": False,
                "error_code": 429,
                "description": "Too Many Requests: retry after 1",
                "parameters": {"retry_after": 1},
            },
        ),
    ),
)
MASTODON = VendorForm(
    vendor="mastodon",
    path="/api/v1/statuses",
    read=lambda call: Envelope(subject=text_of(call.json.get("status"))),
    taken=lambda number, _: SinkReply(200, {"id": str(number)}),
    key=lambda call: call.headers.get("idempotency-key"),
    refusals=(SinkReply(422, {"error": "Validation failed: Text can't be blank"}),),
)
BLUESKY = VendorForm(
    vendor="bluesky",
    path=r"/xrpc/com\.atproto\.repo\.(createRecord|putRecord)",
    read=_in_json("repo", "record.text"),
    taken=lambda number, call: SinkReply(
        200, {"uri": f"at://{call.json.get('repo')}/app.bsky.feed.post/{number}", "cid": f"bafy{_hex(number)}"}
    ),
    refusals=(SinkReply(400, {"error": "InvalidRequest", "message": "Invalid app.bsky.feed.post record"}),),
    deferrals=(SinkReply(429, {"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"}),),
)
WEBHOOK = VendorForm(
    vendor="webhook",
    path=".*",
    read=lambda call: Envelope(call.path),
    taken=lambda number, _: SinkReply(200, {"id": _hex(number)}),
    refusals=(SinkReply(410, {"error": "gone"}), SinkReply(400, {"error": "bad request"})),
    deferrals=(SinkReply(429, {"error": "too many requests"}, {"Retry-After": "1"}),),
)

OTHER_FORMS = (
    _twilio("Messages", "SM", "Body"),
    _twilio("Calls", "CA", "Twiml"),
    VONAGE,
    WHATSAPP,
    SLACK,
    FCM,
    TELEGRAM,
    MASTODON,
    BLUESKY,
    WEBHOOK,  # the last, since it is for every path
)
