"""The bodies of requests about keys, functions, workspaces and tenants."""

from pydantic import AwareDatetime, Field

from tidings.domain.roles import Role
from tidings.http.requests import Given, Name, example


class GivenKey(Given):
    """A key to be made; without a workspace, for the caller's own."""

    model_config = example({"name": "signup form", "role": "triggerOperator"})
    name: Name
    role: Role
    tenant: Name | None = Field(None, description="Another tenant: only an operator may name one.")
    workspace: Name | None = None
    expires_at: AwareDatetime | None = None
    workflows: list[str] = Field(
        default_factory=list, max_length=100, description="The workflows that a publishable key may start, by name."
    )
    origins: list[str] = Field(
        default_factory=list, max_length=100, description="The web pages from which a publishable key may be used."
    )


class GivenFunction(Given):
    """Where a function is, and the secret that its calls carry."""

    model_config = example({"url": "https://example.com/functions/v1/send-email", "secret": "…"})
    url: str = Field(min_length=1, max_length=2_000)
    secret: str | None = Field(None, min_length=1, max_length=4_000, description="Write-only; stored encrypted.")


class GivenWorkspaceSettings(Given):
    """What is given is set, and the rest stays."""

    model_config = example({"weight": 10, "privateAddresses": ["10.1.0.0/16"]})
    weight: int | None = Field(None, ge=1, le=1_000)
    private_addresses: list[str] | None = Field(
        None, max_length=100, description="The whole list: networks, addresses and host names that may be called."
    )

    phone_region: str | None = Field(
        None,
        max_length=2,
        pattern="^([A-Za-z]{2})?$",
        description="The country of phone numbers that have no country's code, by its two letters; empty for the"
        " installation's own.",
    )


class GivenTenantSettings(Given):
    """How large a tenant's part is of what is scarce, beside other tenants."""

    model_config = example({"weight": 10})
    weight: int = Field(ge=1, le=1_000)


class GivenRotation(Given):
    """How long calls are signed with the secret before as well."""

    model_config = example({"overlapSeconds": 86_400})
    overlap_seconds: int = Field(86_400, ge=0, le=2_592_000, description="0 ends the one before at once.")
