"""`tidings sink` as people and scripts run it."""

import asyncio
import json
import re
import signal
import smtplib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.cli.conftest import Command
from tests.terminals import Terminal, empty_home
from tests.warm import Program, Warm

DEADLINE_SECONDS = 40


@asynccontextmanager
async def running(tidings: Command, forked: Warm, *arguments: str) -> AsyncIterator[Program]:
    call = tidings.call("sink", "--port", "0", "--http-port", "0", *arguments)
    async with asyncio.timeout(DEADLINE_SECONDS), forked.running(call) as program:
        yield program
        program.send_signal(signal.SIGTERM)
        assert await program.wait() == 0


def mail(port: int, recipient: str, subject: str = "Hello") -> None:
    with smtplib.SMTP("127.0.0.1", port) as client:
        client.sendmail("news@example.com", [recipient], f"Subject: {subject}\r\n\r\nHi\r\n")


async def test_a_script_gets_the_settings_and_then_a_line_for_each_message(tidings: Command, forked: Warm) -> None:
    async with running(tidings, forked, "--json", "--seed", "7") as program:
        settings = json.loads(await program.stdout.readline())
        port = int(re.findall(r":(\d+)\?", settings["smtpUrl"])[0])
        await asyncio.to_thread(mail, port, "ann@example.com")
        arrived = json.loads(await program.stdout.readline())

    assert settings["seed"] == 7
    assert settings["baseUrl"].startswith("http://127.0.0.1:")
    assert (arrived["to"], arrived["subject"], arrived["answer"]) == (["ann@example.com"], "Hello", "taken")


async def test_a_pipe_gets_what_to_paste_and_a_line_for_each_message(tidings: Command, forked: Warm) -> None:
    async with running(tidings, forked) as program:
        said = [(await program.stdout.readline()).decode() for _ in range(7)]
        port = int(re.findall(r"TIDINGS_SMTP_URL='smtp://127.0.0.1:(\d+)\?from=you@example.com'", said[1])[0])
        await asyncio.to_thread(mail, port, "ann@example.com", "\x1b[31mred")
        line = (await program.stdout.readline()).decode()

    assert [one[0] for one in said] == ["#", "e", "#", "t", "t", "#", "c"]  # what is no command is a comment
    assert "taken" in line
    assert "ann@example.com" in line
    assert "\x1b" not in line


def test_a_terminal_shows_a_table() -> None:
    sink = ("tidings", "sink", "--port", "0", "--http-port", "0", "--refuse", "100%")
    with empty_home() as home, Terminal(home).running(*sink) as screen:
        port = int(re.findall(r"\d+$", screen.wait_for(r"smtp://127.0.0.1:\d+(?=\?)"))[0])
        screen.wait_for("nothing has arrived yet")
        with pytest.raises(smtplib.SMTPException):
            mail(port, "ann@outlook.com")
        screen.wait_for("1 refused")
        screen.wait_for("ann@outlook")
        screen.wait_for("550 5.5.0")


@pytest.mark.parametrize("option", ["--refuse", "--defer"])
@pytest.mark.parametrize("share", ["5", "200%", "many"])
def test_a_share_that_is_none_is_refused_before_anything_starts(tidings: Command, option: str, share: str) -> None:
    ended = tidings("sink", option, share)

    assert f"{option} '{share}' is no share: write it like 5%" in ended.complaint


async def test_a_port_that_is_taken_is_named(tidings: Command) -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    ended = await asyncio.to_thread(tidings, "sink", "--port", str(port), "--http-port", "0")
    server.close()

    assert f"port {port} of 127.0.0.1 cannot be used" in ended.complaint
