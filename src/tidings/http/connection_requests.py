"""The bodies of requests about connections."""

from pydantic import Field

from tidings.http.requests import Given, Json, example

Values = dict[str, str | int | bool | None]


class GivenRates(Given):
    """The most messages in any second, any minute, and any 24 hours."""

    per_second: int | None = Field(None, ge=1)
    per_minute: int | None = Field(None, ge=1)
    per_day: int | None = Field(None, ge=1)


class GivenLimits(GivenRates):
    """How much may leave through a connection, over all workers."""

    concurrency: int | None = Field(None, ge=1, description="Calls under way at once.")
    per_domain: dict[str, GivenRates] | None = Field(
        None, description="By the domain of an e-mail address; `*` is for each domain that is not named."
    )
    warm_up: list[int] | None = Field(
        None, max_length=365, description="The most messages on the first day, the second day, and so on."
    )


class ChangedConnection(Given):
    """What is given is changed; a setting or a credential that is null is taken away, and limits are replaced."""

    model_config = example({"position": 1, "limits": {"perMinute": 600}})
    name: str | None = Field(None, description="Lower-case letters, digits and hyphens.")
    settings: Values | None = None
    credentials: dict[str, str | None] | None = Field(None, description="Write-only; stored encrypted.", repr=False)
    limits: GivenLimits | None = None
    position: int | None = Field(None, ge=1, le=1_000)
    weight: int | None = Field(None, ge=1, le=1_000)
    sticky: bool | None = None
    enabled: bool | None = None

    def as_given(self) -> Json:
        """Return the fields that were given, by their names in JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class GivenConnectionTest(Given):
    """Where one real message goes, and what it says; without content, that it is a test."""

    model_config = example({"to": "you@example.com"})
    to: str = Field(min_length=1, max_length=2_000)
    content: Json | None = None
    wait_seconds: float = Field(10, ge=0, le=30, description="How long to wait for the answer.")


class GivenConnection(ChangedConnection):
    """A provider to connect to, under a name of the workspace's own."""

    model_config = example(
        {
            "name": "resend-eu",
            "provider": "resend",
            "settings": {"from": "You <you@example.com>"},
            "credentials": {"apiKey": "re_…"},
        }
    )
    name: str
    provider: str = Field(description="One of `GET /v1/provider-kinds`.")
    channel: str | None = Field(None, description="Needed where the provider serves several.")
