"""Event rules: a lead, quotes and appointments, by rule where there is one and by the application's own code where not.

    python examples/rules.py

Runs on the embedded PostgreSQL in a temporary directory, or on DATABASE_URL, and prints what it would send on a
terminal (`print=True`). In production `tidings rules apply examples/rules/*.yaml` brings the rules, and `tidings serve
--app module:app` and `tidings worker --app module:app` know the fallbacks.
"""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from tidings import App, Config, Engine, Workspace, open_engine
from tidings.domain.caller import Caller

RULES = Path(__file__).parent / "rules"
ME = Caller(Workspace(), "example")
PEOPLE = {
    "lead": {"name": "Ada", "email": "ada@example.com", "phone": "+442071838750"},
    "partner": {"name": "Grace", "email": "grace@example.com"},
    "agent": {"name": "Alan", "email": "alan@example.com"},
}
QUOTE = {"quote": {"number": "Q-17", "pdf": "https://example.com/quotes/17.pdf"}}


async def send_proposal(_: str, event: Mapping[str, Any]) -> None:
    """What the application has always done when a quote is sent."""
    print(f"  legacy: the proposal {event['variables']['quote']['number']} goes to {event['lead']['email']}")


async def thank_with_pdf(_: str, event: Mapping[str, Any]) -> None:
    """What it did when one was accepted; there is a rule for that now, so it is only called if enqueueing fails."""
    print(f"  legacy: thank you, with {event['variables']['quote']['pdf']}, to {event['lead']['email']}")


async def tell_agent(_: str, event: Mapping[str, Any]) -> None:
    """The agent's own message."""
    print(f"  legacy: {event['agent']['email']} hears that {event['lead']['name']} has accepted")


app = App(
    fallbacks={
        ("quote_sent", "email", "lead"): send_proposal,
        ("quote_accepted", "email", "lead"): thank_with_pdf,
        ("quote_accepted", "email", "agent"): tell_agent,
    }
)


async def main() -> None:
    """Open an engine on a database of its own, or on the one that is given."""
    if "DATABASE_URL" in os.environ:
        await use(await open_engine(app=app))  # with every setting of the environment and tidings.toml
        return
    with tempfile.TemporaryDirectory() as directory:
        try:
            await use(await open_engine(Config(data_dir=Path(directory), print=True), app))
        finally:
            await remove_server(Path(directory))


async def use(engine: Engine) -> None:
    """Run the example on one engine."""
    try:
        await tell(engine)
    finally:
        await engine.close()


async def tell(engine: Engine) -> None:
    """Apply the rules, send one event of each family, and show what became of it."""
    for file in sorted(RULES.glob("*.yaml")):
        for given in yaml.safe_load_all(file.read_text()):
            rule, change = await engine.rules.apply(ME, given)
            print(f"{change} {rule.key}")
    starts_at = datetime.now(UTC) + timedelta(days=3)
    appointment = {"appointment": {"startsAt": starts_at.isoformat(), "place": "12 St James's Square"}}
    sent = [
        await send(engine, "lead_welcome", {}),
        *[await send(engine, trigger, QUOTE) for trigger in ("quote_sent", "quote_accepted", "quote_rejected")],
        await send(engine, "appointment_scheduled", appointment),
    ]
    await engine.work_everything()  # in production, `tidings worker` does this
    await engine.events.cancel_by_key(ME, "appointment_scheduled", "appointment_scheduled-17")
    await engine.work_everything()
    for id in sent:
        await show(engine, id)
    print(f"every promise holds: {not any(check.offences for check in await engine.verify())}")


async def send(engine: Engine, trigger: str, variables: Mapping[str, object]) -> Any:
    """Send one event; the same key again would change nothing."""
    event = {"trigger": trigger, "idempotencyKey": f"{trigger}-17", **PEOPLE, "variables": variables}
    return (await engine.events.send(ME, event)).id


async def show(engine: Engine, id: Any) -> None:
    """Print what was decided about an event, and how its items stand."""
    event = await engine.events.get(ME.workspace, id)
    print(event.trigger)
    for one in event.decisions:
        print(f"  {one.channel} to the {one.audience}: {one.outcome}")
        for item in one.items:
            print(f"    {item.recipient}: {item.status} {item.error or ''}".rstrip())


async def remove_server(directory: Path) -> None:
    """Leave nothing running, and nothing on the disk."""
    from tidings import embedded  # noqa: PLC0415

    await embedded.remove(directory)


if __name__ == "__main__":
    asyncio.run(main())
