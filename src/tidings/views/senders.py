"""Senders: whom messages are from."""

from collections.abc import Sequence
from typing import Annotated

from tidings.views.view import ChannelName, Id, Time, View, doc


class NamedSender(View, frozen=True, kw_only=True):
    """Whom messages are from: a name that is shown, and an address or number for each channel."""

    id: Id
    name: Annotated[str, doc("What a message calls it in `sender`.", "support")]
    display_name: Annotated[str | None, doc("What an inbox shows.", "Acme Support")] = None
    email: Annotated[str | None, doc(example="support@example.com")] = None
    reply_to: Annotated[str | None, doc("Where answers to its e-mail go.", "help@example.com")] = None
    sms: Annotated[str | None, doc("A phone number, a short code, or up to 11 letters and digits.", "Acme")] = None
    whatsapp: Annotated[str | None, doc(example="+442071838750")] = None
    voice: Annotated[str | None, doc(example="+442071838750")] = None
    default_for: Annotated[
        Sequence[ChannelName], doc("The channels whose messages are from it when they name nobody.", ["email"])
    ] = ()
    created_at: Time
    updated_at: Time
