"""Segments, as models."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from tidings.http.campaign_requests import GivenAudience
from tidings.http.shapes import Given, Json, Shape, example


class ChangedSegment(Given):
    """Another name, another audience."""

    model_config = example({"audience": {"tag": "vip"}})
    name: str | None = Field(None, min_length=1, max_length=200)
    audience: GivenAudience | None = None


class GivenSegment(ChangedSegment):
    """An audience under a name."""

    model_config = example({"name": "vips of Acme", "audience": {"tag": "vip", "company": "Acme"}})
    name: str = Field(min_length=1, max_length=200)
    audience: GivenAudience


class Segment(Shape):
    """An audience under a name, looked at anew whenever it is used."""

    id: UUID
    name: str
    audience: Json
    created_at: datetime
    updated_at: datetime
