"""The PostgreSQL that comes with the package: found, started, shared and stopped.

`server.py` starts and stops; it stands on `placement.py` (whose server it is and where its files are), `processes.py`
(which processes are really ours), `users.py` (which use it) and `roles.py` (who may log in). `keeper.py` stops it after
the last of them, `supervision.py` keeps it running. `temporary.py` is a server for a test. None of it has a driver.
"""

from tidings.embedded.binaries import require_binaries
from tidings.embedded.placement import default_data_dir
from tidings.embedded.roles import APP, OWNER, SUPERUSER, app_url, url_of
from tidings.embedded.server import Status, ensure_running, find_running, remove, status, stop
from tidings.embedded.temporary import TemporaryServer

__all__ = [
    "APP",
    "OWNER",
    "SUPERUSER",
    "Status",
    "TemporaryServer",
    "app_url",
    "default_data_dir",
    "ensure_running",
    "find_running",
    "remove",
    "require_binaries",
    "status",
    "stop",
    "url_of",
]
