"""A server that offers PIPELINING is asked up to DATA at once, and every fault means what it means one by one."""

import asyncio
from collections.abc import Mapping

from tests.providers.items import marked, yes
from tests.providers.scripted_smtp import CLOSE, Say, scripted
from tests.providers.test_smtp_faults import EXPECTED, FAULTS, provider_for
from tidings.domain.flow.outcome import Accepted, Rejected

OFFER = Say(b"250-scripted\r\n250-PIPELINING\r\n250 SIZE 99999999\r\n")
NO_RCPT = Say(b"550 5.1.1 nobody\r\n")
NO_DATA = Say(b"503 5.5.1 no valid recipients\r\n")


def offering(script: Mapping[str, Say] | None = None) -> dict[str, Say]:
    return {"EHLO": OFFER, **(script or {})}


async def test_everything_up_to_data_is_asked_at_once() -> None:
    silent = {"RSET": Say(b""), "MAIL": Say(b""), "RCPT": Say(b"")}
    answers = {0: Say(b"250 ok\r\n250 ok\r\n354 go on\r\n"), 1: Say(b"250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n")}
    messages = 0

    def script(_number: int, stage: str) -> Say | None:
        return answers[messages] if stage == "DATA" else offering(silent).get(stage)

    async with scripted(script) as smtp, provider_for(smtp) as provider, asyncio.timeout(5):
        first = await provider.send(marked(), yes)
        messages = 1
        second = await provider.send(marked(), yes)

        assert isinstance(first, Accepted)
        assert isinstance(second, Accepted)
        verbs = [command.split()[0] for command in smtp.commands]
        assert verbs == ["EHLO", "MAIL", "RCPT", "DATA", "RSET", "MAIL", "RCPT", "DATA"]
        assert smtp.connections == 1


async def test_a_server_that_offers_nothing_is_asked_one_by_one() -> None:
    async with scripted({"RCPT": NO_RCPT}) as smtp, provider_for(smtp) as provider:
        assert isinstance(await provider.send(marked(), yes), Rejected)

        assert [command.split()[0] for command in smtp.commands] == ["EHLO", "MAIL", "RCPT"]


async def test_each_fault_at_each_stage_has_its_outcome() -> None:
    for stage in ("MAIL", "RCPT", "DATA", "dot"):
        for fault, expected in EXPECTED[stage].items():
            if fault == "hang":
                continue  # no reply at all: the deadline is judged in one place, pipelined or not
            async with scripted(offering({stage: FAULTS[fault]})) as smtp, provider_for(smtp) as provider:
                outcome = await provider.send(marked(), yes)

            assert isinstance(outcome, expected), (stage, fault, outcome)
            assert len(smtp.messages) == (stage == "dot"), (stage, fault)


async def test_a_connection_serves_on_after_a_refusal() -> None:
    refused = offering({"RCPT": NO_RCPT, "DATA": NO_DATA})
    async with scripted(refused) as smtp, provider_for(smtp) as provider:
        outcomes = [await provider.send(marked(), yes) for _ in range(2)]

        assert all(isinstance(one, Rejected) and "nobody" in one.reason for one in outcomes)
        assert smtp.connections == 1


async def test_a_server_that_waits_for_a_message_after_a_refusal_gets_none() -> None:
    async with scripted(offering({"RCPT": NO_RCPT})) as smtp, provider_for(smtp) as provider:
        outcomes = [await provider.send(marked(), yes) for _ in range(2)]

        assert all(isinstance(one, Rejected) for one in outcomes)
        assert smtp.connections == 2
        assert not smtp.messages


async def test_a_connection_that_was_let_go_of_is_replaced() -> None:
    def script(number: int, stage: str) -> Say | None:
        return CLOSE if (number, stage) == (1, "RSET") else offering().get(stage)

    async with scripted(script) as smtp, provider_for(smtp) as provider:
        outcomes = [await provider.send(marked(), yes) for _ in range(2)]

        assert all(isinstance(one, Accepted) for one in outcomes)
        assert smtp.connections == 2
        assert len(smtp.messages) == 2
