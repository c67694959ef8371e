"""Ending doubt about many items at once, each as it would be ended alone."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.conftest import ManualClock
from tests.kernel.scenes import assert_kept
from tests.resources.asking import audited
from tests.resources.campaign_scenes import ANN, deploy, make_contacts
from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid
from tidings.domain.flow.item import Channel
from tidings.domain.flow.outcome import Unknown
from tidings.engine import Engine, Resolution
from tidings.providers.fake import FakeProvider
from tidings.resources.outbox import DoubtFilter, OutboxFilter, read_doubt


async def doubt(engine: Engine, provider: FakeProvider, count: int = 4) -> list[UUID]:
    await make_contacts(engine, count)
    provider.answer = Unknown("cut off")
    await deploy(engine)
    await engine.work_everything()
    found = await engine.outbox.list(ANN.workspace, OutboxFilter(in_doubt=True))
    return [one.id for one in found.items]


async def test_a_dry_run_counts_and_then_all_that_match_are_resolved_and_audited(
    engine: Engine, clock: ManualClock, provider: FakeProvider, stranger: Caller
) -> None:
    ids = await doubt(engine, provider)
    clock.advance(hours=2)
    where = DoubtFilter(provider="fake", channel=Channel.EMAIL, older_than=timedelta(hours=1))

    planned = await engine.outbox.resolve_many(ANN, where, Resolution.SENT, "in its log", dry_run=True)
    theirs = await engine.outbox.resolve_many(stranger, where, Resolution.SENT, "in its log")
    done = await engine.outbox.resolve_many(ANN, where, Resolution.SENT, "in its log")
    again = await engine.outbox.resolve_many(ANN, where, Resolution.SENT, "in its log")
    await engine.work_everything()

    assert (planned.resolved, planned.by_provider, sorted(planned.items)) == (4, {"fake": 4}, sorted(ids))
    assert (theirs.resolved, done.resolved, done.refused, again.resolved) == (0, 4, 0, 0)
    assert {line.detail["note"] for line in await audited(engine, ANN, "resolved_sent")} == {"in its log"}
    assert len(await audited(engine, ANN, "resolved_sent")) == 4
    await assert_kept(engine)


async def test_only_what_matches_or_is_named_is_resolved(
    engine: Engine, clock: ManualClock, provider: FakeProvider
) -> None:
    first, *rest = await doubt(engine, provider)

    young = await engine.outbox.resolve_many(ANN, DoubtFilter(older_than=timedelta(hours=1)), Resolution.SENT, "x")
    other = await engine.outbox.resolve_many(ANN, DoubtFilter(provider="smtp"), Resolution.SENT, "x")
    named = await engine.outbox.resolve_many(ANN, [first, UUID(int=1)], Resolution.FAILED, "x")

    assert (young.resolved, other.resolved) == (0, 0)
    assert (named.resolved, named.not_found) == (1, 1)
    left = await engine.outbox.list(ANN.workspace, OutboxFilter(in_doubt=True))
    assert sorted(one.id for one in left.items) == sorted(rest)


async def test_a_note_is_needed_and_words_are_read(engine: Engine) -> None:
    with pytest.raises(InputInvalid, match="a note is needed"):
        await engine.outbox.resolve_many(ANN, DoubtFilter(), Resolution.SENT, " ")
    assert read_doubt(["provider=smtp", "olderThan=PT1H"]) == DoubtFilter("smtp", older_than=timedelta(hours=1))
    for wrong in ("providers=smtp", "olderThan=soon", "run=1", "channel="):
        with pytest.raises(InputInvalid, match="--where"):
            read_doubt([wrong])
