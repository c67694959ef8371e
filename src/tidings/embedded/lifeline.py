"""Tie a temporary server to the process that started it: when that ends, however it ends, the server and its files go.

A shell waits for the end of a pipe whose other end this process holds. It does nothing while both live, and finds
nothing to do when the server was stopped in good order.
"""

import os
import subprocess
from pathlib import Path

from tidings.embedded.placement import Site

# A pid is believed only if its command line names this data directory: the number may be another's by now, and a
# process that has ended and was not waited for has none. What is still being started writes for a moment longer, and
# then finds its files gone.
WATCH = """
is_ours() {
    case "$(tr '\\0' ' ' <"/proc/$pid/cmdline" || ps -ww -o command= -p "$pid")" in
    *"postgres -D $data "*) return 0 ;;
    esac
    return 1
}
read -r _
data=$1
pid=$(head -n 1 "$data/postmaster.pid")
if [ -n "$pid" ] && is_ours; then
    kill -QUIT "$pid"
    while is_ours; do sleep 0.1; done
fi
for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- "$2" "$3"
    [ -e "$2" ] || [ -e "$3" ] || break
    sleep 0.5
done
"""


class Lifeline:
    """Removes the server of a site and its directories as soon as this process is gone."""

    def __init__(self, site: Site, data_dir: Path) -> None:
        self._watcher = subprocess.Popen(  # noqa: S603
            ["sh", "-c", WATCH, "sh", str(site.data), str(site.home), str(data_dir)],  # noqa: S607
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,  # Ctrl-C is for us; the watcher waits for what comes of it
        )

    def let_go(self) -> None:
        """End the watch; called when everything is removed, or is to be."""
        self._watcher.communicate()
