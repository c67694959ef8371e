"""The one table of channels: what a message over each is made of, where it goes, and what its success is called.

Everything that depends on the channel is defined here: content and address fields, the words of a
campaign's jobs, which products may use it. Only the CHECKs of storage/schema.sql repeat the names, and a test compares
them. To add a channel: an entry here, its name in those CHECKs, and a provider.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is known of one channel; a call to code has nothing of it."""

    text: str | None = None
    """The part of the content that says what the message says: a body, or a script that is read out."""
    subject: str | None = None
    """The part above it, where the channel shows one."""
    html: str | None = None
    wanted: str = ""
    """What the content of a campaign must have, in words."""
    needs_subject: bool = False
    """Whether it is refused without a subject; a step of a sequence gets the sequence's name for one."""
    has_version: bool = False
    """Whether the content of a campaign may name its own version."""
    has_attachments: bool = False
    address_fields: tuple[str, ...] = ()
    """The columns of a contact that hold its address: the first that is filled. Empty: it reaches no contact."""
    address_name: str = ""
    own_addresses: Literal["customEmails", "customPhones"] | None = None
    """Where a step of a rule names addresses of its own for it."""
    success: Literal["sent", "called", "posted"] = "sent"
    """The status of a message that the provider took."""
    batch: Literal["send", "call", "post"] = "send"
    """What a campaign's job does, in the words of its type."""


class Channel(StrEnum):
    """The ways to reach a person, `social` for posts, `webhook` for systems, and `function` for a call to code."""

    traits: Traits

    def __new__(cls, name: str, traits: Traits = Traits()) -> "Channel":  # noqa: B008 – frozen; `Channel(name)` has none
        """Make one channel of its entry in the table below."""
        made = str.__new__(cls, name)
        made._value_, made.traits = name, traits
        return made

    EMAIL = (
        "email",
        Traits(
            subject="subject",
            text="body",
            html="html",
            wanted="give subject, and body or html",
            needs_subject=True,
            has_attachments=True,
            address_fields=("email",),
            address_name="e-mail address",
            own_addresses="customEmails",
        ),
    )
    SMS = (
        "sms",
        Traits(
            text="body",
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
            wanted="give body",
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
            wanted="give title and body",
            address_fields=("push_tokens",),
            address_name="push token",
        ),
    )
    VOICE = (
        "voice",
        Traits(
            text="script",
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
        Traits(text="body", wanted="give posts, each with a body and accounts", success="posted", batch="post"),
    )
    CHAT = ("chat", Traits(subject="title", text="body", wanted="give body"))
    WEBHOOK = (
        "webhook",
        Traits(text="body", wanted="give posts, each with a body and accounts: https addresses, or default"),
    )
    FUNCTION = ("function", Traits())

    @property
    def content_fields(self) -> tuple[str, ...]:
        """The templates that a message takes, in the order a person reads them; none for a call to code."""
        return tuple(one for one in (self.traits.subject, self.traits.text, self.traits.html) if one)

    @property
    def job_type(self) -> str:
        """What a campaign's job over it is called in the jobs table."""
        return f"{self}_{self.traits.batch}_batch"


MESSAGE_CHANNELS = tuple(channel for channel in Channel if channel.content_fields)
"""What sends messages: workflows and campaigns may use them, and each needs a provider."""
CONTACT_CHANNELS = tuple(channel for channel in Channel if channel.traits.address_fields)
"""What reaches one person, who may refuse it: consent, suppressions, sequences and rules are about these."""
CONTENT_FIELDS = {channel: channel.content_fields for channel in MESSAGE_CHANNELS}
HTML_FIELDS = frozenset(channel.traits.html for channel in Channel if channel.traits.html)
"""The templates in which what is filled in is escaped."""
FIRST_FIELDS = frozenset(channel.traits.subject for channel in Channel if channel.traits.subject)
"""The templates that a person reads first."""


def one_of(channels: tuple[Channel, ...]) -> str:
    """Channels in words, for help and messages: `email, sms or push`."""
    return f"{', '.join(channels[:-1])} or {channels[-1]}"
