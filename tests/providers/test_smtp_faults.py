"""Every stage of an SMTP call × every fault: retry or reject before the final dot, doubt without a reply after it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.items import marked, no, yes
from tests.providers.scripted_smtp import CLOSE, HANG, Say, Script, ScriptedSmtp, scripted
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.kernel.calls.call import call_provider
from tidings.kernel.calls.call_timer import CallTimer
from tidings.providers.smtp import SmtpProvider

READ_ONCE = ssl.create_default_context()
"""Reading the system's certificates takes longer than a test."""
PATIENCE = timedelta(seconds=20)
SHORT = timedelta(seconds=1.5)
LONG_BODY = {"subject": "Long", "body": "sixty-three bytes and a line end, as often as it takes, and so on\n" * 150_000}


@asynccontextmanager
async def provider_for(
    smtp: ScriptedSmtp, call_deadline: timedelta = PATIENCE, concurrency: int = 10
) -> AsyncIterator[SmtpProvider]:
    provider = SmtpProvider.from_url(
        smtp.url(), call_deadline=call_deadline, concurrency=concurrency, tls_context=READ_ONCE
    )
    try:
        yield provider
    finally:
        await provider.close()


async def outcome_of(script: Script | dict[str, Say], call_deadline: timedelta = PATIENCE) -> Outcome:
    async with scripted(script) as smtp, provider_for(smtp, call_deadline) as provider:
        return await provider.send(marked(), yes)


FAULTS = {
    "421": Say(b"421 4.3.2 shutting down\r\n", "close"),
    "451": Say(b"451 try again\r\n"),
    "550": Say(b"550 5.1.1 no\r\n"),
    "close": CLOSE,
    "half a code": Say(b"25", "close"),
    "half a reply": Say(b"250-almost\r\n250 o", "close"),
    "garbage": Say(b"\xff\xfe\x00 hello\r\n"),
    "another 2yz": Say(b"214 help\r\n"),
    "hang": HANG,
}
Row = dict[str, type[Outcome]]
NOT_STARTED: Row = dict.fromkeys(FAULTS, Unavailable)
NEVER_FINAL: Row = dict.fromkeys(FAULTS, RetryLater)
BEFORE_THE_DOT: Row = NEVER_FINAL | {"421": Unavailable, "550": Rejected}
NEVER_KNOWN: Row = dict.fromkeys(FAULTS, Unknown)
AFTER_THE_DOT: Row = NEVER_KNOWN | {"421": Unavailable, "451": RetryLater, "550": Rejected}
EXPECTED: dict[str, Row] = {
    "connect": NOT_STARTED,
    "EHLO": NOT_STARTED,
    "MAIL": BEFORE_THE_DOT,
    "RCPT": BEFORE_THE_DOT,
    "DATA": BEFORE_THE_DOT,
    "dot": AFTER_THE_DOT,
}
CASES = [(stage, fault, outcome) for stage, row in EXPECTED.items() for fault, outcome in row.items()]


@pytest.mark.parametrize(("stage", "fault", "expected"), CASES)
async def test_each_fault_at_each_stage_has_its_outcome(stage: str, fault: str, expected: type[Outcome]) -> None:
    deadline = SHORT if fault == "hang" else PATIENCE

    outcome = await outcome_of({stage: FAULTS[fault]}, deadline)

    assert isinstance(outcome, expected), outcome


@pytest.mark.parametrize("then", ["close", "hang"])
async def test_a_cut_in_the_middle_of_the_message_is_a_safe_retry(then: Literal["close", "hang"]) -> None:
    async with scripted({"body": Say(b"", then)}) as smtp, provider_for(smtp, timedelta(seconds=3)) as provider:
        outcome = await provider.send(marked(payload=LONG_BODY), yes)

    assert isinstance(outcome, RetryLater)
    assert smtp.messages == []


