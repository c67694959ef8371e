"""Get the browser that the tests of the page need: `make test-web`.

It is installed where that takes no question: as root, with apt. Elsewhere the tests say that they are skipped, and why.
"""

import os
import shutil
import subprocess
import sys

from tests.web.chromium import find_chromium

COMMANDS = (("apt-get", "update"), ("apt-get", "install", "--yes", "--no-install-recommends", "chromium"))


def main() -> int:
    """Install Chromium unless there is one; say what it could not do, and leave the rest to the tests."""
    if find_chromium():
        return 0
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print("UNTRIED: there is no Chromium; install it, or name one in TIDINGS_CHROMIUM", file=sys.stderr)
        return 0
    print("Installing Chromium …")
    for command in COMMANDS:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"UNTRIED: {' '.join(command)} failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
