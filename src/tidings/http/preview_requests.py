"""The bodies of requests for previews, of what is stored and of what is not, and for counts of audiences."""

from pydantic import Field

from tidings.http.channel_words import ContactChannel, MessageChannel
from tidings.http.requests import ContactReference, Given, Json, example
from tidings.views.campaigns import EXAMPLE_AUDIENCE, EXAMPLE_CONTENT


class GivenMessagePreview(Given):
    """What templates see; without a contact and data, what is missing is shown as it is written."""

    model_config = example({"data": {"name": "Ada", "email": "ada@example.com"}, "part": "hello"})
    data: Json | None = Field(None, description="What a trigger or an event would bring.")
    part: str | None = Field(
        None, min_length=1, max_length=200, description="Only this one: a node's id, or the order of a step."
    )


class GivenContactPreview(GivenMessagePreview):
    """The same for a contact."""

    model_config = example({"contactId": "crm-1"})
    contact_id: ContactReference | None = None


class GivenUnsavedPreview(GivenContactPreview):
    """What is being written: content over a channel, or a definition with the part of it to look at."""

    model_config = example({"channel": "email", "content": EXAMPLE_CONTENT, "contactId": "crm-1"})
    channel: MessageChannel | None = None
    content: Json | None = Field(None, description="The fields of a message over the channel.")
    to: str | list[str] | None = Field(None, description="Whom it is for, if not the contact: addresses or templates.")
    definition: Json | None = Field(None, description="A workflow's, instead of channel and content.")


class GivenCount(Given):
    """Whom to count, over which channel, and whose attributes to look for."""

    model_config = example({"audience": EXAMPLE_AUDIENCE, "channel": "email"})
    audience: Json = Field(description="As of a campaign.")
    channel: ContactChannel | None = Field(None, description="Count who can be reached over it.")
    content: Json | None = Field(None, description="Count who lacks an attribute that it prints.")
    sample: int = Field(5, ge=0, le=50, description="How many contacts to show.")
