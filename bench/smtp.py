"""A campaign to contacts over real SMTP, to a sink on the same machine, beside bare SMTP to the same sink.

The workers send as `tidings worker` does with TIDINGS_SMTP_URL, with the provider's own number of connections. The sink
is a process of its own and shares the machine's cores with the workers and PostgreSQL; what it took is said.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import replace

from bench.bare_smtp import CONNECTIONS, MESSAGES, PORT
from bench.bench import Bench
from bench.database import Fresh
from bench.proc import cpu_seconds
from bench.programs import Programs
from bench.report import Result
from bench.settings import PROCESSES
from bench.sink import Sink
from bench.throughput import CONTACTS, measure_kernel
from bench.workers import Workers
from tidings.domain.flow.queue import Lane
from tidings.kernel.calls.slots import Slots
from tidings.providers.smtp import SmtpProvider


async def measure_smtp(bench: Bench) -> AsyncIterator[Result]:
    """Bare SMTP, then the campaign, with each number of processes."""
    async with Sink() as sink:
        for processes in PROCESSES:
            bare = await _measure_bare(bench, sink, processes)
            yield bare
            sent = await _measure_campaign(bench, sink, processes)
            yield replace(sent, of_ceiling=(sent.rate or 0) / (bare.rate or 1))


async def _measure_bare(bench: Bench, sink: Sink, processes: int) -> Result:
    each = bench.settings.items // processes
    connections = connections_of(sink)
    bench.step(f"bare SMTP, {processes} process(es)", None)
    environ = {PORT: str(sink.port), CONNECTIONS: str(connections), MESSAGES: str(each)}
    async with Programs(["bench.bare_smtp"], environ, processes) as programs:
        used, sunk, began = cpu_seconds(programs.pids), sink.cpu_seconds(), time.monotonic()
        await programs.work()
        seconds = time.monotonic() - began
        used, sunk = cpu_seconds(programs.pids) - used, sink.cpu_seconds() - sunk
    items = each * processes
    await _insist(sink, items)
    result = Result("smtp", "bare SMTP", processes, items, seconds, 1.0, python_us=used / items * 1e6)
    return _with_sink(result, sunk, f"{connections} connections each")


async def _measure_campaign(bench: Bench, sink: Sink, processes: int) -> Result:
    async with Fresh(bench.dsn, smtp_url=sink.url) as fresh, Workers(fresh, processes) as workers:
        await sink.take()  # what it took to warm up
        sunk = sink.cpu_seconds()
        result = await measure_kernel(bench, fresh, workers, CONTACTS, bench.settings.items)
        sunk = sink.cpu_seconds() - sunk
    await _insist(sink, result.items or 0)
    null = bench.known_rate(CONTACTS.name, processes)
    beside = [f"{(result.rate or 0) / null:.0%} of the rate without SMTP"] if null else []
    return _with_sink(replace(result, measurement="smtp", what="a campaign to contacts over SMTP"), sunk, *beside)


def connections_of(sink: Sink) -> int:
    """How many connections a worker uses for campaigns: the provider's own number, less the share kept for others."""
    return Slots(SmtpProvider.from_url(sink.url).concurrency).limit(Lane.CAMPAIGNS)


async def _insist(sink: Sink, items: int) -> None:
    counts = await sink.take()
    if counts != {"messages": items, "recipients": items}:
        raise AssertionError(f"{items} people should have had one message each, and the sink counted {counts}")


def _with_sink(result: Result, sink_seconds: float, *notes: str) -> Result:
    items, seconds = result.items or 1, result.seconds or 1
    each = {"sink_us": sink_seconds / items * 1e6, "sink_of_a_core": sink_seconds / seconds}
    sink = f"the sink took {each['sink_of_a_core']:.0%} of a core, {each['sink_us']:.0f} µs a message"
    return replace(result, note="\n".join((*notes, sink)), seen=each)
