"""The bodies of requests for previews of workflows, sequences and rules."""

from pydantic import Field

from tidings.http.requests import ContactReference, Given, Json, example


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
