"""The only file that knows every layer: it turns a Config into an Engine."""

import importlib
import os
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tidings.config import Config, LogFormat, RowSecurity, load_config, read_config, variable
from tidings.domain.channels import MESSAGE_CHANNELS, Channel
from tidings.domain.connections.kind import ProviderKind
from tidings.domain.connections.vendors import Vendors
from tidings.domain.errors import ConfigInvalid, EmbeddedServerFailed, InputInvalid
from tidings.domain.flow.provider import Provider, ProviderClass
from tidings.domain.flow.readiness import PRINTING, is_printing
from tidings.domain.people.address import use_region
from tidings.domain.private_addresses import EVERY_PRIVATE_ADDRESS, NO_PRIVATE_ADDRESSES
from tidings.domain.rules.key import RuleKey, check_trigger, fallback_name
from tidings.domain.workflows.function import Directory, Endpoint, FunctionCallable
from tidings.domain.workflows.signing import secret_bytes
from tidings.domain.workspace_patterns import workspace_patterns
from tidings.engine import Engine
from tidings.extras import require_extra
from tidings.kernel.kernel import Kernel, Limits
from tidings.kernel.readiness import declare_routes
from tidings.kernel.render.renderer import Renderer
from tidings.log import log
from tidings.providers.catalogue import Catalogue
from tidings.providers.console import ConsoleProvider
from tidings.providers.functions import IDEMPOTENT, ONCE, FunctionProvider
from tidings.storage.address import without_password
from tidings.storage.clock import Clock, DatabaseClock
from tidings.storage.database import Database
from tidings.storage.directory import FunctionDirectory, OperatorsFunctions
from tidings.storage.migrate import (
    migrate,
    read_shard_count,
    require_current,
    require_rights,
    require_safe,
    rights_of,
    schema_state,
)
from tidings.storage.sealed import require_opened
from tidings.storage.vault import KEY_FILE, Vault, keys_kept_in, read_keys
from tidings.views.rules import RuleAudience

FindUrl = Callable[[Config], Awaitable[str]]
"""How the database's address is found, and whether the embedded server may be started for it."""
PRINTED = MESSAGE_CHANNELS
LONGEST_MARGIN = timedelta(seconds=1)
SHARE_OF_A_LEASE = 0.8


@dataclass(frozen=True, slots=True)
class App:
    """What a host application brings along: providers, the channels they serve, functions and fallbacks.

    `kinds` are providers that workspaces may connect to, beside those that come with the package.

    A function is called by its name as `await function(action, payload)`; one that is not async runs in a thread. A
    fallback is one, or the URL of one, under (trigger, channel, audience): it is called once for each event that has
    no rule for them, or whose enqueueing is known to have failed.
    """

    providers: Sequence[Provider] = ()
    routes: Mapping[Channel, str] = field(default_factory=dict)
    functions: Mapping[str, FunctionCallable] = field(default_factory=dict)
    kinds: Sequence[ProviderKind] = ()
    fallbacks: Mapping[tuple[str, str, str], FunctionCallable | str] = field(default_factory=dict)


def load_app(reference: str) -> App:
    """Import `module:name`, an App or a function that makes one."""
    module_name, _, name = reference.partition(":")
    log.be_ready()
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
    """The database to use: the configured one, or else the embedded server, started if need be; it stays."""
    if config.database_url:
        return config.database_url
    # Imported here: the embedded server needs a POSIX system, a database elsewhere does not.
    from tidings import embedded  # noqa: PLC0415

    embedded.require_binaries(config.pg_bin)
    return await embedded.ensure_running(data_dir(config), bin_dir=config.pg_bin)


async def running_database_url(config: Config) -> str:
    """The database to use for what concerns a running system: the embedded server is found, and never started."""
    if config.database_url:
        return config.database_url
    from tidings import embedded  # noqa: PLC0415

    return await embedded.find_running(data_dir(config))


@asynccontextmanager
async def in_foreground(config: Config, *, supervise: bool = False) -> AsyncIterator[FindUrl]:
    """Find the database for a command that runs until it is stopped.

    An embedded server that it starts ends with its last user; `supervise` starts it again whenever it is gone.
    """
    if config.database_url:
        yield database_url
        return
    from tidings.embedded import require_binaries  # noqa: PLC0415
    from tidings.embedded.supervision import held, supervised  # noqa: PLC0415

    require_binaries(config.pg_bin)
    async with (supervised if supervise else held)(data_dir(config), config.pg_bin) as server:
        yield lambda _: server.start_and_keep() if supervise else server.start()


