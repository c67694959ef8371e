"""Workspaces with connections: kinds whose providers only record, one provider for each connection's token."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from tests.conftest import ManualClock
from tests.stored import TESTER
from tidings.domain.caller import Caller
from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, ProviderKind, Setting, base_url, secret
from tidings.domain.connections.vendors import Vendors
from tidings.domain.errors import ConfigInvalid
from tidings.domain.flow.provider import Blind, Keyed, Provider, ProviderClass
from tidings.engine import Engine
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.providers.fake import FakeProvider
from tidings.storage.database import Database
from tidings.storage.migrate import read_shard_count
from tidings.storage.vault import Vault
from tidings.views.connections import ProviderConnection

KEY = b"k" * 32
CLASSES: Mapping[str, ProviderClass] = {"blind": Blind(), "keyed": Keyed(timedelta(hours=24))}


@dataclass
class Outside:
    """What the connections of a test lead to: one recording provider for each token."""

    providers: dict[str, FakeProvider] = field(default_factory=dict)
    built: list[str] = field(default_factory=list)

    def __getitem__(self, token: str) -> FakeProvider:
        return self.providers.setdefault(token, FakeProvider(token))

    def recipients(self, token: str) -> list[str]:
        """Whom was written to through a token, in the order of the calls."""
        return [call.recipient for call in self[token].calls]

    def build(self, connection: ConnectionSettings) -> Provider:
        token = connection.text("token")
        if token == "refused":
            raise ConfigInvalid("the token is refused")
        if token == "unreadable":
            raise ValueError(f"cannot read {token}")
        self.built.append(token)
        fake = self[token]
        fake.name = connection.name
        return fake

    @property
    def kind(self) -> ProviderKind:
        return ProviderKind(
            name="outside",
            title="Outside",
            channels=(Channel.EMAIL, Channel.SMS),
            settings=(
                secret("token", "what its provider is known by"),
                secret("extra", "another", is_required=False),
                Setting(name="region", doc="where it is", choices=("eu", "us")),
                base_url("https://api.outside.test"),
            ),
            build=self.build,
            follows=(),
            accepts=lambda recipient: not recipient.startswith("never-"),
        )


@asynccontextmanager
async def engine_with(
    db: Database,
    clock: ManualClock,
    outside: Outside,
    *,
    limits: Limits | None = None,
    vault: Vault | None = None,
    operators: FakeProvider | None = None,
) -> AsyncIterator[Engine]:
    """An engine whose workspaces can connect to the outside; with an operator's provider for e-mail if given."""
    kernel = Kernel(
        db=db,
        clock=clock,
        shards=await read_shard_count(db),
        providers={operators.name: operators} if operators else {},
        routes={Channel.EMAIL: operators.name} if operators else {},
        renderer=Renderer(),
        limits=limits or Limits(),
        vault=vault or Vault([KEY]),
        vendors=Vendors({"outside": outside.kind}, call_deadline=timedelta(seconds=10)),
    )
    await declare_routes(kernel)
    try:
        yield Engine(kernel)
    finally:
        await kernel.notifier.close()
        await kernel.renderer.close()
        await kernel.connections.close()


async def connect(engine: Engine, name: str, by: Caller = TESTER, **more: object) -> ProviderConnection:
    """Add a connection for e-mail whose token is its name."""
    given = {"name": name, "provider": "outside", "channel": "email", "credentials": {"token": name}}
    return await engine.connections.create(by, given | more)
