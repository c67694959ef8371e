"""The one table of channels: what a message over each is made of, where it goes, and what its success is called.

Everything that depends on the channel is defined here: content and address fields, the words of a
campaign's jobs, which products may use it. Only the CHECKs of storage/schema.sql repeat the names, and a test compares
them. To add a channel: an entry here, its name in those CHECKs, and a provider. To add a part of a message: a
ContentField here; domain/content/message.py says what providers get of it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class FieldKind(StrEnum):
    """What stands in a field of a message; a provider gets all but the first as JSON."""

    TEXT = "text"
    """One template."""
    LIST = "list"
    """Several templates."""
    OBJECT = "object"
    """Templates by their names."""
    JSON = "json"
    """A template that makes JSON, or JSON whose strings are templates."""
    FILES = "files"
    """Files by reference: objects with url and filename, and perhaps contentType and contentId."""
    APPROVED = "approved"
    """What WhatsApp approved beforehand: an object with name, language and parameters."""
    CHOICE = "choice"
    """One of a few words; a setting, which no provider sees."""
    NAME = "name"
    """What names a template or a sender of the workspace; a setting, which no provider sees."""
    NUMBER = "number"
    """A whole number from 1 on; a setting, which no provider sees."""


class Holds(StrEnum):
    """What the text of a field must be, once it is rendered; empty counts as not given."""

    LINE = "line"
    MAILBOX = "mailbox"
    """An e-mail address, perhaps with a name: `Name <address>`."""
    LINK = "link"
    HEADERS = "headers"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class ContentField:
    """One field of a message beside its subject and its text."""

    name: str
    about: str
    """What it is, for the documentation."""
    kind: FieldKind = FieldKind.TEXT
    holds: Holds | None = None
    most: int = 0
    """How many entries it may have, or the largest number."""
    choices: tuple[str, ...] = ()
    says: bool = False
    """Whether a message may have it instead of a text."""
    is_sent: bool = True
    """Whether a provider gets it; otherwise rendering makes something of it, or it is a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is known of one channel; a call to code has nothing of it."""

    text: str | None = None
    """The part of the content that says what the message says: a body, or a script that is read out."""
    subject: str | None = None
    """The part above it, where the channel shows one."""
    html: str | None = None
    more: tuple[ContentField, ...] = ()
    """What else a message may have."""
    text_is_json: bool = False
    """Whether the text is JSON: written as a template of it, or as an object of templates."""
    wanted: str = ""
    """What the content of a campaign must have, in words."""
    needs_subject: bool = False
    """Whether it is refused without a subject; a step of a sequence gets the sequence's name for one."""
    has_version: bool = False
    """Whether the content of a campaign may name its own version."""
    address_fields: tuple[str, ...] = ()
    """The columns of a contact that hold its address: the first that is filled. Empty: it reaches no contact."""
    address_name: str = ""
    own_addresses: Literal["customEmails", "customPhones"] | None = None
    """Where a step of a rule names addresses of its own for it."""
    default_recipient: str | None = None
    """What a send without `to` is for, where the connection itself names one place."""
    success: Literal["sent", "called", "posted"] = "sent"
    """The status of a message that the provider took."""
    batch: Literal["send", "call", "post"] = "send"
    """What a campaign's job does, in the words of its type."""


MOST_COPIES = 50
LAYOUT, SENDER = "layout", "sender"
_LAYOUT_FIELD = ContentField(
    LAYOUT, "The template of the workspace that wraps the HTML.", FieldKind.NAME, is_sent=False
)
_SENDER_FIELD = ContentField(
    SENDER, "Whom it is from: a sender of the workspace; else its default.", FieldKind.NAME, is_sent=False
)
_EMAIL_FIELDS = (
    ContentField(
        "mjml", "MJML instead of html: compiled when it is rendered.", holds=Holds.HTML, says=True, is_sent=False
    ),
    ContentField("preheader", "What an inbox shows after the subject.", holds=Holds.LINE, is_sent=False),
    ContentField("from", "Who it is from: `Name <address>` or an address; else the connection's.", holds=Holds.MAILBOX),
    ContentField("replyTo", "Where answers go.", holds=Holds.MAILBOX),
    ContentField("cc", "Who gets a copy; one address or several.", FieldKind.LIST, Holds.MAILBOX, MOST_COPIES),
    ContentField("bcc", "Who gets a copy that nobody sees.", FieldKind.LIST, Holds.MAILBOX, MOST_COPIES),
    ContentField("headers", "Further headers, such as `X-Campaign`.", FieldKind.OBJECT, Holds.HEADERS, 20),
    ContentField(
        "attachments",
        "Files by reference, `{url, filename, contentType, contentId}`; html shows one with a contentId as `cid:…`.",
        FieldKind.FILES,
        most=10,
    ),
    _LAYOUT_FIELD,
    _SENDER_FIELD,
)
NETWORKS = ("mastodon", "bluesky", "x", "threads", "linkedin", "facebook")
"""Where posts go; domain/content/post_length.py has the limit of each."""


def _fields(traits: Traits) -> tuple[ContentField, ...]:
    kind = FieldKind.JSON if traits.text_is_json else FieldKind.TEXT
    return (
        *([ContentField(traits.subject, "What a person reads first.")] if traits.subject else []),
        *([ContentField(traits.text, "What it says.", kind, says=True)] if traits.text else []),
        *([ContentField(traits.html, "The same as HTML.", holds=Holds.HTML, says=True)] if traits.html else []),
        *traits.more,
    )