def data_dir(config: Config) -> Path:
    """Where the embedded server keeps its files."""
    from tidings import embedded  # noqa: PLC0415

    return config.data_dir or embedded.default_data_dir()


def line_to_export(config: Config, directory: Path) -> str | None:
    """What a shell in the same directory must export to find this database; None if it would anyway."""
    bare = load_config({}, {}, directory)
    if config.database_url:
        if bare.database_url == config.database_url:
            return None
        shown = without_password(config.database_url)
        return f"export DATABASE_URL={shlex.quote(shown)}" + (
            "" if shown == config.database_url else "  # with its password"
        )
    place = data_dir(config).resolve()
    with suppress(EmbeddedServerFailed):  # there is no default
        if data_dir(bare).resolve() == place:
            return None
    return f"export TIDINGS_DATA_DIR={shlex.quote(str(place))}"


async def open_database(config: Config, find_url: FindUrl = database_url, *, as_owner: bool = False) -> Database:
    """Connect to a database that may be used, whatever its tables: as who works with its rows, or as their owner."""
    found = await find_url(config)
    url = owner_url(config, found) if as_owner else app_url(config, found)
    db = await Database.open(url, connections=config.connections)
    try:
        await require_safe(db, allow_unsafe=config.allow_unsafe_storage)
    except BaseException:
        await db.close()
        raise
    return db


async def open_engine(
    config: Config | None = None,
    app: App | None = None,
    *,
    clock: Clock | None = None,
    may_migrate: bool = True,
    for_worker: bool = False,
    is_service: bool = False,
    find_url: FindUrl = database_url,
) -> Engine:
    """Open an engine on a current database; bring its tables up to date unless told only to look.

    Without a Config the settings are those of the environment and tidings.toml, as every command reads them. A Config
    made by hand holds only what it is given. Unless it only looks, it also writes down which channels its settings and
    its app have a provider for.
    """
    config = _with_region(config or read_config())
    # A bad setting is told before anything is written.
    app = app or App()
    fallbacks = _fallbacks(app)
    directory = FunctionDirectory(_operators_functions(config, _fallback_urls(fallbacks)))
    providers, routes = _providers(config, app, directory)
    keys = read_keys(config.secret_key) if config.secret_key else []
    limits = _limits(config, providers, for_worker=for_worker)
    db = await open_database(config, find_url)
    try:
        shards = await _prepare(db, config, find_url, may_migrate=may_migrate)
        vault = Vault(keys) if keys else _own_vault(config)
        if may_migrate:  # a command that only looks opens no secret
            await _require_key(config, db, vault, for_worker=for_worker)
    except BaseException:
        await db.close()
        raise
    clock = clock or DatabaseClock(db)
    directory.connect(db, vault, clock)
    vendors, known = _vendors(config, app, directory), frozenset(fallbacks)
    engine = Engine(Kernel(db, clock, shards, providers, routes, Renderer(), limits, vault, known, vendors))
    if may_migrate:  # a command that only looks changes nothing, whatever it was started with
        await _declare(engine, config, is_service=is_service)
    return engine


def _with_region(config: Config) -> Config:
    """Return the settings, and have numbers without a country's code read as those of the country in the settings."""
    if config.phone_region is not None:
        require_extra("phone")
    use_region(config.phone_region)
    return config


async def _prepare(db: Database, config: Config, find_url: FindUrl, *, may_migrate: bool) -> int:
    """Bring the tables up to date, or only require that they are; return the number of shards."""
    forced = config.row_security is RowSecurity.FORCE
    if may_migrate and not await _has_all(db, config, forced=forced):
        async with opened_database(config, find_url, as_owner=True) as owned:
            await migrate(owned, shards=config.shards, forced=forced)
        await db.renew()  # connections learn about row security when they are made
    await require_current(db)
    shards = await read_shard_count(db)
    await require_rights(db, forced=forced)
    return shards


async def _has_all(db: Database, config: Config, *, forced: bool) -> bool:
    """Whether there is nothing to migrate that could be: without an owner's address a plain role changes nothing."""
    if (await schema_state(db)).pending:
        return False
    rights = await rights_of(db)
    can_change = rights is not None and (rights.is_owner or config.owner_database_url or not config.database_url)
    return not can_change or (rights is not None and rights.are_complete(forced=forced))


