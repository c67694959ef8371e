"""Write to a new customer, wait a little, and write again: define, trigger, work, look.

    python examples/welcome.py

Runs on the embedded PostgreSQL in a temporary directory, and prints what it would send on a terminal (`print=True`).
"""

import asyncio
import tempfile
from pathlib import Path

from tidings import Config, Engine, Workspace, open_engine

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [
        {
            "id": "hello",
            "type": "email",
            "to": "{{ email }}",
            "subject": "Welcome, {{ name }}",
            "body": "Good to have you, {{ name | default: 'friend' }}.",
        },
        {"id": "wait", "type": "delay", "delayMs": 500},
        {"id": "nudge", "type": "sms", "to": "{{ phone }}", "body": "Still there, {{ name }}?"},
    ],
    "edges": [{"from": "hello", "to": "wait"}, {"from": "wait", "to": "nudge"}],
}


async def main() -> None:
    """Start one execution, move it to its end, and show what became of it."""
    with tempfile.TemporaryDirectory() as directory:
        engine = await open_engine(Config(data_dir=Path(directory), print=True))
        try:
            await tell(engine)
        finally:
            await engine.close()
            await remove_server(Path(directory))


async def tell(engine: Engine) -> None:
    """Define, trigger twice under one key, work, look."""
    version = await engine.define("welcome", WELCOME)
    print(f"defined welcome, version {version.number}")
    person = {"name": "Ada", "email": "ada@example.com", "phone": "+44 20 7946 0000"}
    first = await engine.trigger("welcome", person, idempotency_key="signup-1")
    again = await engine.trigger("welcome", person, idempotency_key="signup-1")
    print(f"triggered {first.id}; again: the same execution, duplicate={again.duplicate and again.id == first.id}")
    shown = await engine.executions.get(Workspace(), first.id)
    while not shown.status.has_ended:
        await engine.work_everything()  # in production, `tidings worker` does this
        await asyncio.sleep(0.1)
        shown = await engine.executions.get(Workspace(), first.id)
    for node, result in shown.vars.items():
        print(f"  {node}: {result}")
    print(f"{shown.status}; every promise holds: {not any(check.offences for check in await engine.verify())}")


async def remove_server(directory: Path) -> None:
    """Leave nothing running, and nothing on the disk."""
    from tidings import embedded  # noqa: PLC0415

    await embedded.remove(directory)


if __name__ == "__main__":
    asyncio.run(main())
