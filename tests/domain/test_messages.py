"""What messages quote, count and guess."""

import pytest

from tidings.domain.errors import CampaignInvalid, DataMissing, Problem
from tidings.domain.messages import did_you_mean, nearest, quoted, shown_number


def test_a_value_is_quoted_as_it_was_given_and_cut_short() -> None:
    assert quoted("fax") == "'fax'"
    assert quoted("x" * 1_000_000) == "'" + "x" * 79 + "…"
    assert quoted(10**400).startswith("1000")
    assert quoted([10**5_000]) == "a number of thousands of digits"


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (0.1, "0.1"), (1e6, "1,000,000"), (315_360_000, "315,360,000"), (3_600.0, "3,600")]
)
def test_a_bound_is_written_as_people_write_it(number: float, shown: str) -> None:
    assert shown_number(number) == shown


@pytest.mark.parametrize(
    ("given", "meant"),
    [("in_doubt", "inDoubt"), ("INDOUBT", "inDoubt"), ("indobt", "inDoubt"), ("runid", "runId"), ("zzz", None)],
)
def test_the_nearest_name_is_found_whatever_its_spelling(given: str, meant: str | None) -> None:
    assert nearest(given, ["inDoubt", "runId", "limit"]) == meant


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert did_you_mean("colour", ["limit"]) == ""
    assert did_you_mean("limt", ["limit"]) == "; did you mean 'limit'?"


def test_a_problem_without_a_place_begins_with_what_is_wrong() -> None:
    assert str(Problem("", "nested too deeply")) == "nested too deeply"
    assert str(CampaignInvalid([Problem("a", "is missing"), Problem("", "and 3 more")])) == "a: is missing; and 3 more"


def test_a_trigger_that_lacks_its_contact_is_told_so_in_whole_sentences() -> None:
    told = str(DataMissing(["plan"], ["contact", "name"]))

    assert told == (
        "Missing required fields: plan. Missing template variables: contact, name. "
        "These placeholders exist in workflow steps but were not provided in data. "
        "Name a contact (contactId), or give `contact` in data"
    )
