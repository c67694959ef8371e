"""The command, as tests/cli runs it."""

from tests.cli.conftest import bare, tidings, warm

__all__ = ["bare", "tidings", "warm"]
