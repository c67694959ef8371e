"""The command line: `tidings`.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

import atexit
import gc
import os
import sys
from collections.abc import Callable

from tidings.domain.errors import TidingsError


def main() -> None:
    """Run a command; an error that a person can correct is one line and a non-zero exit status."""
    atexit.register(gc.freeze)  # nobody waits for a last look at all that was imported: a tenth of a short command
    # Help and usage errors are typer's, which takes GitHub's runners for terminals wherever the output goes.
    if not any(os.environ.get(name) for name in ("FORCE_COLOR", "PY_COLORS")) and not sys.stdout.isatty():
        os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
    from tidings.cli.arguments import hide_passwords

    hide_passwords(sys.argv[1:])
    from tidings.cli.app import app

    try:
        _run(app)
    except TidingsError as error:
        import typer.main

        from tidings.cli.flags import running_command, with_flags
        from tidings.cli.output import fail

        arguments = sys.argv[1:]
        fail(with_flags(error, running_command(typer.main.get_command(app), arguments), arguments))
        sys.exit(1)


def _run(app: Callable[[], object]) -> None:
    try:
        app()
    except ModuleNotFoundError as error:
        from tidings.extras import missing_extra

        if lacking := missing_extra(error):
            raise lacking from error
        raise
