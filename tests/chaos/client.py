"""A client process that triggers or enrolls, so that it can be killed while it does: `python -m tests.chaos.client`.

Reads JSON from standard input: the workflow, and the triggers as [key, data]; or a sequence and a tag.
"""

import asyncio
import json
import os
import sys
from uuid import UUID

from tests.chaos.app import make_app
from tests.chaos.workload import CALLER
from tidings.config import Config
from tidings.engine import Trigger
from tidings.wiring import open_engine


async def main() -> None:
    """Do what standard input asks for."""
    wish = json.load(sys.stdin)
    app = make_app(os.environ["CHAOS_LEDGER"], float(os.environ["TIDINGS_CALL_SECONDS"]))
    engine = await open_engine(Config(database_url=os.environ["DATABASE_URL"]), app)
    try:
        if "sequence" in wish:
            await engine.enrollments.batch_enroll(CALLER, UUID(wish["sequence"]), {"tag": wish["tag"]})
        else:
            await engine.trigger_many(wish["workflow"], [Trigger(key, data) for key, data in wish["triggers"]])
    finally:
        await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
