"""The bodies of requests about segments."""

from pydantic import Field

from tidings.http.audience_requests import GivenAudience
from tidings.http.requests import Given, example


class ChangedSegment(Given):
    """A new name or a new audience for a segment."""

    model_config = example({"audience": {"tag": "vip"}})
    name: str | None = Field(None, min_length=1, max_length=200)
    audience: GivenAudience | None = None


class GivenSegment(ChangedSegment):
    """An audience under a name."""

    model_config = example({"name": "vips of Acme", "audience": {"tag": "vip", "company": "Acme"}})
    name: str = Field(min_length=1, max_length=200)
    audience: GivenAudience
