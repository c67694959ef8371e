"""The bodies of requests about runs and items."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tidings.domain.channels import Channel
from tidings.http.requests import ID, Given, example

Key = Annotated[str, Field(min_length=1, max_length=500)]


class GivenRetryFilter(Given):
    """Which failed items; what is left out does not matter."""

    error: str | None = Field(None, max_length=2_000, description="Part of the error's text.")
    ids: list[UUID] | None = Field(None, max_length=10_000)


class GivenRetry(Given):
    """Try again what failed, in a new run; a dry run only says what it would send."""

    model_config = example({"where": {"error": "429"}, "dryRun": True})
    where: GivenRetryFilter | None = None
    dry_run: bool = False
    idempotency_key: Key | None = None


class GivenResolution(Given):
    """A person's decision about an item in doubt, and what proves it."""

    model_config = example({"outcome": "sent", "note": "the provider's log has it"})
    outcome: Literal["sent", "resend", "failed"]
    note: str = Field(min_length=1, max_length=2_000)


class GivenResolutions(GivenResolution):
    """A person's decision about every item of a run that is in doubt, or about the named ones."""

    model_config = example({"outcome": "sent", "note": "the provider's log has them", "itemIds": [ID]})
    item_ids: list[UUID] | None = Field(None, max_length=10_000)


class GivenDoubtFilter(Given):
    """Which items in doubt; what is left out does not matter."""

    provider: str | None = Field(None, max_length=200, description="A connection's name, or a provider's.")
    channel: Channel | None = Field(None, strict=False)
    run_id: UUID | None = None
    older_than: str | None = Field(None, max_length=100, description="First called so long ago: ISO 8601, as `PT1H`.")


class GivenManyResolutions(GivenResolution):
    """A person's decision about items in doubt: the named ones, or all that match. A dry run only counts them."""

    model_config = example(
        {"where": {"provider": "smtp", "olderThan": "PT1H"}, "outcome": "sent", "note": "in its log", "dryRun": True}
    )
    ids: list[UUID] | None = Field(None, min_length=1, max_length=10_000)
    where: GivenDoubtFilter | None = None
    dry_run: bool = False


class GivenFailureReplay(Given):
    """Start again what failed in one way; a dry run only says what it would start."""

    model_config = example({"dryRun": True, "perMinute": 600})
    since: str | None = Field(None, max_length=100, description="Only what failed at this time or later.")
    per_minute: int | None = Field(None, ge=1, le=1_000_000, description="How many at most in a minute.")
    dry_run: bool = False
