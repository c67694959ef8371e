"""Who we are, to an SMTP server: each method that it may offer, and what it may say."""

from base64 import b64decode, b64encode

import pytest

from tests.providers.items import marked, yes
from tests.providers.scripted_smtp import Say, Script, scripted
from tests.providers.test_smtp import PASSWORD, QUOTED, let_in, mail_server, smtp_provider
from tidings.domain.flow.outcome import Accepted, Outcome, Unavailable

CHALLENGE = b64encode(b"<1896.697170952@postoffice.example.net>").decode()


@pytest.mark.parametrize("excluded", [["LOGIN"], ["PLAIN"]])
async def test_a_real_server_lets_us_in_by_each_method_it_offers(excluded: list[str]) -> None:
    server = mail_server(
        authenticator=let_in, auth_required=True, auth_require_tls=False, auth_exclude_mechanism=excluded
    )
    async with server as mailbox, smtp_provider(mailbox.url(f"ann:{QUOTED}@", "&starttls=false")) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Accepted)


async def outcome_of(offered: str, *replies: str) -> tuple[Outcome, list[str]]:
    """Offer methods, and answer all that follows in turn; return what was said after EHLO."""
    left = iter(replies)

    def script(_: int, stage: str) -> Say | None:
        if stage == "EHLO":
            return Say(f"250-scripted\r\n{offered}\r\n".encode())
        is_known = stage in ("connect", "MAIL", "RCPT", "DATA", "body", "dot", "QUIT")
        return None if is_known else Say(f"{next(left)}\r\n".encode())

    checked: Script = script
    async with scripted(checked) as smtp, smtp_provider(smtp.url(user=f"tim:{QUOTED}@")) as provider:
        return await provider.send(marked(), yes), smtp.commands[1:]


async def test_cram_md5_proves_the_password_without_saying_it() -> None:
    outcome, said = await outcome_of("250 AUTH CRAM-MD5 PLAIN", f"334 {CHALLENGE}", "235 welcome")

    assert isinstance(outcome, Accepted)
    assert said[0] == "AUTH CRAM-MD5"
    name, _, digest = b64decode(said[1]).decode().partition(" ")
    assert name == "tim"
    assert len(bytes.fromhex(digest)) == 16
    assert PASSWORD not in b64decode(said[1]).decode()


async def test_the_digest_is_the_one_that_rfc_2195_prints() -> None:
    script = {
        "EHLO": Say(b"250-scripted\r\n250 AUTH CRAM-MD5\r\n"),
        "AUTH": Say(b"334 PDE4OTYuNjk3MTcwOTUyQHBvc3RvZmZpY2UucmVzdG9uLm1jaS5uZXQ+\r\n"),
        "DGLTIGI5MTNHNJAYYZDLZGE3YTQ5NWI0ZTZLNZMZNGQZODKW": Say(b"235 welcome\r\n"),
    }
    async with scripted(script) as smtp, smtp_provider(smtp.url(user="tim:tanstaaftanstaaf@")) as provider:
        outcome = await provider.send(marked(), yes)

    assert isinstance(outcome, Accepted)
    assert "dGltIGI5MTNhNjAyYzdlZGE3YTQ5NWI0ZTZlNzMzNGQzODkw" in smtp.commands


async def test_a_method_that_is_refused_gives_way_to_the_next() -> None:
    outcome, said = await outcome_of(
        "250 AUTH LOGIN PLAIN CRAM-MD5", "504 not really", "535 nor this", "334 x", "235 ok"
    )

    assert isinstance(outcome, Accepted)
    assert [line.split()[1] for line in said[:3]] == ["CRAM-MD5", "PLAIN", "LOGIN"]
    assert b64decode(said[3]).decode() == PASSWORD


async def test_a_challenge_that_is_no_base64_is_taken_back() -> None:
    outcome, said = await outcome_of("250 AUTH CRAM-MD5", "334 not base64!", "501 5.5.2 taken back")

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused
    assert said[1] == "*"


@pytest.mark.parametrize(
    "offered", ["250-AUTH=PLAIN\r\n250 SIZE", "250-AUTH XOAUTH2\r\n250 AUTH=PLAIN", "250 auth plain"]
)
async def test_an_offer_may_be_written_as_old_servers_write_it(offered: str) -> None:
    outcome, said = await outcome_of(offered, "235 ok")

    assert isinstance(outcome, Accepted)
    assert said[0].startswith("AUTH PLAIN ")


@pytest.mark.parametrize("offered", ["250 SIZE", "250 AUTH XOAUTH2 GSSAPI", "250 XAUTH PLAIN"])
async def test_a_server_that_offers_no_method_of_ours_is_for_a_person_to_mend(offered: str) -> None:
    outcome, said = await outcome_of(offered)

    assert isinstance(outcome, Unavailable)
    assert outcome.is_refused
    assert "does not offer what the SMTP URL asks for" in outcome.reason
    assert not any(line.startswith("AUTH") for line in said)


async def test_a_code_that_is_neither_yes_nor_no_is_nobody_s_mistake() -> None:
    outcome, _ = await outcome_of("250 AUTH PLAIN", "250 ok?")

    assert isinstance(outcome, Unavailable)
    assert not outcome.is_refused