async def test_a_reply_before_the_end_of_the_message_stops_it_from_being_ended() -> None:
    async with scripted({"body": Say(b"552 5.3.4 too big\r\n")}) as smtp, provider_for(smtp) as provider:
        outcome = await provider.send(marked(payload=LONG_BODY), yes)

    assert isinstance(outcome, RetryLater)
    assert "552 5.3.4 too big" in outcome.reason
    assert smtp.messages == []


async def test_a_reply_sent_ahead_never_counts_as_the_answer_to_the_message() -> None:
    script = {"DATA": Say(b"354 go on\r\n250 accepted, I promise\r\n"), "dot": Say(b"554 spam\r\n")}

    outcome = await outcome_of(script)

    assert isinstance(outcome, RetryLater)


async def test_a_long_message_arrives_whole() -> None:
    async with scripted() as smtp, provider_for(smtp) as provider:
        outcome = await provider.send(marked(payload=LONG_BODY), yes)

    assert isinstance(outcome, Accepted)
    assert len(smtp.messages[0]) > len(LONG_BODY["body"])


async def test_nothing_is_handed_over_once_the_lease_is_spent() -> None:
    async with scripted() as smtp, provider_for(smtp) as provider:
        outcome = await provider.send(marked(), no)
        again = await provider.send(marked(), yes)

    assert outcome == RetryLater("the lease was spent before the message was handed over", uses_attempt=False)
    assert isinstance(again, Accepted)
    assert len(smtp.messages) == 1
    assert smtp.connections == 2


async def test_a_server_that_is_not_there_is_unavailable_and_nobody_has_to_mend_a_setting() -> None:
    async with scripted() as smtp:
        provider = SmtpProvider.from_url(smtp.url(), tls_context=READ_ONCE)

    outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Unavailable)
    assert not outcome.is_refused
    assert "when opening the connection" in outcome.reason


async def test_a_name_that_leads_nowhere_is_unavailable() -> None:
    provider = SmtpProvider.from_url("smtp://relay.invalid?from=news@example.com", tls_context=READ_ONCE)

    assert isinstance(await provider.send(marked(), yes), Unavailable)


async def test_a_server_that_speaks_no_tls_is_unavailable() -> None:
    async with scripted() as smtp:
        url = f"smtps://127.0.0.1:{smtp.port}?from=news@example.com"
        provider = SmtpProvider.from_url(url, call_deadline=SHORT, tls_context=READ_ONCE)

        assert isinstance(await provider.send(marked(), yes), Unavailable)


@pytest.mark.parametrize(("code", "is_refused"), [(535, True), (534, True), (454, False), (421, False)])
async def test_refused_credentials_are_for_a_person_to_mend_unless_the_server_could_not_check_them(
    code: int, is_refused: bool
) -> None:
    script = {
        "EHLO": Say(b"250-scripted\r\n250 AUTH PLAIN\r\n"),
        "AUTH": Say(f"{code} 5.7.8 ann geheim AGFubgBnZWhlaW0=\r\n".encode()),
    }
    async with scripted(script) as smtp:
        provider = SmtpProvider.from_url(smtp.url(user="ann:geheim@"), tls_context=READ_ONCE)
        outcome = await provider.send(marked(), yes)
        await provider.close()

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused is is_refused
    assert str(code) in outcome.reason
    assert "geheim" not in outcome.reason
    assert "AGFubgBnZWhlaW0=" not in outcome.reason


async def test_the_reason_of_an_outage_does_not_say_whom_the_message_was_for() -> None:
    outcome = await outcome_of({"RCPT": Say(b"421 4.7.0 <ann@rival.example>: too many for ann@rival.example\r\n")})

    assert isinstance(outcome, Unavailable)
    assert "rival" not in outcome.reason
    assert "too many" in outcome.reason


