"""A client process that triggers executions, so that it can be killed while it does: `python -m tests.chaos.client`.

Reads JSON from standard input: the workflow, and the triggers as [key, data].
"""

import asyncio
import json
import os
import sys

from tests.chaos.app import make_app
from tidings.config import Config
from tidings.engine import Trigger
from tidings.wiring import open_engine


async def main() -> None:
    """Trigger what standard input asks for."""
    wish = json.load(sys.stdin)
    app = make_app(os.environ["CHAOS_LEDGER"], float(os.environ["TIDINGS_CALL_SECONDS"]))
    engine = await open_engine(Config(database_url=os.environ["DATABASE_URL"]), app)
    try:
        await engine.trigger_many(wish["workflow"], [Trigger(key, data) for key, data in wish["triggers"]])
    finally:
        await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
