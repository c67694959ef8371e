"""The PostgreSQL that comes with the package: found, started, shared and stopped.

`server.py` starts and stops; it stands on `placement.py` (whose server it is and where its files are), `processes.py`
(which processes are really ours) and `users.py` (which use it). `keeper.py` stops it after the last of them,
`supervision.py` keeps it running. `temporary.py` is a server for a test. None of it speaks SQL.
"""

from tidings.embedded.binaries import require_binaries
from tidings.embedded.placement import default_data_dir
from tidings.embedded.server import Status, ensure_running, find_running, remove, status, stop
from tidings.embedded.temporary import TemporaryServer

__all__ = [
    "Status",
    "TemporaryServer",
    "default_data_dir",
    "ensure_running",
    "find_running",
    "remove",
    "require_binaries",
    "status",
    "stop",
]
