"""Our peers on the work of our kernel: a log row under a unique key, a null send, the row marked, the job completed.

    make bench-peers                       the table
    python -m bench.peers bullmq dbos      some of them

Each peer is written the way its own documentation recommends for throughput (`catalogue.py` says what that is), is
pinned, and is installed into `bench/.peers` by `installing.py`. `measuring.py` gives all of them the same table on a
fresh database of the same server and reads the rate from it. A peer that cannot be installed is a row that says why.
"""

from bench.peers.measuring import PeerResult, measure_peers

__all__ = ["PeerResult", "measure_peers"]
