"""What a command costs: CPU time, user and system, of `tidings …` from its start to its end, as a process of its own.

    TIDINGS_DATA_DIR=… tidings up --print            # in another terminal
    TIDINGS_DATA_DIR=… python -m bench.commands [--beside ../before/src]

With `--beside`, the same commands of another tree take turns with ours, so that both have the same minutes. It prints
the least and the middle of the rounds. Compiled files are kept, as in an installation.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

OURS = Path(__file__).parents[1] / "src"
MEASURED = {
    "python alone": ["-c", "pass"],
    "import tidings.wiring": ["-c", "import tidings.wiring"],
    "tidings --version": ["-m", "tidings", "--version"],
    "tidings --help": ["-m", "tidings", "--help"],
    "tidings workflows list": ["-m", "tidings", "workflows", "list"],
    "tidings workflows list --json": ["-m", "tidings", "workflows", "list", "--json"],
    "tidings contacts list --json": ["-m", "tidings", "contacts", "list", "--json"],
}


def cpu_milliseconds(source: Path, arguments: Sequence[str]) -> float:
    """What one process costs."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = [sys.executable, *arguments]
    subprocess.run(program, env=kept | {"PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--beside", type=Path, action="append", default=[], help="The src of another tree.")
    asked = parser.parse_args()
    sources = [*asked.beside, OURS]
    for name, arguments in MEASURED.items():
        for source in sources:
            cpu_milliseconds(source, arguments)  # compiles what was never imported
        rounds = [[cpu_milliseconds(source, arguments) for source in sources] for _ in range(asked.rounds)]
        shown = [f"{min(seen):.0f} ms (middle {statistics.median(seen):.0f})" for seen in zip(*rounds, strict=True)]
        print(f"{name:32} {' -> '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
