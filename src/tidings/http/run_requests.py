"""The bodies of requests about runs and items."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

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