def app_url(config: Config, found: str) -> str:
    """The address for working with rows: the embedded server has a role for that, which owns nothing."""
    if config.database_url:
        return found
    from tidings import embedded  # noqa: PLC0415

    return embedded.app_url(data_dir(config), found)


def owner_url(config: Config, found: str) -> str:
    """The address for changing tables: their owner's."""
    return config.owner_database_url or found if config.database_url else found


async def _declare(engine: Engine, config: Config, *, is_service: bool) -> None:
    from tidings.kernel.start.ruling import declare_fallbacks  # noqa: PLC0415 – who only looks declares nothing

    kernel = engine.kernel
    new = await declare_routes(kernel)
    if config.connect:
        await _declare_connections(engine, config)
    known = await declare_fallbacks(kernel)
    if new and is_service:  # on record for the operators
        log.info("routes_set", **{str(channel): provider for channel, provider in new.items()})
    if known and is_service:
        log.info("fallbacks_set", fallbacks=sorted(map(str, known)))


async def _declare_connections(engine: Engine, config: Config) -> None:
    from tidings.resources.declared_connections import declare_connections  # noqa: PLC0415 – few settings have any

    try:
        await declare_connections(engine.connections, config.connect, os.environ)
    except BaseException:
        await engine.close()
        raise


def _limits(config: Config, providers: Mapping[str, Provider], *, for_worker: bool) -> Limits:
    """The limits, if calls may not outlast their lease and what is limited is there."""
    if for_worker:
        _require_limited_providers(config, providers)
    lease = timedelta(seconds=config.lease_seconds)
    limits = Limits(
        lease=lease,
        lease_margin=min(LONGEST_MARGIN, lease / 10),
        doubt_policy=config.doubt_policy,
        provider_concurrency=config.provider_concurrency,
        outage_patience={lane: timedelta(hours=hours) for lane, hours in config.outage_hours.items()},
    )
    limits.require_lease_for(providers.values())
    return limits


def _require_limited_providers(config: Config, providers: Mapping[str, Provider]) -> None:
    """Refuse a limit for a provider that a worker does not have: a misspelt name would limit nothing.

    Only workers are asked: other commands may share their environment without having the application's providers.
    """
    for name in config.provider_concurrency:
        if name not in providers:
            raise ConfigInvalid(
                f"{variable('provider_concurrency')} limits {name!r}, which is no provider of this worker; "
                f"name some of {', '.join(providers)}"
            )


def _own_vault(config: Config) -> Vault:
    """The embedded server's files have keys beside them; with a database elsewhere there are none unless given."""
    if config.database_url:
        return Vault()
    directory = data_dir(config)
    return Vault(keys_kept_in(directory), lambda: keys_kept_in(directory))


async def _require_key(config: Config, db: Database, vault: Vault, *, for_worker: bool) -> None:
    """Refuse a key that does not open the stored secrets, and a worker without one that needs it.

    Another process may have no key, but not a wrong one: what it seals with that, no worker opens.
    """
    if vault.has_key or for_worker:
        is_set = config.secret_key or config.database_url
        source = variable("secret_key") if is_set else f"the key in {data_dir(config) / KEY_FILE}"
        await require_opened(db, vault, source)


def _providers(
    config: Config, app: App, directory: FunctionDirectory
) -> tuple[Mapping[str, Provider], Mapping[Channel, str]]:
    """What this process can call, and which of it serves which channel: the app's first, then what the settings name.

    Functions are always available, and need no route. A node says itself whether its function may be called again.
    """
    own: dict[Channel, Provider] = {}
    if config.print:
        on_terminal = sys.stdout.isatty() and config.log_format is LogFormat.CONSOLE
        own = {channel: ConsoleProvider(channel, on_terminal=on_terminal) for channel in PRINTED}
    if config.smtp_url:
        own[Channel.EMAIL] = _smtp(config.smtp_url, config, directory)
    _require_honest_names(app)
    every = [*own.values(), *_functions(config, app, directory.find), *app.providers]
    providers = {provider.name: provider for provider in every}
    routes = {channel: provider.name for channel, provider in own.items()} | dict(app.routes)
    missing = sorted(set(routes.values()) - providers.keys())
    if missing:
        raise ConfigInvalid(
            f"a channel is routed to {missing[0]!r}, which is no provider; name one of {', '.join(providers)}"
        )
    return providers, routes


