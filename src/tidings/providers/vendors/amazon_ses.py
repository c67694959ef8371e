"""E-mail through Amazon SES, API version 2: blind, since nothing can be asked about a message without SES's own id.

SendEmail takes no idempotency key, and GetMessageInsights wants the id that a lost answer would have had. Our key goes
along as a tag: a configuration set that publishes events sends it back with each of them. SES writes the Message-ID
itself, whatever is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from email.header import Header
from email.utils import formataddr
from typing import Any

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    SettingType,
    secret,
)
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, RetryLater, Unavailable, Unknown
from tidings.domain.flow.provider import Blind, Doubtful, Evidence, Provider
from tidings.providers.aws_signature import AwsCredentials, signed
from tidings.providers.email_fields import KEY_NAME, SENDER_SETTING, EmailFields, email_fields, sender_refused
from tidings.providers.email_files import EmailFile, email_files, written
from tidings.providers.http_request import HttpRequest
from tidings.providers.letter import Sender
from tidings.providers.vendor_api import (
    VendorAnswer,
    VendorCalls,
    VendorProvider,
    json_request,
    judge_refusal,
    nothing_to_ask,
)

_LARGEST_FILES = 20_000_000
"""Bytes, which base64 makes 27 million of the 40 million that a whole message may have."""
_OUR_TROUBLE = frozenset(
    {
        "AccountSuspendedException",
        "SendingPausedException",
        "NotFoundException",  # the configuration set
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotAuthorized",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnknownOperationException",
        "UnrecognizedClientException",
    }
)
"""Errors about the account, its keys and its settings; several come with 400, which alone would be the message's."""
_TOO_FAST = frozenset({"TooManyRequestsException", "Throttling", "ThrottlingException"})
_DAILY_QUOTA = "Daily message quota exceeded"
_UNVERIFIED = "is not verified"


