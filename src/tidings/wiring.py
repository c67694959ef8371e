"""The only file that knows every layer: it turns a Config into an Engine."""

import importlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tidings.config import Config, variable
from tidings.domain.errors import ConfigInvalid, InputInvalid
from tidings.domain.function import Directory, Endpoint, FunctionCallable
from tidings.domain.item import Channel
from tidings.domain.provider import Provider
from tidings.domain.recipients import Audience
from tidings.domain.routing import fallback_name
from tidings.domain.rule import RuleKey, check_trigger
from tidings.engine import Engine
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.render import Renderer
from tidings.providers.console import ConsoleProvider
from tidings.providers.functions import IDEMPOTENT, ONCE, FunctionProvider
from tidings.storage.clock import Clock, DatabaseClock
from tidings.storage.database import Database, without_password
from tidings.storage.directory import FunctionDirectory
from tidings.storage.migrate import (
    migrate,
    read_shard_count,
    require_current,
    require_every_row,
    require_safe,
    reset,
    schema_state,
)
from tidings.storage.vault import Vault, key_kept_in, read_keys

LONGEST_MARGIN = timedelta(seconds=1)
SHARE_OF_A_LEASE = 0.8


@dataclass(frozen=True, slots=True)
class App:
    """What a host application brings along: providers, the channels they serve, functions and fallbacks.

    A function is called by its name as `await function(action, payload)`; one that is not async runs in a thread. A
    fallback is one, or the URL of one, under (trigger, channel, audience): it is called once for each event that has
    no rule for them, or whose enqueueing is known to have failed.
    """

    providers: Sequence[Provider] = ()
    routes: Mapping[Channel, str] = field(default_factory=dict)
    functions: Mapping[str, FunctionCallable] = field(default_factory=dict)
    fallbacks: Mapping[tuple[str, str, str], FunctionCallable | str] = field(default_factory=dict)


def load_app(reference: str) -> App:
    """Import `module:name`, an App or a function that makes one."""
    module_name, _, name = reference.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), name or "app")
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigInvalid(
            f"--app {reference!r} cannot be loaded: {error}; write it like package.module:app"
        ) from error
    app = found() if callable(found) else found
    if not isinstance(app, App):
        raise ConfigInvalid(f"--app {reference!r} is a {type(app).__name__}; it must be a tidings.wiring.App")
    return app


async def database_url(config: Config) -> str:
    """The database to use: the configured one, or else the embedded server, started if need be."""
    if config.database_url:
        return config.database_url
    # Imported here: the embedded server needs a POSIX system, a database elsewhere does not.
    from tidings import embedded  # noqa: PLC0415

    return await embedded.ensure_running(data_dir(config), bin_dir=config.pg_bin)


def data_dir(config: Config) -> Path:
    """Where the embedded server keeps its files."""
    from tidings import embedded  # noqa: PLC0415

    return config.data_dir or embedded.default_data_dir()


async def open_database(config: Config) -> Database:
    """Connect to a database that may be used, whatever its tables."""
    db = await Database.open(await database_url(config), connections=config.connections)
    try:
        await require_safe(db, allow_unsafe=config.allow_unsafe_storage)
    except BaseException:
        await db.close()
        raise
    return db


async def open_engine(
    config: Config,
    app: App | None = None,
    *,
    clock: Clock | None = None,
    may_migrate: bool = True,
    for_worker: bool = False,
) -> Engine:
    """An engine on a current database; brings its tables up to date unless told only to look."""
    # A bad setting is told before anything is written.
    app = app or App()
    fallbacks = _fallbacks(app)
    directory = FunctionDirectory(_functions_base(config), _fallback_urls(fallbacks))
    providers, routes = _providers(config, app, directory.find)
    keys = read_keys(config.secret_key) if config.secret_key else []
    limits = _limits(config)
    limits.require_lease_for(providers.values())
    if for_worker:
        _require_limited_providers(config, providers)
    db = await open_database(config)
    try:
        if may_migrate:
            await migrate(db, shards=config.shards)
        else:
            await require_current(db)
        shards = await read_shard_count(db)
        await require_every_row(db)
        vault = Vault(keys or _own_keys(config))
    except BaseException:
        await db.close()
        raise
    directory.connect(db, vault)
    clock = clock or DatabaseClock(db)
    known = frozenset(fallbacks)
    return Engine(Kernel(db, clock, shards, providers, routes, Renderer(), limits, vault, known))


def _limits(config: Config) -> Limits:
    lease = timedelta(seconds=config.lease_seconds)
    return Limits(
        lease=lease,
        lease_margin=min(LONGEST_MARGIN, lease / 10),
        doubt_policy=config.doubt_policy,
        provider_concurrency=config.provider_concurrency,
        outage_patience={lane: timedelta(hours=hours) for lane, hours in config.outage_hours.items()},
    )


def _require_limited_providers(config: Config, providers: Mapping[str, Provider]) -> None:
    """Refuse a limit for a provider that a worker does not have: a slip of the pen would limit nothing.

    Only workers are asked: other commands may share their environment without having the application's providers.
    """
    for name in config.provider_concurrency:
        if name not in providers:
            raise ConfigInvalid(
                f"{variable('provider_concurrency')} limits {name!r}, which is no provider of this worker; "
                f"name some of {', '.join(providers)}"
            )


