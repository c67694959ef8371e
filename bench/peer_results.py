"""Our peers on the same work in the same run, where bench/peers is there to measure them."""

import importlib
import importlib.util
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Any

from bench.bench import Bench
from bench.report import Result
from bench.settings import PROCESSES


async def measure_every_peer(bench: Bench) -> AsyncIterator[Result]:
    """One row for each peer and number of processes; a peer that could not be measured says why."""
    if importlib.util.find_spec("bench.peers") is None:
        yield Result("peers", "peers", note="bench/peers is not here")
        return
    module = importlib.import_module("bench.peers")
    for processes in PROCESSES:
        measured: Sequence[Any] = await module.measure_peers(
            bench.dsn, [processes], lambda doing: bench.step(f"peers: {doing}", None)
        )
        for peer in measured:
            yield _result(peer)


def _result(peer: Any) -> Result:
    why = peer.error or peer.skipped
    return Result(
        "peers",
        f"{peer.name} {peer.version}",
        processes=peer.processes,
        items=peer.items or None,
        seconds=peer.seconds or None,
        note=f"not measured: {why}" if why else peer.note,
        seen=asdict(peer),
    )