class AmazonSes:
    """POST /v2/email/outbound-emails, signed, and what its errors mean."""

    provider_class = Blind()

    def __init__(
        self,
        url: str,
        region: str,
        who: AwsCredentials,
        sender: str,
        configuration_set: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._url, self._region, self._who = url, region, who
        self._sender, self._configuration_set, self._clock = sender, configuration_set, clock

    async def request(self, item: Marked, calls: VendorCalls, until: float) -> HttpRequest | Outcome:
        """Write and sign the request; our key goes along as a tag."""
        fields = email_fields(item, self._sender)
        if not isinstance(fields, EmailFields):
            return fields
        files = await email_files(item, fields, calls, until, _LARGEST_FILES)
        if not isinstance(files, Sequence):
            return files
        body = _body(fields, item.key.hex(), files)
        body |= {"ConfigurationSetName": self._configuration_set} if self._configuration_set else {}
        return await written(files, lambda: self._signed(body))

    def _signed(self, body: Mapping[str, Any]) -> HttpRequest:
        plain = json_request(f"{self._url}/v2/email/outbound-emails", body)
        return signed(plain, self._who, self._region, "ses", self._clock())

    def judge(self, item: Marked, answer: VendorAnswer) -> Outcome:
        """Say what an answer means."""
        said = answer.fields
        if answer.is_success:
            id = said.get("MessageId")
            return Accepted(id) if isinstance(id, str) and id else Unknown(answer.reason("the answer has no MessageId"))
        name = _name_of_error(answer)
        words = f"{name} {said.get('message') or said.get('Message') or ''}".strip() or None
        return self._judge_error(item, answer, name, words)

    def _judge_error(self, item: Marked, answer: VendorAnswer, name: str, words: str | None) -> Outcome:
        reason = answer.reason(words)
        is_unverified = name == "MessageRejected" and _UNVERIFIED in reason
        if name == "MailFromDomainNotVerifiedException" or is_unverified:
            return sender_refused(item, reason)
        if name in _OUR_TROUBLE:
            return Unavailable(reason, is_refused=True)
        if name == "LimitExceededException" or _DAILY_QUOTA in reason:
            return Unavailable(reason)
        if name in _TOO_FAST:
            return RetryLater(reason, answer.delay, uses_attempt=False)
        return judge_refusal(answer, words)

    async def look_up(self, item: Doubtful, calls: VendorCalls, until: float) -> Evidence:  # noqa: ARG002
        """Return no evidence: only events that SES publishes can tell."""
        return await nothing_to_ask("Amazon SES")


def _body(fields: EmailFields, key: str, files: Sequence[EmailFile]) -> dict[str, Any]:
    to: dict[str, Any] = {"ToAddresses": [fields.recipient]}
    to |= {"CcAddresses": [_ascii(one) for one in fields.cc]} if fields.cc else {}
    to |= {"BccAddresses": [_ascii(one) for one in fields.bcc]} if fields.bcc else {}
    body: dict[str, Any] = {
        "FromEmailAddress": _ascii(fields.sender),
        "Destination": to,
        "Content": {"Simple": _content(fields, files)},
        "EmailTags": [{"Name": KEY_NAME, "Value": key}],
    }
    return body | ({"ReplyToAddresses": [_ascii(fields.reply_to)]} if fields.reply_to else {})


def _content(fields: EmailFields, files: Sequence[EmailFile]) -> Mapping[str, Any]:
    parts = {"Text": fields.text, "Html": fields.html}
    content: dict[str, Any] = {
        "Subject": _text(fields.subject),
        "Body": {name: _text(text) for name, text in parts.items() if text is not None},
    }
    headers = [{"Name": name, "Value": _ascii_value(value)} for name, value in fields.headers.items()]
    content |= {"Headers": headers} if headers else {}
    return content | ({"Attachments": [_attachment(one) for one in files]} if files else {})


def _text(text: str) -> Mapping[str, str]:
    return {"Data": text, "Charset": "UTF-8"}


def _attachment(one: EmailFile) -> Mapping[str, Any]:
    # Bytes become base64 in JSON, which is how the API takes a blob; BASE64 is how SES writes it into the message.
    said = {
        "RawContent": one.content,
        "FileName": one.filename,
        "ContentType": one.content_type,
        "ContentTransferEncoding": "BASE64",
    }
    shown = {"ContentDisposition": "INLINE", "ContentId": one.content_id} if one.content_id else {}
    return said | (shown or {"ContentDisposition": "ATTACHMENT"})


def _ascii(one: Sender) -> str:
    """An address with its name in encoded words where it is not ASCII, as SES asks."""
    return formataddr((one.name, one.address))


def _ascii_value(value: str) -> str:
    return value if value.isascii() else Header(value, "utf-8").encode().replace("\n", "")


def _name_of_error(answer: VendorAnswer) -> str:
    """The error's name: `MessageRejected`, also where it stands in a longer one like aws#MessageRejected:http://…"""
    said = answer.headers.get("x-amzn-errortype") or answer.fields.get("__type") or answer.fields.get("code") or ""
    return str(said).partition(":")[0].rpartition("#")[2]


def _build(connection: ConnectionSettings) -> Provider:
    key, token, region = (connection.text(name) for name in ("secretAccessKey", "sessionToken", "region"))
    vendor = AmazonSes(
        connection.url() or f"https://email.{region}.amazonaws.com",
        region,
        AwsCredentials(connection.text("accessKeyId"), key, token),
        connection.text("from"),
        connection.text("configurationSet"),
    )
    return VendorProvider(connection, vendor, [key, token])


def _is_reachable(recipient: str) -> bool:
    """SES takes no address beyond ASCII before the @ (no SMTPUTF8); the domain's ASCII form is what is stored."""
    return recipient.isascii()


KIND = ProviderKind(
    name="amazon-ses",
    title="Amazon SES",
    channels=(Channel.EMAIL,),
    settings=(
        Setting(
            name="region",
            doc="the region whose SES sends",
            example="eu-west-1",
            is_required=True,
            is_address=True,
            matches="[a-z]{2,}(-[a-z]+)+-[0-9]+",
        ),
        Setting(
            name="accessKeyId",
            doc="the id of an access key that may ses:SendEmail",
            example="AKIAIOSFODNN7EXAMPLE",
            is_required=True,
            matches="[A-Za-z0-9_]{16,128}",
        ),
        secret("secretAccessKey", "the secret of the access key"),
        secret("sessionToken", "the token, where the access key is of a session", is_required=False, has_lines=True),
        Setting(
            name="configurationSet", doc="the configuration set that publishes events", matches="[A-Za-z0-9_-]{0,64}"
        ),
        SENDER_SETTING,
        Setting(
            name="baseUrl",
            doc="where its API is, when not at the region's own address",
            type=SettingType.URL,
            example="https://email.eu-west-1.amazonaws.com",
        ),
    ),
    build=_build,
    accepts=_is_reachable,
    follows=(
        FollowedDocument("Amazon SES API v2: SendEmail, common errors", date(2026, 11, 18)),
        FollowedDocument("AWS General Reference: Signature Version 4", date(2026, 11, 18)),
    ),
)
