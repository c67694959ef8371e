"""E-mail through an SMTP server that a workspace names: the same provider as that of TIDINGS_SMTP_URL, but guarded."""

from collections.abc import Mapping
from datetime import date

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    SettingType,
    secret,
)
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.provider import Provider
from tidings.providers.letter import sender_of
from tidings.providers.smtp import SmtpProvider
from tidings.providers.smtp_url import SmtpServer, Tls

_SECURITY: Mapping[str, Tls] = {
    "starttls": "required",
    "tls": "implicit",
    "whenOffered": "when offered",
    "none": "never",
}


def _build(connection: ConnectionSettings) -> Provider:
    sender = sender_of(connection.text("from"))
    if sender is None:
        raise ConfigInvalid("settings.from is no ASCII address such as you@example.com or You <you@example.com>")
    username, password = connection.text("username"), connection.text("password")
    if bool(username) != bool(password):
        raise ConfigInvalid("settings.username and credentials.password belong together: give both or neither")
    server = SmtpServer(
        connection.text("host"),
        connection.number("port"),
        _SECURITY[connection.text("security")],
        username or None,
        password or None,
    )
    return SmtpProvider(
        server,
        sender,
        name=connection.name,
        concurrency=connection.concurrency,
        call_deadline=connection.call_deadline,
        private_addresses=connection.private_addresses,
        is_guarded=True,
    )


KIND = ProviderKind(
    name="smtp",
    title="SMTP",
    channels=(Channel.EMAIL,),
    settings=(
        Setting(name="host", doc="the server's name", example="smtp.example.com", is_required=True, is_address=True),
        Setting(
            name="port", doc="the server's port", type=SettingType.NUMBER, default=587, example="587", is_address=True
        ),
        Setting(
            name="security",
            doc="`starttls` demands it, `tls` speaks TLS at once (port 465), `whenOffered` takes STARTTLS where it is "
            "offered, `none` sends in the clear",
            default="starttls",
            choices=tuple(_SECURITY),
            is_address=True,
        ),
        Setting(name="username", doc="the user name, where the server asks for one", example="you@example.com"),
        secret("password", "the password, where the server asks for one", is_required=False),
        Setting(name="from", doc="the sender of messages", example="You <you@example.com>", is_required=True),
    ),
    build=_build,
    follows=(FollowedDocument("RFC 5321, RFC 3207, RFC 4954", date(2026, 11, 18)),),
)
