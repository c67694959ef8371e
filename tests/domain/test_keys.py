"""Keys: the same for the same intention, different for any other, and never larger than their 32 bytes."""

from uuid import UUID

import asyncpg
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidings.domain.flow.item import Channel
from tidings.domain.flow.keys import (
    campaign_key,
    campaign_key_parts,
    fallback_key,
    retry_key,
    rule_key,
    workflow_key,
)

uuids = st.uuids()
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
campaign_parts = st.tuples(st.sampled_from(Channel), uuids, texts, texts, st.none() | texts)
workflow_parts = st.tuples(uuids, texts, st.integers(0, 99), st.integers(0, 99))

EXECUTION = UUID("019526e7-7a00-7abc-a123-456789abcdef")


@given(workflow_parts, campaign_parts)
def test_a_key_is_deterministic_and_has_32_bytes(
    workflow: tuple[UUID, str, int, int], campaign: tuple[Channel, UUID, str, str, str | None]
) -> None:
    assert workflow_key(*workflow) == workflow_key(*workflow)
    assert campaign_key(*campaign) == campaign_key(*campaign)
    assert len(workflow_key(*workflow)) == len(campaign_key(*campaign)) == 32


def test_keys_are_those_of_the_first_release() -> None:
    """A key that changed would send again what a run before the change had sent."""
    assert workflow_key(EXECUTION, "hello", 1, 0).hex().startswith("3a04a976d3b7e45d")
    assert campaign_key(Channel.EMAIL, EXECUTION, "contact-1", "asset-1", None).hex().startswith("309b441ecd6b691a")
    assert rule_key(EXECUTION, EXECUTION, EXECUTION, 0).hex().startswith("0b60f95e138c8232")
    assert fallback_key(EXECUTION, Channel.EMAIL, "lead").hex().startswith("6614ece2ed31a21f")


@given(workflow_parts, workflow_parts)
def test_different_workflow_items_have_different_keys(
    one: tuple[UUID, str, int, int], other: tuple[UUID, str, int, int]
) -> None:
    assert (workflow_key(*one) == workflow_key(*other)) == (one == other)


@given(campaign_parts, campaign_parts)
def test_different_campaign_items_have_different_keys(
    one: tuple[Channel, UUID, str, str, str | None], other: tuple[Channel, UUID, str, str, str | None]
) -> None:
    same = (*one[:4], one[4] or "") == (*other[:4], other[4] or "")

    assert (campaign_key(*one) == campaign_key(*other)) == same


@given(uuids, texts, texts, st.data())
def test_moving_a_character_between_parts_changes_the_key(
    run: UUID, recipient: str, content: str, data: st.DataObject
) -> None:
    assume(recipient)
    cut = data.draw(st.integers(0, len(recipient) - 1))

    moved = campaign_key(Channel.SMS, run, recipient[:cut], recipient[cut:] + content, None)

    assert moved != campaign_key(Channel.SMS, run, recipient, content, None)


@given(uuids, texts, texts)
def test_each_channel_has_its_own_key(run: UUID, recipient: str, content: str) -> None:
    keys = {campaign_key(channel, run, recipient, content, None) for channel in Channel}

    assert len(keys) == len(Channel)


@given(uuids, uuids, texts)
def test_each_run_has_its_own_keys(run: UUID, other: UUID, recipient: str) -> None:
    assume(run != other)

    assert campaign_key(Channel.PUSH, run, recipient, "", None) != campaign_key(
        Channel.PUSH, other, recipient, "", None
    )


def test_a_visit_and_an_ordinal_are_not_interchangeable() -> None:
    assert workflow_key(EXECUTION, "n", 1, 11) != workflow_key(EXECUTION, "n", 11, 1)


@pytest.mark.parametrize("node", ["workflow", "campaign", ""])
def test_a_workflow_s_key_is_never_a_campaign_s(node: str) -> None:
    key = workflow_key(EXECUTION, node, 1, 0)

    assert all(key != campaign_key(channel, EXECUTION, node, "1", "0") for channel in Channel)


@given(st.tuples(uuids, uuids, uuids, st.integers(0, 99)), st.tuples(uuids, uuids, uuids, st.integers(0, 99)))
def test_different_rule_items_have_different_keys(
    one: tuple[UUID, UUID, UUID, int], other: tuple[UUID, UUID, UUID, int]
) -> None:
    assert (rule_key(*one) == rule_key(*other)) == (one == other)
    assert len(rule_key(*one)) == 32


async def test_sql_computes_the_same_key(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    """A campaign's items get theirs where the contacts are; both must name the same intention alike."""
    for channel, run, recipient, content, scheduled_for in [
        (Channel.EMAIL, EXECUTION, "contact-1", "asset-1", None),
        (Channel.EMAIL, EXECUTION, str(EXECUTION), "a:1", "2026-03-02T09:00:00+00:00"),
        (Channel.VOICE, EXECUTION, f"{EXECUTION}:2", "", ""),
        (Channel.PUSH, UUID(int=0), "Zürich – 東京", "é", None),
    ]:
        head, tail = campaign_key_parts(channel, run, content, scheduled_for)
        found = await sql.fetchval("select tidings.campaign_key($1, $2, $3)", head, recipient, tail)
        assert found == campaign_key(channel, run, recipient, content, scheduled_for)


def test_a_retry_of_an_item_has_one_key() -> None:
    assert retry_key(EXECUTION) == retry_key(EXECUTION) != retry_key(UUID(int=1))
    assert retry_key(EXECUTION).hex().startswith("c155add7ab67e4e3")
