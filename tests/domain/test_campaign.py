"""A campaign's content: what nothing gives is refused at its field."""

import pytest

from tidings.domain.campaign import read_campaign


@pytest.mark.parametrize(
    "source", ["{{ vars.hello.status }}", "{% if vars.hello %}!{% endif %}", "{{ step_0_result }}"]
)
def test_what_only_a_workflow_has_is_refused(source: str) -> None:
    raw = {"name": "News", "channel": "sms", "content": {"body": f"Hi {source}"}, "audience": {"all": True}}

    _, problems = read_campaign(raw)

    assert [one.place for one in problems if "which nothing gives" in one.message] == ["content.body"]


def test_a_campaign_may_give_it_itself() -> None:
    content, data = {"body": "Hi {{ vars.hello }}"}, {"vars": {"hello": 1}}
    raw = {"name": "News", "channel": "sms", "content": content, "data": data, "audience": {"all": True}}

    _, problems = read_campaign(raw)

    assert not [one for one in problems if one.place == "content.body"]
