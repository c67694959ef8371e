"""A scene whose work goes through connections to vendors: two accounts for each class, one of them closed at times."""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from tests.chaos.arena import Arena
from tests.chaos.plan import Plan
from tests.chaos.scene import PEOPLE_PER_RUN, PEOPLE_PER_RUN_AHEAD, Scene
from tests.chaos.workload import CALLER
from tests.providers.vendors.keys import service_account
from tidings.domain.flow.item import Channel

CHANNELS = {"keyed": Channel.EMAIL, "resolvable": Channel.SMS, "blind": Channel.PUSH}
ACCOUNTS: Mapping[str, Sequence[str]] = {
    "keyed": ("re_first", "re_second"),
    "resolvable": (f"AC{'1' * 32}", f"AC{'2' * 32}"),
    "blind": ("first-project", "second-project"),
}
"""Those of each class in the order in which they are tried."""
VENDORS = frozenset({"resend", "twilio", "fcm"})
LOOK_SECONDS = timedelta(seconds=1)


async def connect(arena: Arena) -> None:
    """Connect the workspace to the ledger's vendors; whatever is fed from now on goes through them."""
    arena.use_vendors(LOOK_SECONDS)
    await arena.engine.workspaces.set(CALLER, CALLER.workspace, private_addresses=["127.0.0.0/8"])
    for provider, accounts in ACCOUNTS.items():
        for place, account in enumerate(accounts, start=1):
            wish = _connection(provider, account, arena.address)
            await arena.engine.connections.create(CALLER, {"name": f"{provider}-{place}", **wish})
    arena.workload.channels = CHANNELS
    await arena.workload.define_workflows()


def _connection(provider: str, account: str, address: str) -> Mapping[str, object]:
    url = f"http://{address}"
    match provider:
        case "keyed":
            settings = {"from": "chaos@chaos.test", "baseUrl": url}
            return {"provider": "resend", "settings": settings, "credentials": {"apiKey": account}}
        case "resolvable":
            settings = {"accountSid": account, "from": "+15005550006", "baseUrl": url}
            sealed = {"authToken": "a-token-of-the-ledger"}
            return {"provider": "twilio", "channel": "sms", "settings": settings, "credentials": sealed}
        case _:
            file = json.dumps(json.loads(service_account()) | {"project_id": account})
            settings = {"tokenUrl": f"{url}/token", "baseUrl": url}
            return {"provider": "fcm", "settings": settings, "credentials": {"serviceAccount": file}}


async def reopen(arena: Arena) -> None:
    """Open every account, and let no connection rest any longer, as an operator does."""
    await arena.close_accounts()
    for one in await arena.engine.connections.list(CALLER.workspace):
        if one.provider in VENDORS:
            await arena.engine.connections.reset(CALLER, one.id)


class VendorScene(Scene):
    """What harms act on when vendors are called."""

    def __init__(self, arena: Arena, draw: random.Random, plan: Plan) -> None:
        super().__init__(arena, draw, plan)
        self._closures = 0

    async def open(self) -> None:
        """Connect before there is any work."""
        await connect(self.arena)
        await super().open()

    async def feed(self, provider: str | None = None) -> None:
        """Runs, executions and walks: a sequence's contacts have other addresses."""
        provider = provider or self.provider
        people = PEOPLE_PER_RUN_AHEAD if self._is_ahead() else PEOPLE_PER_RUN
        await self.arena.workload.start_run(provider, people)
        await self.arena.workload.start_executions(provider, people // 20)
        await self.arena.workload.start_walks(people // 100)

    async def feed_the_rest(self) -> None:
        """With every account open again."""
        await reopen(self.arena)
        await super().feed_the_rest()

    async def close_account(self, provider: str) -> None:
        """The first account of a class refuses all calls for a while, and somebody dies meanwhile."""
        await self.arena.close_accounts(ACCOUNTS[provider][0])
        await self.under_load()
        victim = self.draw.choice(self.workers)
        await self.arena.kill(victim)
        await self.replace(victim)
        await self.under_load()
        await reopen(self.arena)
        self._closures += 1

    def others(self) -> Counter[str]:
        """With how often an account was closed."""
        return super().others() + Counter({"account closed, then kill -9": self._closures})
