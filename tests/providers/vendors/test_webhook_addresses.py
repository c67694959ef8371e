"""The address of a webhook is its password: it is checked whole, and no part of it is shown."""

import pytest

from tidings.domain.connections.kind import webhook_url
from tidings.providers.webhook_address import secrets_in

FLOW = "https://prod-07.westus.logic.azure.com:443/workflows/0f1e2d3c4b5a/triggers/manual/paths/invoke?sp=%2Frun&sig=4f1d9c27aa"


@pytest.mark.parametrize("url", [FLOW, "https://hooks.slack.com/services/T0/B0/x", "http://127.0.0.1:8080/x"])
def test_an_address_as_a_vendor_gives_it_is_taken(url: str) -> None:
    assert webhook_url("").problem_of(url) is None


@pytest.mark.parametrize(
    "url",
    [
        7,
        "",
        "hooks.slack.com/services/T0/B0/canary",
        "ftp://hooks.slack.com/services/T0/B0/canary",
        "https://user:canary@hooks.slack.com/services",
        "https://hooks.slack.com",
        "https://hooks.slack.com/",
        "https://hooks.slack.com/services/canary#x",
        "https://hooks.slack.com/services/can ary",
        "https://hooks.slack.com/services/canäry",
        "https://hooks.slack.com:x/services/canary",
        "https://hooks.slack.com/services/canary\r\nHost: x",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(url: object) -> None:
    problem = webhook_url("").problem_of(url)

    assert problem
    assert "can" not in problem.replace("cannot", "")


def test_every_part_that_may_be_repeated_alone_is_a_secret() -> None:
    assert {FLOW, "0f1e2d3c4b5a", "4f1d9c27aa"} <= set(secrets_in(FLOW))
    assert not {"", "sp", "paths"} & set(secrets_in(FLOW))
