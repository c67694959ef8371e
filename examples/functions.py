"""Three workflows of function calls, their functions in Python: apply, trigger, work, look.

    python examples/functions.py

Runs on the embedded PostgreSQL in a temporary directory, or on DATABASE_URL. In production the functions are in a
module of yours, `tidings worker --app module:app` runs them, and `tidings workflows apply examples/workflows/*.yaml`
brings the definitions.
"""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tidings import App, Config, Engine, Workspace, open_engine
from tidings.domain.caller import Caller

DEFINITIONS = Path(__file__).parent / "workflows"
ABOUT = {"name", "description"}
ME = Caller(Workspace(), "example")

PROPOSAL = {
    "guest_email": "ada@example.com",
    "guest_name": "Ada",
    "host_name": "Grace",
    "listing_address": "12 St James's Square",
    "start_date": "2026-03-01",
    "end_date": "2026-06-01",
    "monthly_rent": 2400,
    "email_template_id": "accepted-1",
}
LISTING = {
    "host_email": "grace@example.com",
    "host_name": "Grace",
    "listing_address": "12 St James's Square",
    "listing_id": "L-17",
    "email_template_id": "listing-1",
}
SIGNUP = {
    "user_email": "alan@example.com",
    "user_name": "Alan Turing",
    "first_name": "Alan",
    "signup_date": "2026-02-28",
    "welcome_email_template_id": "welcome-1",
}


async def send_email(action: str, payload: Mapping[str, Any], *, idempotency_key: str) -> Mapping[str, Any]:
    """Send an e-mail; the key is the same when the call is repeated, so that a service can tell."""
    print(f"  send-email {action}: {payload['template_id']} to {payload['to_email']}")
    return {"messageId": f"email-{idempotency_key[:8]}"}


async def slack(action: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Tell a channel."""
    print(f"  slack {action}: #{payload['channel']}: {payload['message']}")
    return {"ok": True}


app = App(functions={"send-email": send_email, "slack": slack})


async def main() -> None:
    """Open an engine on a database of its own, or on the one that is given."""
    if "DATABASE_URL" in os.environ:
        await use(await open_engine(app=app))  # with every setting of the environment and tidings.toml
        return
    with tempfile.TemporaryDirectory() as directory:
        try:
            await use(await open_engine(Config(data_dir=Path(directory)), app))
        finally:
            await remove_server(Path(directory))


async def use(engine: Engine) -> None:
    """Run the example on one engine."""
    try:
        await tell(engine)
    finally:
        await engine.close()


async def tell(engine: Engine) -> None:
    """Apply the definitions, trigger each once, and show what became of it."""
    for name in ("proposal_accepted", "listing_submitted", "user_signup_complete"):
        document = yaml.safe_load((DEFINITIONS / f"{name}.yaml").read_text())
        definition = {key: value for key, value in document.items() if key not in ABOUT}
        shown, change = await engine.workflows.apply(ME, name, definition, description=document["description"])
        print(f"{change} {shown.name}, version {shown.version}")
    started = [
        await engine.executions.trigger(ME, "proposal_accepted", PROPOSAL, "proposal-17"),
        await engine.executions.trigger(ME, "listing_submitted", LISTING, "listing-17"),
        await engine.executions.trigger(ME, "user_signup_complete", SIGNUP, "signup-17"),
    ]
    await engine.work_everything()  # in production, `tidings worker` does this
    for one in started:
        shown_execution = await engine.executions.get(ME.workspace, one.id)
        print(f"{shown_execution.workflow_name}: {shown_execution.status}")
        for line in await engine.executions.log(ME.workspace, one.id):
            print(f"  {line.node} {line.status}: {line.produced}")
    print(f"every promise holds: {not any(check.offences for check in await engine.verify())}")


async def remove_server(directory: Path) -> None:
    """Leave nothing running, and nothing on the disk."""
    from tidings import embedded  # noqa: PLC0415

    await embedded.remove(directory)


if __name__ == "__main__":
    asyncio.run(main())
