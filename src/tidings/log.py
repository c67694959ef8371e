"""Log lines, written by structlog. It is imported with the first of them: most commands write none."""

import sys
from collections.abc import Callable
from typing import Any


class Log:
    """What happened, in a word, and about what."""

    def __init__(self) -> None:
        self._set_up: Callable[[], None] | None = None

    def set_up_with(self, set_up: Callable[[], None]) -> None:
        """Have structlog set up like this before anybody writes a line with it."""
        self._set_up = set_up
        if "structlog" in sys.modules:
            self.be_ready()

    def be_ready(self) -> None:
        """Set structlog up now: whoever is started next may write lines of its own with it."""
        if self._set_up:
            set_up, self._set_up = self._set_up, None
            set_up()

    def info(self, event: str, **about: object) -> None:
        """Write a line about what is as it should be."""
        self._logger().info(event, **about)

    def warning(self, event: str, **about: object) -> None:
        """Write a line about what is amiss, and which Tidings deals with."""
        self._logger().warning(event, **about)

    def error(self, event: str, **about: object) -> None:
        """Write a line about what somebody must see to."""
        self._logger().error(event, **about)

    def exception(self, event: str, **about: object) -> None:
        """Write a line about the exception that is being handled, with its traceback."""
        self._logger().exception(event, **about)

    def _logger(self) -> Any:
        self.be_ready()
        import structlog  # noqa: PLC0415

        return structlog.get_logger()


log = Log()