def _vendors(config: Config, app: App, directory: FunctionDirectory) -> Vendors:
    """What workspaces can connect to: the app's own kinds before those that come with the package."""
    return Vendors(
        kinds=Catalogue(app.kinds),
        # Like functions they are always there, used or not: a short lease must not have to know of them.
        call_deadline=timedelta(seconds=min(config.call_seconds, config.lease_seconds * SHARE_OF_A_LEASE)),
        private_addresses=directory.private_addresses,
    )


def _require_honest_names(app: App) -> None:
    """Refuse a real provider with a printing provider's name: its messages would be shown as printed, not as sent."""
    for provider in app.providers:
        if is_printing(provider.name) and not isinstance(provider, ConsoleProvider):
            raise ConfigInvalid(
                f"a provider is named {provider.name!r}: names that begin with {PRINTING!r} are for those that only "
                "print; choose another"
            )


def _smtp(url: str, config: Config, directory: FunctionDirectory) -> Provider:
    from tidings.providers.smtp import SmtpProvider  # noqa: PLC0415 – only processes that send mail pay for it

    return SmtpProvider.from_url(
        url, call_deadline=timedelta(seconds=config.call_seconds), private_addresses=directory.private_addresses
    )


def _functions(config: Config, app: App, directory: Directory) -> list[Provider]:
    """`functions`, whose functions may be called again, `functions_once`, whose may not, and one for each fallback.

    A fallback's own name tells workers apart that have it, and leaves its calls to them.
    """
    fallbacks = _fallbacks(app)
    classes: dict[str, ProviderClass] = {"functions": IDEMPOTENT, "functions_once": ONCE}
    classes |= {fallback_name(key): ONCE for key in fallbacks}
    return [
        FunctionProvider(
            name,
            provider_class=provider_class,
            directory=directory,
            callables={**app.functions, **_fallback_callables(fallbacks)},
            # Functions are always there, used or not: a short lease must not have to know of them.
            call_deadline=timedelta(seconds=min(config.call_seconds, config.lease_seconds * SHARE_OF_A_LEASE)),
        )
        for name, provider_class in classes.items()
    ]


def _fallbacks(app: App) -> Mapping[RuleKey, FunctionCallable | str]:
    """The app's fallbacks by what they stand in for; a key that no event could have is refused."""
    found: dict[RuleKey, FunctionCallable | str] = {}
    for key, fallback in app.fallbacks.items():
        try:
            trigger, channel, audience = key
            found[RuleKey(check_trigger(trigger), Channel(channel), RuleAudience(audience))] = fallback
        except (ValueError, TypeError) as error:
            raise ConfigInvalid(
                f"the fallback for {key!r}: {error}; write it like ('quote_sent', 'email', 'lead')"
            ) from error
    return found


def _fallback_callables(fallbacks: Mapping[RuleKey, FunctionCallable | str]) -> Mapping[str, FunctionCallable]:
    return {fallback_name(key): one for key, one in fallbacks.items() if not isinstance(one, str)}


def _fallback_urls(fallbacks: Mapping[RuleKey, FunctionCallable | str]) -> Mapping[str, Endpoint]:
    return {fallback_name(key): Endpoint(one) for key, one in fallbacks.items() if isinstance(one, str)}


def _operators_functions(config: Config, own: Mapping[str, Endpoint]) -> OperatorsFunctions:
    signing = config.functions_signing_secret
    try:
        if signing is not None:
            secret_bytes(signing)
        base = None if config.functions_url is None else Endpoint(config.functions_url, config.functions_key)
    except InputInvalid as error:
        raise ConfigInvalid(f"TIDINGS_FUNCTIONS_URL, _KEY and _SIGNING_SECRET: {error}") from error
    private = EVERY_PRIVATE_ADDRESS if config.allow_private_addresses else NO_PRIVATE_ADDRESSES
    return OperatorsFunctions(base, workspace_patterns(config.functions_for), own, signing, private)


@asynccontextmanager
async def opened_database(
    config: Config, find_url: FindUrl = database_url, *, as_owner: bool = False
) -> AsyncIterator[Database]:
    """Connect for as long as the block."""
    db = await open_database(config, find_url, as_owner=as_owner)
    try:
        yield db
    finally:
        await db.close()
