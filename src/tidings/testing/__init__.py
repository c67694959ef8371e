"""For your own tests: an engine on a temporary database, a clock to advance, and providers that only record.

The kernel and the SQL are the real ones; only the time and the way out are not.
docs/how-to/test-your-application.md shows it with pytest.
"""

from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable, Unknown
from tidings.sink.arrivals import Answer, Arrival
from tidings.sink.running import RunningSink, running_sink
from tidings.testing.clock import VirtualClock
from tidings.testing.conformance import ConformanceCase, DocumentedAnswer, nonconformities
from tidings.testing.marked import marked_item
from tidings.testing.recorder import Message, Recorder
from tidings.testing.scratch import Scratch, scratch_engine
from tidings.testing.scripted_http import Break, HttpReply, scripted_server
from tidings.testing.server import scratch_server

__all__ = [
    "Accepted",
    "Answer",
    "Arrival",
    "Break",
    "ConformanceCase",
    "DocumentedAnswer",
    "HttpReply",
    "Message",
    "Outcome",
    "Recorder",
    "Rejected",
    "RetryLater",
    "RunningSink",
    "Scratch",
    "Unavailable",
    "Unknown",
    "VirtualClock",
    "marked_item",
    "nonconformities",
    "running_sink",
    "scratch_engine",
    "scratch_server",
    "scripted_server",
]
