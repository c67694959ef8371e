"""Make providers of vendors for a server on this machine."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.providers.items import PLAIN, marked
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, Value
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Payload
from tidings.domain.flow.provider import Doubtful, Provider
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, PrivateAddresses
from tidings.providers.catalogue import CATALOGUE


async def everything(_: Workspace) -> PrivateAddresses:
    return EVERY_PRIVATE_ADDRESS


def maker(kind: str, channel: Channel, /, **values: Value) -> Callable[[str, timedelta], Provider]:
    """What makes a provider of a kind for an address and a deadline; its settings are checked as a connection's are.

    `{url}` in a setting stands for the address of the server; baseUrl is that address where the kind has one.
    """
    found = CATALOGUE[kind]

    def make(url: str, deadline: timedelta) -> Provider:
        bases = {"baseUrl": url} if "baseUrl" in {one.name for one in found.settings} else {}
        given = {name: one.replace("{url}", url) if isinstance(one, str) else one for name, one in values.items()}
        secrets = {name: value for name, value in given.items() if name in found.secrets}
        settings = {name: value for name, value in given.items() if name not in found.secrets}
        assert found.problems_of({**bases, **settings}, secrets) == []
        filled = found.filled({**bases, **given})
        return found.build(ConnectionSettings(f"{kind}/test", channel, filled, deadline, 10, everything))

    return make


def doubtful(recipient: str = "ann@example.com", payload: Payload = PLAIN) -> Doubtful:
    """An item in doubt, marked on a noon of 2026."""
    item = marked(recipient, payload)
    return Doubtful(recipient, item.key, datetime(2026, 11, 18, 12, tzinfo=UTC), payload)


def webhook_maker(kind: str, path: str, /, **settings: Value) -> Callable[[str, timedelta], Provider]:
    """What makes a provider whose address is its password, for an address and a deadline."""
    found = CATALOGUE[kind]

    def make(url: str, deadline: timedelta) -> Provider:
        address = {"webhookUrl": f"{url}{path}"}
        assert found.problems_of(settings, address) == []
        filled = found.filled({**settings, **address})
        return found.build(ConnectionSettings(f"{kind}/test", Channel.CHAT, filled, deadline, 10, everything))

    return make
