"""Letters of 100 kB, composed and sent by the SMTP provider to a sink that refuses one in ten, as mailbox providers do.

No worker, no database and no DKIM signature: what stands between a reserved item and its outcome, and nothing else.
`python -m bench.letters 0` is the process that is measured; what one signature costs is measured beside it.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256

import uvloop
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256

from bench.bare_smtp import CONNECTIONS, MESSAGES, PORT
from bench.bench import Bench
from bench.proc import cpu_seconds
from bench.programs import Programs, told_to_begin, told_to_end
from bench.report import Result
from bench.sink import HOST, REFUSED_AT_END, REFUSED_AT_RCPT, Sink
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable
from tidings.providers.smtp import SmtpProvider
from tidings.testing import marked_item

LETTER_BYTES = 100_000
CONNECTIONS_OF_ONE = 10
SIGNATURES = 200
_ROW = (
    '<tr><td style="font-family:Arial,sans-serif;font-size:14px;line-height:20px;color:#333;padding:0 24px">'
    "Angebot Nummer {number}: schöne Grüße für Ihren Einkauf, nur noch bis Sonntag.</td></tr>\n"
)
EXPECTED: dict[bytes, type[Outcome]] = {b"5": Rejected, b"4": RetryLater}
"""By the first digit of a refusal; 421 is the server's own trouble, and 5.2.2 and its like do not occur."""


def html() -> str:
    """A page as campaigns have them: a table, long lines, and letters that must be encoded."""
    rows = "".join(_ROW.format(number=number) for number in range(LETTER_BYTES // len(_ROW) + 1))
    return f"<html><body><table>\n{rows}</table></body></html>\n"


def items(count: int) -> Iterator[Marked]:
    """So many letters, each to somebody else; each begins with the name of its reader."""
    page = html()
    for number in range(count):
        payload = {
            "subject": f"Hallo {number}",
            "body": f"Hallo {number}!\n",
            "html": f"<p>Hallo {number}!</p>\n{page}",
        }
        yield marked_item(f"p{number:06}@example.com", payload, provider="smtp", key=number.to_bytes(32, "big"))


def expected_of(recipient: str) -> type[Outcome]:
    """What the sink's answer to somebody must become."""
    digits = recipient.partition("@")[0][-2:].encode()
    refusal = REFUSED_AT_RCPT.get(digits) or REFUSED_AT_END.get(digits)
    if refusal is None:
        return Accepted
    return Unavailable if refusal.startswith(b"421") else EXPECTED[refusal[:1]]


async def measure_letters(bench: Bench) -> AsyncIterator[Result]:
    """One process, and what a signature would add."""
    count = max(bench.settings.items // 10, 100)
    bench.step("letters of 100 kB", None)
    async with Sink(refuses=True) as sink:
        environ = {PORT: str(sink.port), CONNECTIONS: str(CONNECTIONS_OF_ONE), MESSAGES: str(count)}
        async with Programs(["bench.letters"], environ, 1) as programs:
            used, sunk, began = cpu_seconds(programs.pids), sink.cpu_seconds(), time.monotonic()
            await programs.work()
            seconds = time.monotonic() - began
            used, sunk = cpu_seconds(programs.pids) - used, sink.cpu_seconds() - sunk
        taken = (await sink.take())["messages"]
    note = (
        f"{count / used:,.0f} letters a second of one core; {count - taken} of {count} refused as they should be; "
        f"the sink took {sunk / count * 1e6:.0f} µs a letter; no DKIM"
    )
    seen = {"per_core_second": count / used, "refused": count - taken}
    yield Result(
        "letters",
        "100 kB letters, one in ten refused",
        1,
        count,
        seconds,
        None,
        used / count * 1e6,
        note=note,
        seen=seen,
    )
    signing = _signing_seconds()
    yield Result(
        "letters",
        "an RSA-2048 signature over 100 kB, alone",
        python_us=signing * 1e6,
        note="what DKIM would add at least",
    )


def _signing_seconds() -> float:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    content = html().encode()
    used = time.process_time()
    for _ in range(SIGNATURES):
        key.sign(sha256(content).digest(), padding.PKCS1v15(), Prehashed(SHA256()))
    return (time.process_time() - used) / SIGNATURES


async def _send(provider: SmtpProvider, waiting: Iterator[Marked]) -> None:
    for item in waiting:
        outcome = await provider.send(item, lambda: True)
        if type(outcome) is not expected_of(item.recipient):
            raise AssertionError(f"{item.recipient} got {outcome}")


async def _main() -> None:
    connections = int(os.environ[CONNECTIONS])
    url = f"smtp://{HOST}:{os.environ[PORT]}?from=bench@example.com"
    provider = SmtpProvider.from_url(url, concurrency=connections)
    waiting = iter(list(items(int(os.environ[MESSAGES]))))
    await told_to_begin()
    await asyncio.gather(*(_send(provider, waiting) for _ in range(connections)))
    await told_to_end()
    await provider.close()


if __name__ == "__main__" and sys.argv[1:]:
    uvloop.run(_main())