class Channel(StrEnum):
    """The ways to reach a person, `social` for posts, `webhook` for systems, and `function` for a call to code."""

    traits: Traits
    fields: tuple[ContentField, ...]
    """What a message over it is made of, in the order a person reads it; nothing for a call to code."""

    def __new__(cls, name: str, traits: Traits = Traits()) -> "Channel":  # noqa: B008 – frozen; `Channel(name)` has none
        """Make one channel of its entry in the table below."""
        made = str.__new__(cls, name)
        made._value_, made.traits, made.fields = name, traits, _fields(traits)
        return made

    EMAIL = (
        "email",
        Traits(
            subject="subject",
            text="body",
            html="html",
            wanted="give subject, and body or html",
            more=_EMAIL_FIELDS,
            needs_subject=True,
            address_fields=("email",),
            address_name="e-mail address",
            own_addresses="customEmails",
        ),
    )
    SMS = (
        "sms",
        Traits(
            text="body",
            more=(
                ContentField(
                    "maxSegments",
                    "The most parts it may be sent in; what is longer fails.",
                    FieldKind.NUMBER,
                    most=50,
                    is_sent=False,
                ),
                _SENDER_FIELD,
            ),
            wanted="give body",
            address_fields=("phone",),
            address_name="phone number",
            own_addresses="customPhones",
        ),
    )
    WHATSAPP = (
        "whatsapp",
        Traits(
            text="body",
            more=(
                ContentField(
                    "template",
                    "A template that WhatsApp approved, instead of body: `{name, language, parameters}`.",
                    FieldKind.APPROVED,
                    most=50,
                    says=True,
                ),
                _SENDER_FIELD,
            ),
            wanted="give body, or template",
            address_fields=("whatsapp", "phone"),
            address_name="WhatsApp or phone number",
            own_addresses="customPhones",
        ),
    )
    PUSH = (
        "push",
        Traits(
            subject="title",
            text="body",
            more=(
                ContentField("data", "What the app gets with it: names and strings.", FieldKind.OBJECT, most=50),
                ContentField("collapse", "Of several with the same word, a device shows the last.", holds=Holds.LINE),
                ContentField("url", "What opens when it is tapped.", holds=Holds.LINK),
                ContentField("image", "The address of a picture.", holds=Holds.LINK),
            ),
            wanted="give title and body",
            address_fields=("push_tokens",),
            address_name="push token",
        ),
    )
    VOICE = (
        "voice",
        Traits(
            text="script",
            more=(
                ContentField("voice", "The voice that reads it, as the provider calls it.", holds=Holds.LINE),
                ContentField("language", "The language it is read in, such as `en-GB`.", holds=Holds.LINE),
                _SENDER_FIELD,
            ),
            wanted="give script, and perhaps its version",
            has_version=True,
            address_fields=("phone",),
            address_name="phone number",
            own_addresses="customPhones",
            success="called",
            batch="call",
        ),
    )
    SOCIAL = (
        "social",
        Traits(
            text="body",
            more=(
                ContentField("url", "A link that is posted with it.", holds=Holds.LINK),
                ContentField(
                    "network",
                    "Where it is posted, so that its length is checked.",
                    FieldKind.CHOICE,
                    choices=NETWORKS,
                    is_sent=False,
                ),
            ),
            wanted="give posts, each with a body and accounts",
            success="posted",
            batch="post",
        ),
    )
    CHAT = (
        "chat",
        Traits(
            subject="title",
            text="body",
            wanted="give posts, each with a body and accounts: channels, users or chats",
            address_name="place in a chat",
            default_recipient="default",
        ),
    )
    WEBHOOK = (
        "webhook",
        Traits(
            text="body",
            text_is_json=True,
            more=(ContentField("event", "What happened, as the receiver knows it: its type.", holds=Holds.LINE),),
            wanted="give posts, each with a body and accounts: https addresses, or default",
            address_name="address for a webhook",
            default_recipient="default",
        ),
    )
    FUNCTION = ("function", Traits())

    @property
    def content_fields(self) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(field.name for field in self.fields)

    @property
    def job_type(self) -> str:
        """What a campaign's job over it is called in the jobs table."""
        return f"{self}_{self.traits.batch}_batch"

    @property
    def reaches_contacts(self) -> bool:
        """Whether contacts have addresses for it; otherwise whoever sends names where it goes."""
        return bool(self.traits.address_fields)


MESSAGE_CHANNELS = tuple(channel for channel in Channel if channel.traits.text)
"""What sends messages: workflows and campaigns may use them, and each needs a provider."""
CONTACT_CHANNELS = tuple(channel for channel in Channel if channel.reaches_contacts)
"""What reaches one person, who may refuse it: consent, suppressions and segments are about these."""
STEP_CHANNELS = tuple(channel for channel in Channel if channel.reaches_contacts or channel.traits.default_recipient)
"""What steps of sequences and rules send over: to a person, or to where the step or the connection says."""
CONTENT_FIELDS = {channel: channel.content_fields for channel in MESSAGE_CHANNELS}
HTML_FIELDS = frozenset(field.name for channel in Channel for field in channel.fields if field.holds is Holds.HTML)
"""The templates in which what is filled in is escaped."""
FIRST_FIELDS = frozenset(channel.traits.subject for channel in Channel if channel.traits.subject)
"""The templates that a person reads first."""
SENDER_CHANNELS = tuple(channel for channel in Channel if SENDER in channel.content_fields)
"""What can be said to be from somebody."""


def one_of(channels: tuple[Channel, ...]) -> str:
    """Channels in words, for help and messages: `email, sms or push`."""
    return f"{', '.join(channels[:-1])} or {channels[-1]}"
