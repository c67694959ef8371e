"""The bodies of requests about keys and functions."""

from pydantic import AwareDatetime, Field

from tidings.domain.roles import Role
from tidings.http.requests import Given, Name, example


class GivenKey(Given):
    """A key to be made, for a workspace of this tenant; left out, it is the caller's own."""

    model_config = example({"name": "signup form", "role": "triggerOperator"})
    name: Name
    role: Role
    workspace: Name | None = None
    expires_at: AwareDatetime | None = None


class GivenFunction(Given):
    """Where a function is, and the secret that its calls carry."""

    model_config = example({"url": "https://example.com/functions/v1/send-email", "secret": "…"})
    url: str = Field(min_length=1, max_length=2_000)
    secret: str | None = Field(None, min_length=1, max_length=4_000, description="Write-only; stored encrypted.")
