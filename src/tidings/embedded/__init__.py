"""The PostgreSQL that comes with the package: found, started, shared and stopped.

`server.py` is the supervisor; it stands on `placement.py` (whose server it is and where its files are) and
`processes.py` (which processes are really ours). `temporary.py` is a server for a test. None of it speaks SQL.
"""

from tidings.embedded.placement import default_data_dir
from tidings.embedded.server import Status, ensure_running, remove, status, stop
from tidings.embedded.temporary import TemporaryServer

__all__ = ["Status", "TemporaryServer", "default_data_dir", "ensure_running", "remove", "status", "stop"]
