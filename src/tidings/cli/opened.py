"""What a command works with: its first parameter says whether it needs settings, an engine, a workspace, a person."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar
from uuid import UUID

from tidings.cli.options import Shared
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.flow.ids import Workspace

if TYPE_CHECKING:
    from tidings.engine import Engine

Found_co = TypeVar("Found_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Called:
    """A command that needs nothing."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("as_json",)
    shared: Shared

    @property
    def as_json(self) -> bool:
        """Whether it prints for scripts."""
        return self.shared.as_json


@dataclass(frozen=True, slots=True)
class Configured(Called):
    """A command that knows the settings and opens nothing."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("database_url", "data_dir", *Called.OPTIONS)
    config: Config


@dataclass(frozen=True, slots=True)
class Opened(Configured):
    """A command on an engine: it looks at the whole system."""

    engine: "Engine"


@dataclass(frozen=True, slots=True)
class Operating(Opened):
    """A command by which a person changes the whole system."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("actor", *Opened.OPTIONS)

    @property
    def by(self) -> Caller:
        """Return the person who changes it."""
        return Caller(Workspace(), self.shared.actor)


@dataclass(frozen=True, slots=True)
class InWorkspace(Opened):
    """A command that looks at one workspace."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("tenant", "workspace", *Opened.OPTIONS)

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return Workspace(self.shared.tenant, self.shared.workspace)

    async def find(self, of: "Named[Found_co]", named: UUID | str) -> Found_co:
        """Return what has this id or name."""
        return await (of.get(self.workspace, named) if isinstance(named, UUID) else of.find(self.workspace, named))


@dataclass(frozen=True, slots=True)
class Acting(InWorkspace):
    """A command by which a person changes something in one workspace."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("tenant", "workspace", "actor", *Opened.OPTIONS)

    @property
    def by(self) -> Caller:
        """Return the person who changes it, and the workspace."""
        return Caller(self.workspace, self.shared.actor)


class Named(Protocol[Found_co]):
    """A resource whose records are found by id or name."""

    async def get(self, workspace: Workspace, id: UUID, /) -> Found_co:
        """Return what has this id."""
        ...

    async def find(self, workspace: Workspace, name: str, /) -> Found_co:
        """Return what has this name."""
        ...


@asynccontextmanager
async def opened(config: Config, app: str | None = None) -> "AsyncIterator[Engine]":
    """Open an engine for one command, perhaps with a host application; the database must run and be migrated."""
    from tidings.wiring import load_app, open_engine, running_database_url

    engine = await open_engine(config, load_app(app) if app else None, may_migrate=False, find_url=running_database_url)
    try:
        yield engine
    finally:
        await engine.close()
