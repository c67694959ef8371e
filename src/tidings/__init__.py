"""Tidings: a durable engine for messages to people, on PostgreSQL.

from tidings import open_engine

engine = await open_engine()  # DATABASE_URL, TIDINGS_… and tidings.toml; else the embedded PostgreSQL
await engine.define("welcome", {...})
await engine.trigger("welcome", {"email": "ada@example.com"}, idempotency_key="signup-1")
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tidings.version import __version__

if TYPE_CHECKING:
    from tidings.config import Config as Config
    from tidings.domain.channels import Channel as Channel
    from tidings.domain.workflows.function import FunctionRejected as FunctionRejected
    from tidings.domain.workflows.function import FunctionRetryLater as FunctionRetryLater
    from tidings.engine import Deployment as Deployment
    from tidings.engine import Engine as Engine
    from tidings.engine import Recipient as Recipient
    from tidings.engine import Resolution as Resolution
    from tidings.engine import Trigger as Trigger
    from tidings.engine import Workspace as Workspace
    from tidings.wiring import App as App
    from tidings.wiring import open_engine as open_engine

_HOMES = {
    "App": "tidings.wiring",
    "Channel": "tidings.domain.channels",
    "Config": "tidings.config",
    "Deployment": "tidings.engine",
    "Engine": "tidings.engine",
    "FunctionRejected": "tidings.domain.workflows.function",
    "FunctionRetryLater": "tidings.domain.workflows.function",
    "Recipient": "tidings.engine",
    "Resolution": "tidings.engine",
    "Trigger": "tidings.engine",
    "Workspace": "tidings.engine",
    "open_engine": "tidings.wiring",
}
__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604 – they are all names


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `tidings --help` does not wait for the engine."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidings' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
