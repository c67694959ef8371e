"""The command line: `tidings`.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

import sys

from tidings.domain.errors import TidingsError


def main() -> None:
    """Run a command; an error that a person can mend is one line and a non-zero exit status."""
    from tidings.cli.app import app

    try:
        app()
    except TidingsError as error:
        from tidings.cli.output import fail

        fail(error)
        sys.exit(1)
