"""The bodies of requests for simulations."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from tidings.domain.simulation import MOST_DATA, MOST_DAYS, MOST_SAMPLED, MOST_SHOWN
from tidings.http.requests import AT, ID, ContactReference, Given, Json, example
from tidings.views.workflows import EXAMPLE_DEFINITION

Seed = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class GivenSimulation(Given):
    """What to simulate for how long and for whom; everything has a default."""

    model_config = example({"days": 90, "contacts": {"tag": "trial"}, "sample": 1000, "messagesOf": [ID]})
    days: int = Field(90, ge=1, le=MOST_DAYS, description="How many days are run.")
    contacts: Json | None = Field(
        None,
        description="Whom it would be for: an audience, as a campaign has one.",
    )
    sample: int = Field(1_000, ge=1, le=MOST_SAMPLED, description="How many of them are simulated at most.")
    seed: Seed = Field(0, description="The same seed draws the same people.")
    messages_of: list[ContactReference] = Field(
        default_factory=list,
        max_length=MOST_SHOWN,
        description="Contacts whose messages are shown as rendered; they are always among those simulated.",
    )
    start: AwareDatetime | None = Field(None, strict=False, description="When it begins; now unless given.")
    time_zone: str = Field("UTC", max_length=100, description="Of the days and hours in the calendar.")


class GivenWorkflowSimulation(GivenSimulation):
    """What to simulate of a workflow, and the data it is triggered with."""

    model_config = example(
        {"days": 30, "data": [{"email": "ada@example.com", "name": "Ada", "phone": "+442071838750"}]}
    )
    data: list[Json] = Field(
        default_factory=list,
        max_length=MOST_DATA,
        description="It is triggered once with each, for each contact if there are contacts.",
    )
    results: Json = Field(default_factory=dict, description="What functions answer, by name; none is called.")
    definition: Json | None = Field(
        None,
        description="Another definition, to be simulated in place of the stored one.",
        examples=[EXAMPLE_DEFINITION],
    )


class GivenSequenceSimulation(GivenSimulation):
    """What to simulate of a sequence; without `contacts` it is for everyone."""

    model_config = example({"days": 90, "contacts": {"tag": "trial"}, "sample": 1000, "messagesOf": [ID]})
    published: bool = Field(False, description="Simulate what is published instead of what is being written.")


class GivenCampaignSimulation(GivenSimulation):
    """What to simulate of a campaign; without `contacts` it is for its own audience."""

    model_config = example({"days": 7, "scheduledFor": AT, "sample": 1000, "messagesOf": [ID]})
    scheduled_for: AwareDatetime | None = Field(
        None, strict=False, description="When it is deployed for; for the beginning unless given."
    )
