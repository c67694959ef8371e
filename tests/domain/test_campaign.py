"""The hour of a campaign by the clocks of each contact's zone, and its content."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from tidings.domain.campaigns.campaign import at_hour, read_campaign


@pytest.mark.parametrize(
    ("base", "hour", "zone", "moment"),
    [
        ("2026-03-02T12:00", 14, "UTC", "2026-03-02T14:00"),
        ("2026-03-02T14:00", 14, "UTC", "2026-03-02T14:00"),
        ("2026-03-02T14:01", 14, "UTC", "2026-03-03T14:00"),
        ("2026-03-02T12:00", 9, "Asia/Kolkata", "2026-03-03T03:30"),
        # Put back: 02:00 is shown at 00:00 and again at 01:00 UTC in Berlin, 01:00 at 05:00 and 06:00 UTC in New York,
        # 01:00 at 14:00 and, half an hour back, 01:30 at 14:30 UTC on Lord Howe.
        ("2026-10-24T12:00", 2, "Europe/Berlin", "2026-10-25T00:00"),
        ("2026-10-25T00:00", 2, "Europe/Berlin", "2026-10-25T00:00"),
        ("2026-10-25T00:30", 2, "Europe/Berlin", "2026-10-26T01:00"),
        ("2026-11-01T04:30", 1, "America/New_York", "2026-11-01T05:00"),
        ("2026-04-04T13:00", 1, "Australia/Lord_Howe", "2026-04-04T14:00"),
        # Put forward: no clock shows 02:00, and at 01:00 UTC those of Berlin go from 01:59 to 03:00.
        ("2026-03-28T12:00", 2, "Europe/Berlin", "2026-03-29T01:00"),
    ],
)
def test_a_campaigns_hour_is_the_first_moment_its_zones_clocks_show_it(
    base: str, hour: int, zone: str, moment: str
) -> None:
    begins = datetime.fromisoformat(base).replace(tzinfo=UTC)

    assert at_hour(begins, hour, zone) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize("zone", sorted(available_timezones() & {"Europe/Berlin", "America/Havana", "Africa/Cairo"}))
def test_an_hour_that_comes_twice_in_a_night_is_never_the_second(zone: str) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(365):
        base = begin + timedelta(days=number)
        for hour in range(24):
            found = at_hour(base, hour, zone)
            earlier = found - timedelta(hours=1)
            assert earlier < base or earlier.astimezone(ZoneInfo(zone)).hour != hour, (found, hour)


@pytest.mark.parametrize(
    "source", ["{{ vars.hello.status }}", "{% if vars.hello %}!{% endif %}", "{{ step_0_result }}"]
)
def test_what_only_a_workflow_has_is_refused(source: str) -> None:
    raw = {"name": "News", "channel": "sms", "content": {"body": f"Hi {source}"}, "audience": {"all": True}}

    _, problems = read_campaign(raw)

    assert [one.place for one in problems if "which nothing provides" in one.message] == ["content.body"]


def test_a_campaign_may_give_it_itself() -> None:
    content, data = {"body": "Hi {{ vars.hello }}"}, {"vars": {"hello": 1}}
    raw = {"name": "News", "channel": "sms", "content": content, "data": data, "audience": {"all": True}}

    _, problems = read_campaign(raw)

    assert not [one for one in problems if one.place == "content.body"]