def _own_keys(config: Config) -> list[bytes]:
    """The embedded server's files have a key beside them; with a database elsewhere there is none unless given."""
    return [] if config.database_url else [key_kept_in(data_dir(config))]


def _providers(config: Config, app: App, directory: Directory) -> tuple[Mapping[str, Provider], Mapping[Channel, str]]:
    """The app's providers first, then what the settings name; what is left goes to the console."""
    own: dict[Channel, Provider] = {channel: ConsoleProvider(channel) for channel in Channel}
    if config.smtp_url:
        own[Channel.EMAIL] = _smtp(config.smtp_url, config)
    functions = _functions(config, app, directory)
    own[Channel.FUNCTION] = functions[0]
    providers = {provider.name: provider for provider in [*own.values(), *functions, *app.providers]}
    routes = {channel: provider.name for channel, provider in own.items()} | dict(app.routes)
    missing = sorted(set(routes.values()) - providers.keys())
    if missing:
        raise ConfigInvalid(
            f"a channel is routed to {missing[0]!r}, which is no provider; name one of {', '.join(providers)}"
        )
    # A node says itself whether its function may be called again, so both are always at hand.
    names = {*routes.values(), *(one.name for one in functions)}
    return {name: provider for name, provider in providers.items() if name in names}, routes


def _smtp(url: str, config: Config) -> Provider:
    from tidings.providers.smtp import SmtpProvider  # noqa: PLC0415 – only who sends mail pays for it

    return SmtpProvider.from_url(
        url, call_deadline=timedelta(seconds=config.call_seconds), allow_private=config.allow_private_addresses
    )


def _functions(config: Config, app: App, directory: Directory) -> list[Provider]:
    """`functions`, whose functions may be called again, and `functions_once`, whose may not."""
    return [
        FunctionProvider(
            name,
            provider_class=provider_class,
            directory=directory,
            callables={**app.functions, **_fallback_callables(_fallbacks(app))},
            allow_private=config.allow_private_addresses,
            # Functions are always there, used or not: a short lease must not have to know of them.
            call_deadline=timedelta(seconds=min(config.call_seconds, config.lease_seconds * SHARE_OF_A_LEASE)),
        )
        for name, provider_class in (("functions", IDEMPOTENT), ("functions_once", ONCE))
    ]


def _fallbacks(app: App) -> Mapping[RuleKey, FunctionCallable | str]:
    """The app's fallbacks by what they stand in for; a key that no event could have is refused."""
    found: dict[RuleKey, FunctionCallable | str] = {}
    for key, fallback in app.fallbacks.items():
        try:
            trigger, channel, audience = key
            found[RuleKey(check_trigger(trigger), Channel(channel), Audience(audience))] = fallback
        except (ValueError, TypeError) as error:
            raise ConfigInvalid(
                f"the fallback for {key!r}: {error}; write it like ('quote_sent', 'email', 'lead')"
            ) from error
    return found


def _fallback_callables(fallbacks: Mapping[RuleKey, FunctionCallable | str]) -> Mapping[str, FunctionCallable]:
    return {fallback_name(key): one for key, one in fallbacks.items() if not isinstance(one, str)}


def _fallback_urls(fallbacks: Mapping[RuleKey, FunctionCallable | str]) -> Mapping[str, Endpoint]:
    return {fallback_name(key): Endpoint(one) for key, one in fallbacks.items() if isinstance(one, str)}


def _functions_base(config: Config) -> Endpoint | None:
    if config.functions_url is None:
        return None
    try:
        return Endpoint(config.functions_url, config.functions_key)
    except InputInvalid as error:
        raise ConfigInvalid(f"TIDINGS_FUNCTIONS_URL and TIDINGS_FUNCTIONS_KEY: {error}") from error


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """Where a database is, and which migrations it has and lacks."""

    url: str
    applied: Sequence[str]
    pending: Sequence[str]


async def migrate_database(config: Config) -> Sequence[str]:
    """Bring the tables up to date; give what was applied."""
    async with _database(config) as db:
        return await migrate(db, shards=config.shards)


async def database_status(config: Config) -> DatabaseStatus:
    """Look at a database without changing it."""
    async with _database(config) as db:
        state = await schema_state(db)
        return DatabaseStatus(without_password(db.dsn), state.applied, [one.name for one in state.pending])


async def reset_database(config: Config) -> None:
    """Remove everything Tidings owns, and make the tables anew."""
    async with _database(config) as db:
        await reset(db)
        await migrate(db, shards=config.shards)


async def shown_database_url(config: Config) -> str:
    """The address without its password."""
    return without_password(await database_url(config))


async def stop_embedded(config: Config) -> bool:
    """Stop the embedded server; False when it was not running."""
    from tidings import embedded  # noqa: PLC0415

    return await embedded.stop(data_dir(config))


@asynccontextmanager
async def _database(config: Config) -> AsyncIterator[Database]:
    db = await open_database(config)
    try:
        yield db
    finally:
        await db.close()
