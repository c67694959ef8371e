"""Keys: the same for the same intention, different for any other, and never larger than their 32 bytes."""

from typing import TypeAlias
from uuid import UUID

import asyncpg
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidings.domain.flow.ids import BUCKETS, Bucket, bucket_of_id
from tidings.domain.flow.item import Channel
from tidings.domain.flow.keys import (
    campaign_key,
    campaign_key_parts,
    campaign_key_place,
    fallback_key,
    key_hash,
    key_scope,
    retry_key,
    rule_key,
    workflow_key,
)

CampaignParts: TypeAlias = tuple[Channel, UUID, Bucket, str, str, str | None]

uuids = st.uuids()
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
buckets = st.integers(0, BUCKETS - 1).map(Bucket)
campaign_parts = st.tuples(st.sampled_from(Channel), uuids, buckets, texts, texts, st.none() | texts)
workflow_parts = st.tuples(uuids, texts, st.integers(0, 99), st.integers(0, 99))

EXECUTION = UUID("019526e7-7a00-7abc-a123-456789abcdef")
PART = Bucket(0x123)


@given(workflow_parts, campaign_parts)
def test_a_key_is_deterministic_and_has_32_bytes(workflow: tuple[UUID, str, int, int], campaign: CampaignParts) -> None:
    assert workflow_key(*workflow) == workflow_key(*workflow)
    assert campaign_key(*campaign) == campaign_key(*campaign)
    assert len(workflow_key(*workflow)) == len(campaign_key(*campaign)) == 32


def test_keys_are_those_of_the_first_release() -> None:
    """A key that changed would send again what a run before the change had sent."""
    assert workflow_key(EXECUTION, "hello", 1, 0).hex().startswith("019526e77a007abc3a04a976d3b7e45d")
    assert (
        campaign_key(Channel.EMAIL, EXECUTION, PART, "contact-1", "asset-1", None)
        .hex()
        .startswith("019526e77a007123309b441ecd6b691a")
    )
    assert rule_key(EXECUTION, EXECUTION, EXECUTION, 0).hex().startswith("019526e77a007abc0b60f95e138c8232")
    assert fallback_key(EXECUTION, Channel.EMAIL, "lead").hex().startswith("019526e77a007abc6614ece2ed31a21f")


@given(workflow_parts, workflow_parts)
def test_different_workflow_items_have_different_keys(
    one: tuple[UUID, str, int, int], other: tuple[UUID, str, int, int]
) -> None:
    assert (workflow_key(*one) == workflow_key(*other)) == (one == other)


@given(campaign_parts, campaign_parts)
def test_different_campaign_items_have_different_keys(one: CampaignParts, other: CampaignParts) -> None:
    same = (*one[:5], one[5] or "") == (*other[:5], other[5] or "")

    assert (campaign_key(*one) == campaign_key(*other)) == same


@given(uuids, texts, texts, st.data())
def test_moving_a_character_between_parts_changes_the_key(
    run: UUID, recipient: str, content: str, data: st.DataObject
) -> None:
    assume(recipient)
    cut = data.draw(st.integers(0, len(recipient) - 1))

    moved = campaign_key(Channel.SMS, run, PART, recipient[:cut], recipient[cut:] + content, None)

    assert moved != campaign_key(Channel.SMS, run, PART, recipient, content, None)


@given(uuids, texts, texts)
def test_each_channel_has_its_own_key(run: UUID, recipient: str, content: str) -> None:
    keys = {campaign_key(channel, run, PART, recipient, content, None) for channel in Channel}

    assert len(keys) == len(Channel)


@given(uuids, uuids, texts)
def test_each_run_has_its_own_keys(run: UUID, other: UUID, recipient: str) -> None:
    assume(run != other)

    assert campaign_key(Channel.PUSH, run, PART, recipient, "", None) != campaign_key(
        Channel.PUSH, other, PART, recipient, "", None
    )


def test_a_visit_and_an_ordinal_are_not_interchangeable() -> None:
    assert workflow_key(EXECUTION, "n", 1, 11) != workflow_key(EXECUTION, "n", 11, 1)


@pytest.mark.parametrize("node", ["workflow", "campaign", ""])
def test_a_workflow_s_key_is_never_a_campaign_s(node: str) -> None:
    key = workflow_key(EXECUTION, node, 1, 0)

    assert all(key != campaign_key(channel, EXECUTION, PART, node, "1", "0") for channel in Channel)


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
        place = campaign_key_place(run, PART)
        found = await sql.fetchval("select tidings.campaign_key($1, $2, $3, $4)", place, head, recipient, tail)
        assert found == campaign_key(channel, run, PART, recipient, content, scheduled_for)


def test_a_retry_of_an_item_has_one_key() -> None:
    assert retry_key(EXECUTION) == retry_key(EXECUTION) != retry_key(UUID(int=1))
    assert retry_key(EXECUTION).hex().startswith("019526e77a007abcc155add7ab67e4e3")


@given(workflow_parts, campaign_parts)
def test_a_key_says_its_owner_s_time_and_its_item_s_bucket(
    workflow: tuple[UUID, str, int, int], campaign: CampaignParts
) -> None:
    """Laid out like the first half of an id, so that the database can compare the two."""
    _, run, bucket, *_ = campaign
    key = campaign_key(*campaign)

    assert workflow_key(*workflow)[:8] == workflow[0].bytes[:8]
    assert key[:6] == run.bytes[:6]
    assert bucket_of_id(UUID(bytes=key[:16])) == bucket
    assert key[6] >> 4 == 7


async def test_sql_finds_the_place_of_an_id(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    found = await sql.fetchrow("select place_of($1) as one, places_of($2) as many", EXECUTION, [EXECUTION, UUID(int=1)])

    assert found is not None
    assert (found["one"], found["many"]) == (EXECUTION.bytes[:8], [EXECUTION.bytes[:8], bytes(8)])
    assert retry_key(EXECUTION)[:8] == rule_key(EXECUTION, EXECUTION, EXECUTION, 0)[:8] == EXECUTION.bytes[:8]


# A caller's own keys


@given(st.tuples(texts, texts, texts, texts), st.tuples(texts, texts, texts, texts))
def test_a_caller_s_key_has_a_hash_of_its_own_in_each_scope(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    hashes = [key_hash(key_scope(*parts[:3]), parts[3]) for parts in (one, other)]

    assert (hashes[0] == hashes[1]) == (one == other)
    assert len(hashes[0]) == 16


async def test_sql_computes_the_same_hash_of_a_caller_s_key(sql: "asyncpg.Connection[asyncpg.Record]") -> None:
    for parts in [("default", "default", str(EXECUTION), "order-17"), ("t", "Zürich", "", "東京"), ("", "", "", "")]:
        found = await sql.fetchval("select key_hash(length_prefixed($1::text[]), $2)", [*parts[:3]], parts[3])
        assert found == key_hash(key_scope(*parts[:3]), parts[3])
    assert key_hash(key_scope("default", "default", ""), "order-17").hex() == "149a3f18ae57d031c4120d47db43a68b"
