"""The bodies of requests about senders."""

from pydantic import Field

from tidings.http.requests import Given, example

_EMAIL = "support@example.com"


class ChangedSender(Given):
    """The fields of a sender to change; null removes one."""

    model_config = example({"replyTo": "help@example.com"})
    display_name: str | None = Field(None, max_length=100, description="What an inbox shows.")
    email: str | None = Field(None, max_length=254)
    reply_to: str | None = Field(None, max_length=254, description="Where answers to its e-mail go.")
    sms: str | None = Field(
        None, max_length=30, description="A phone number, a short code, or up to 11 letters and digits."
    )
    whatsapp: str | None = Field(None, max_length=30, description="A phone number.")
    voice: str | None = Field(None, max_length=30, description="A phone number.")
    default_for: list[str] = Field(
        default_factory=list, description="The channels whose messages are from it when they name nobody."
    )


class GivenSender(ChangedSender):
    """A sender to add, with an address for one channel at least."""

    model_config = example({"name": "support", "displayName": "Acme Support", "email": _EMAIL, "defaultFor": ["email"]})
    name: str = Field(min_length=1, max_length=64, pattern="^[a-z0-9]+([-_][a-z0-9]+)*$")
