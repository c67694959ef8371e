"""SMS, WhatsApp and calls through Twilio: resolvable, since its records can be asked for a message or a call.

Its description of the API has no key that would keep a repeated POST from sending again.
"""

from datetime import date

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import (
    ConnectionSettings,
    FollowedDocument,
    ProviderKind,
    Setting,
    base_url,
    secret,
)
from tidings.domain.flow.provider import Provider
from tidings.providers.vendor_api import VendorProvider
from tidings.providers.vendors.twilio.account import TwilioAccount
from tidings.providers.vendors.twilio.calls import TwilioCalls
from tidings.providers.vendors.twilio.messages import TwilioMessages


def _build(connection: ConnectionSettings) -> Provider:
    account = TwilioAccount(connection)
    is_voice = connection.channel is Channel.VOICE
    vendor = TwilioCalls(account) if is_voice else TwilioMessages(account, connection.channel)
    return VendorProvider(connection, vendor, [account.secret])


KIND = ProviderKind(
    name="twilio",
    title="Twilio",
    channels=(Channel.SMS, Channel.WHATSAPP, Channel.VOICE),
    settings=(
        Setting(name="accountSid", doc="the account, which begins with AC", is_required=True),
        secret("authToken", "the auth token of the account, or the secret of the API key"),
        Setting(name="apiKeySid", doc="the API key, which begins with SK, where authToken is its secret"),
        Setting(
            name="from",
            doc="the sender where a message names none: a number, a sender id or a messaging service",
            example="+15005550006",
        ),
        base_url("https://api.twilio.com"),
    ),
    build=_build,
    follows=(
        FollowedDocument("Twilio OpenAPI, api_v2010, of 2026-04-14: Messages, Calls", date(2026, 11, 18)),
        FollowedDocument("Twilio error and warning dictionary", date(2026, 11, 18)),
        FollowedDocument("Twilio documentation: TwiML Say, WhatsApp templates", date(2026, 11, 18)),
    ),
)