VERDICTS = [
    ("MAIL", "530 5.7.0 authenticate first", Unavailable, True),
    ("MAIL", "553 5.7.1 not your address", Unavailable, True),
    ("MAIL", "421 4.3.2 not today", Unavailable, False),
    ("MAIL", "552 5.3.4 too big", Rejected, None),
    ("MAIL", "454 Throttling failure: maximum sending rate exceeded", RetryLater, False),
    ("RCPT", "450 4.7.1 greylisted", RetryLater, False),
    ("RCPT", "421 4.7.0 too many messages", Unavailable, False),
    ("RCPT", "450 mailbox busy", RetryLater, True),
    ("RCPT", "450 5.7.1 classes that disagree", RetryLater, True),
    ("RCPT", "552 too many recipients", RetryLater, True),
    ("RCPT", "552 5.2.2 mailbox full", RetryLater, True),
    ("RCPT", "550 5.7.1 we do not want you", Rejected, None),
    ("RCPT", "554 5.7.8 credentials, please", Unavailable, True),
    ("RCPT", "550 5.1.1 nobody of that name", Rejected, None),
    ("RCPT", "550 no such user", Rejected, None),
    ("DATA", "554 5.3.2 closed for today", RetryLater, True),
    ("dot", "554 5.7.1 spam", Rejected, None),
    ("dot", "554 5.7.9 Message not accepted for policy reasons", Rejected, None),
    ("dot", "535 5.7.8 credentials, please", Unavailable, True),
    ("dot", "552 message too big", Rejected, None),
    ("dot", "452 4.3.1 disk full", RetryLater, True),
    ("dot", "454 4.7.0 slower", RetryLater, False),
    ("dot", "354 more?", Unknown, None),
    ("connect", "554 5.7.1 your network is listed", Unavailable, True),
    ("connect", "421 4.3.2 too many connections", Unavailable, False),
    ("EHLO", "550 who are you", Unavailable, True),
]


@pytest.mark.parametrize(("stage", "reply", "expected", "flag"), VERDICTS)
async def test_enhanced_codes_tell_whose_fault_a_refusal_is(
    stage: str, reply: str, expected: type[Outcome], flag: bool | None
) -> None:
    """The flag is `uses_attempt` of a retry, `is_refused` of an outage."""
    outcome = await outcome_of({stage: Say(f"{reply}\r\n".encode())})

    assert isinstance(outcome, expected), outcome
    if isinstance(outcome, RetryLater | Unavailable):
        assert (outcome.uses_attempt if isinstance(outcome, RetryLater) else outcome.is_refused) is flag
        assert reply[:3] in outcome.reason


async def test_a_refused_message_leaves_the_connection_fit_for_the_next() -> None:
    refusals = iter([Say(b"550 5.1.1 no\r\n")])
    script: Script = lambda _number, stage: next(refusals, None) if stage == "RCPT" else None  # noqa: E731
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        first = await provider.send(marked(), yes)
        second = await provider.send(marked(), yes)

    assert isinstance(first, Rejected)
    assert isinstance(second, Accepted)
    assert smtp.connections == 1
    assert "RSET" in smtp.commands


@pytest.mark.parametrize("stage", ["RSET", "MAIL"])
@pytest.mark.parametrize("say", [CLOSE, Say(b"421 idle too long\r\n", "close"), Say(b"\0\r\n")])
async def test_a_stale_connection_is_replaced_at_once(stage: str, say: Say) -> None:
    healthy = iter([Say()] if stage == "MAIL" else [])  # the first message's MAIL; RSET comes only with the second
    script: Script = lambda number, at: next(healthy, say) if number == 1 and at == stage else None  # noqa: E731
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        first = await provider.send(marked(), yes)
        second = await provider.send(marked(), yes)

    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert smtp.connections == 2
    assert len(smtp.messages) == 2


async def test_a_stale_connection_is_replaced_only_once() -> None:
    script: Script = lambda number, stage: CLOSE if stage == "RSET" or (number > 1 and stage == "MAIL") else None  # noqa: E731
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        await provider.send(marked(), yes)
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, RetryLater)
    assert smtp.connections == 2


