"""A server of the benchmark as a process of its own: it says its port first, and ends with its standard input."""

from asyncio.subprocess import Process
from collections.abc import Mapping
from typing import Self

from bench.workers import python


class PortServer:
    """A running `python -m module`."""

    process: Process
    port: int

    def __init__(self, module: str, environ: Mapping[str, str]) -> None:
        self._module, self._environ = module, environ

    async def __aenter__(self) -> Self:
        self.process = await python(["-m", self._module], self._environ, talks=True)
        if self.process.stdout is None:
            raise AssertionError("a process that talks has an output")
        self.port = int(await self.process.stdout.readline())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        await self.process.wait()
