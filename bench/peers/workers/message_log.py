"""What every Python peer does for one message, and how the bench talks to it.

Runs in the peers' own environment, so nothing here may import tidings. A peer is a script with three verbs: `enqueue`
installs its tables, queues ITEMS messages and prints the seconds that took; `work` processes them until it is killed;
`remaining` prints how many the framework itself has not completed.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import asyncpg

DATABASE_URL = os.environ["DATABASE_URL"]
ITEMS = int(os.environ["ITEMS"])
COMPLETION_SECONDS = 10.0

T = TypeVar("T")

RESERVE = """
insert into message_log (idempotency_key, recipient, subject, body, status)
values ($1, $2, $3, $4, 'queued') on conflict do nothing
"""
FINISH = """
update message_log set status = 'sent', message_id = $2, finished_at = clock_timestamp() where idempotency_key = $1
"""


@dataclass(frozen=True)
class Message:
    key: str
    recipient: str
    subject: str
    body: str


def payloads() -> Iterator[dict[str, str]]:
    """Give what is queued for each message: the same facts that our executions are triggered with."""
    for number in range(ITEMS):
        yield {"key": f"k{number}", "email": f"p{number}@example.com", "name": f"P{number}"}


def compose(key: str, email: str, name: str) -> Message:
    return Message(key, email, f"Hello {name}", f"Good to see you, {name}.")


async def null_send(message: Message) -> str:
    """Accept at once and give a message id."""
    return f"<{message.key}@null>"


async def open_pool(connections: int) -> asyncpg.Pool:
    # Handlers leave no session state, and the default reset is one more round trip for each statement.
    return await asyncpg.create_pool(DATABASE_URL, min_size=connections, max_size=connections, reset=_keep_session)


async def _keep_session(_: asyncpg.Connection) -> None:
    return None


async def send_message(pool: asyncpg.Pool, key: str, email: str, name: str) -> None:
    """Reserve, send, finish: each statement commits by itself, so that the row stands before the send."""
    message = compose(key, email, name)
    await pool.execute(RESERVE, message.key, message.recipient, message.subject, message.body)
    message_id = await null_send(message)
    await pool.execute(FINISH, message.key, message_id)


async def print_seconds(work: Awaitable[object]) -> None:
    """Print the seconds that a coroutine takes."""
    started = time.perf_counter()
    await work
    print(time.perf_counter() - started)


async def print_remaining(count: str) -> None:
    """Print what a query still counts once it is zero, or when the framework had time enough to complete."""
    connection = await asyncpg.connect(DATABASE_URL)
    deadline = time.monotonic() + COMPLETION_SECONDS
    while (remaining := await connection.fetchval(count)) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    print(remaining)
    await connection.close()


def run_verb(verbs: Mapping[str, Callable[[], T]]) -> T:
    """Run the verb on the command line."""
    return verbs[sys.argv[1]]()
