"""Errors of one kind have one text."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.flow.failure_text import LONGEST, failure_id, failure_text

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=80)
WORDS = st.lists(
    st.sampled_from(["the", "mailbox", "is", "full", "refused", "by", "host", "can't"]), min_size=1, max_size=6
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("550 5.1.1 <ada@example.com>: no such user 17", "550 5.1.1 <‹address›>: no such user #"),
        ("timed out after 30.5 s", "timed out after # s"),
        ("mx12.example.com said: try in 300 seconds", "mx#.example.com said: try in # seconds"),
        ("no contact 019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f", "no contact ‹id›"),
        ("the field 'first name' of \"ada\" can't be read", "the field ‹value› of ‹value› can't be read"),
        ("connect to 10.0.0.17:25 refused", "connect to # refused"),
        ("HTTP 503, not 502", "HTTP 503, not 502"),
        ("id4f9c8e7a1 (queue  9F1A2B3C4D)", "‹id› (queue ‹id›)"),
        ("mailbox is full", "mailbox is full"),
        ("", ""),
    ],
)
def test_what_differs_each_time_is_taken_out(error: str, text: str) -> None:
    assert failure_text(error) == text


@given(WORDS, st.integers(1_000, 10**12), st.integers(1_000, 10**12))
def test_numbers_make_no_difference(words: list[str], one: int, other: int) -> None:
    assert failure_text(" ".join([*words, str(one)])) == failure_text(" ".join([*words, str(other)]))


@given(WORDS, st.uuids(), st.uuids())
def test_ids_make_no_difference(words: list[str], one: UUID, other: UUID) -> None:
    assert failure_text(" ".join([str(one), *words])) == failure_text(" ".join([str(other), *words]))


@given(WORDS, st.emails(), st.emails())
def test_nor_do_addresses_that_are_quoted(words: list[str], one: str, other: str) -> None:
    quoted = [f'"{address}"'.replace('"', "") for address in (one, other)]
    plain = [address for address in quoted if not set(address) & set("'`,;:()<>")]
    assert len({failure_text(" ".join([*words, address])) for address in plain}) <= 1


@given(TEXTS)
def test_the_text_of_a_text_is_itself_and_holds_no_address(error: str) -> None:
    text = failure_text(error)

    assert failure_text(text) == text or len(text) > LONGEST
    assert failure_id(text) == failure_id(failure_text(error))
