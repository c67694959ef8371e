"""An address that its provider says is no more is taken from its contact, and from nobody else."""

import pytest

from tests.kernel.people import make, start_for, to_contact
from tests.kernel.scenes import Sql, row, work
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Outcome, Rejected
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider

TOKENS = "select external_id, push_tokens from contacts order by external_id"


@pytest.mark.parametrize("gone", [True, False])
async def test_a_token_that_is_gone_is_taken_from_the_contact_on_record(
    engine: Engine, provider: FakeProvider, sql: Sql, gone: bool
) -> None:
    ada, _ = await make(engine), await make(engine, "bob")
    provider.script = {"token-1": [Rejected("UNREGISTERED", is_gone=gone)]}

    await start_for(engine, ada, to_contact(channel="push", title="Hi"))
    await work(engine)

    left = ["token-2"] if gone else ["token-1", "token-2"]
    assert [tuple(one) for one in await sql.fetch(TOKENS)] == [("ada", left), ("bob", ["token-1", "token-2"])]
    assert await row(sql, "select status from outbox where recipient = 'token-1'") == ("failed",)
    audited = "select subject_id, actor, detail->>'channel' from audit_log where event = 'address_removed'"
    assert [tuple(one) for one in await sql.fetch(audited)] == ([(ada, "system", "push")] if gone else [])
    assert await sql.fetchval("select count(*) from audit_log where detail::text like '%token-%'") == 0


async def test_a_token_that_was_replaced_meanwhile_stays(engine: Engine, provider: FakeProvider, sql: Sql) -> None:
    ada = await make(engine, pushTokens=["token-1"])

    async def replaced(_: Marked) -> Outcome:
        await sql.execute("update contacts set push_tokens = '{token-9}'")
        return Rejected("UNREGISTERED", is_gone=True)

    provider.answer = replaced
    await start_for(engine, ada, to_contact(channel="push", title="Hi"))
    await work(engine)

    assert await sql.fetchval("select push_tokens from contacts") == ["token-9"]
    assert await sql.fetchval("select count(*) from audit_log where event = 'address_removed'") == 0