@pytest.mark.parametrize("say", [HANG, CLOSE, Say(b"garbage\r\n"), Say(b"250 ok\r\n421 and good-bye\r\n")])
async def test_a_connection_in_an_unknown_state_is_never_used_again(say: Say) -> None:
    script: Script = lambda number, stage: say if number == 1 and stage == "dot" else None  # noqa: E731
    async with scripted(script) as smtp, provider_for(smtp, SHORT) as provider:
        await provider.send(marked(), yes)
        second = await provider.send(marked(), yes)

    assert isinstance(second, Accepted)
    assert smtp.connections == 2


async def test_a_cancelled_call_drops_its_connection() -> None:
    script: Script = lambda number, stage: HANG if number == 1 and stage == "dot" else None  # noqa: E731
    async with scripted(script) as smtp, provider_for(smtp) as provider:
        call = asyncio.create_task(provider.send(marked(), yes))
        async with asyncio.timeout(10):
            await smtp.reached("dot").wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        again = await provider.send(marked(), yes)

    assert isinstance(again, Accepted)
    assert smtp.connections == 2


async def test_the_pool_never_holds_more_connections_than_its_concurrency() -> None:
    async with scripted() as smtp, provider_for(smtp, concurrency=3) as provider:
        outcomes = await asyncio.gather(*(provider.send(marked(), yes) for _ in range(30)))

    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    assert len(smtp.messages) == 30
    assert smtp.connections <= 3


async def test_closing_lets_a_call_in_flight_come_to_its_end() -> None:
    async with scripted({"dot": HANG}) as smtp, provider_for(smtp, SHORT) as provider:
        call = asyncio.create_task(provider.send(marked(), yes))
        async with asyncio.timeout(10):
            await smtp.reached("dot").wait()
        await provider.close()
        outcome = await call

    assert isinstance(outcome, Unknown)
    assert "QUIT" not in smtp.commands


async def test_closing_says_quit() -> None:
    async with scripted() as smtp, provider_for(smtp) as provider:
        await provider.send(marked(), yes)
        await provider.close()
        late = await provider.send(marked(), yes)
        await provider.close()

    assert smtp.commands.count("QUIT") == 1
    assert isinstance(late, Accepted)
    assert smtp.connections == 2


async def test_a_server_that_ignores_quit_does_not_hold_up_closing() -> None:
    async with scripted({"QUIT": HANG}) as smtp, provider_for(smtp) as provider:
        await provider.send(marked(), yes)
        await asyncio.wait_for(provider.close(), 10)


STAGES = ["connect", "EHLO", "MAIL", "RCPT", "DATA", "dot"]
NOISE = st.one_of(
    st.binary(max_size=40),
    st.builds(lambda code, rest: f"{code:03d}".encode() + rest, st.integers(0, 999), st.binary(max_size=20)),
    st.sampled_from(
        [b"250garbage", b"+25 0", b" 250 ok", b"25\r\n0 ok", b"250-ok\r\n550 no", b"2_5 ok", b"\r\n250 ok"]
    ),
)


@given(stage=st.sampled_from(STAGES), noise=NOISE, ending=st.sampled_from([b"\r\n", b"\n", b"\r", b""]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_garbage_never_raises_and_never_passes_for_a_yes(stage: str, noise: bytes, ending: bytes) -> None:
    said = noise + ending

    outcome = asyncio.run(outcome_of({stage: Say(said, "close")}, timedelta(seconds=5)))

    is_a_yes = stage == "dot" and said.startswith((b"250 ", b"250\r\n", b"250\n", b"250-"))
    assert isinstance(outcome, Rejected | RetryLater | Unavailable | Unknown) or is_a_yes


async def test_a_server_that_never_greets_is_unavailable_even_under_the_kernel_s_own_deadline() -> None:
    """When both deadlines were the same, the kernel's won, and it had to call the message doubtful."""
    async with scripted({"connect": HANG}) as smtp, provider_for(smtp, timedelta(seconds=1)) as provider:
        outcome = await call_provider(provider, marked(), yes, CallTimer(provider.call_deadline.total_seconds()))

    assert isinstance(outcome, Unavailable)
