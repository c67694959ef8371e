"""An e-mail, a wait of a second, and an SMS to those who gave a number: a graph with a delay and a branch.

    python examples/email_delay_sms.py

Runs on the embedded PostgreSQL in a temporary directory, and prints what it would send on a terminal (`print=True`).
"""

import asyncio
import tempfile
from pathlib import Path

import yaml

from tidings import Config, Engine, Workspace, open_engine
from tidings.domain.caller import Caller

FILE = Path(__file__).parent / "workflows" / "email_delay_sms.yaml"
ME = Caller(Workspace(), "example")
ADA = {"name": "Ada", "email": "ada@example.com", "phone": "+44 20 7946 0000", "code": "1815"}
ALAN = {"name": "Alan", "email": "alan@example.com", "code": "1912"}


async def main() -> None:
    """Open an engine on a database of its own."""
    with tempfile.TemporaryDirectory() as directory:
        engine = await open_engine(Config(data_dir=Path(directory), print=True))
        try:
            await tell(engine)
        finally:
            await engine.close()
            await remove_server(Path(directory))


async def tell(engine: Engine) -> None:
    """Trigger for somebody with a number and for somebody without, and show which way each went."""
    document = yaml.safe_load(FILE.read_text())
    definition = {key: document[key] for key in ("entryNodeId", "nodes", "edges")}
    await engine.workflows.apply(ME, document["name"], definition, description=document["description"])
    started = [
        await engine.executions.trigger(ME, document["name"], person, f"signup-{person['name']}")
        for person in (ADA, ALAN)
    ]
    for one in started:
        while not (shown := await engine.executions.get(ME.workspace, one.id)).status.has_ended:
            await engine.work_everything()  # in production, `tidings worker` does this
            await asyncio.sleep(0.1)
        print(f"{shown.input_payload['name']}: {shown.status}")
        for line in await engine.executions.log(ME.workspace, one.id):
            print(f"  {line.node} {line.kind} {line.status}")
    print(f"every promise holds: {not any(check.offences for check in await engine.verify())}")


async def remove_server(directory: Path) -> None:
    """Leave nothing running, and nothing on the disk."""
    from tidings import embedded  # noqa: PLC0415

    await embedded.remove(directory)


if __name__ == "__main__":
    asyncio.run(main())
