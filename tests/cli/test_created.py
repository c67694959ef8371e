"""--created-after and --created-before, as a user gives them."""

import pytest

from tests.cli.conftest import Command

LISTS = (
    *("campaigns", "contacts", "dead-letters", "events", "executions", "keys", "outbox"),
    *("rules", "runs", "segments", "sequences", "workflows"),
)


def make_contact(tidings: Command) -> None:
    tidings("contacts", "create", "--data", '{"externalId": "ada", "email": "ada@example.com"}')


def test_a_list_is_asked_for_what_was_created_when(tidings: Command) -> None:
    make_contact(tidings)

    since = tidings("contacts", "list", "--created-after", "2020-01-01", "--json").json
    before = tidings("contacts", "list", "--created-before", "2020-01-01T00:00:00Z", "--json").json

    assert [one["externalId" if "externalId" in one else "external_id"] for one in since] == ["ada"]
    assert before == []


@pytest.mark.parametrize("of", LISTS)
def test_every_list_takes_times(tidings: Command, of: str) -> None:
    listed = tidings(of, "list", "--created-after", "2020-01-01", "--created-before", "2020-01-02", "--json")

    assert (listed.status, listed.json) == (0, [])


def test_a_time_that_is_none_is_refused_under_the_name_of_its_option(tidings: Command) -> None:
    wrong = tidings("runs", "list", "--created-after", "yesterday")
    turned = tidings("runs", "list", "--created-after", "2026-03-03", "--created-before", "2026-03-02")

    assert (wrong.status, turned.status) == (1, 1)
    assert "--created-after: 'yesterday' is not a time: write ISO 8601" in wrong.complaint
    assert "--created-after: '2026-03-03' is not earlier than --created-before" in turned.complaint
