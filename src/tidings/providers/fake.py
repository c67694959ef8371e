"""A provider that sends nothing: for tests, the demo, examples and benchmarks."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta

from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, RetryLater, Unavailable
from tidings.domain.flow.provider import Absent, Blind, CannotTell, Doubtful, Evidence, Found, MayStart, ProviderClass

Answer = Outcome | Callable[[Marked], Outcome | Awaitable[Outcome]]

_LEASE_SPENT = RetryLater(reason="the lease was spent before the call", uses_attempt=False)


class FakeProvider:
    """Answer as a test sets it up, and remember what was asked.

    A recipient's `script` is used up call by call; after it, and for everybody else, `answer` decides: one outcome
    for all, a function of the item, or, when None, Accepted under the item's key. While `hang` is set, a call that
    has started waits for that event before it answers. Change `script`, `answer`, `hang` and `evidence` at any time.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        provider_class: ProviderClass | None = None,
        concurrency: int = 100,
        call_deadline: timedelta = timedelta(seconds=10),
        answer: Answer | None = None,
        script: Mapping[str, Sequence[Outcome]] | None = None,
        record: bool = True,
    ) -> None:
        self.name = name
        self.provider_class: ProviderClass = provider_class or Blind()
        self.concurrency = concurrency
        self.call_deadline = call_deadline
        self.answer = answer
        self.script = {recipient: list(outcomes) for recipient, outcomes in (script or {}).items()}
        self.record = record
        self.hang: asyncio.Event | None = None
        self.evidence: dict[bytes, Evidence] = {}
        self.calls: list[Marked] = []
        self.closed = False
        self._outcomes: dict[bytes, Outcome | None] = {}

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Answer one call; only calls that were allowed to start are recorded."""
        if not may_start():
            return _LEASE_SPENT
        if not self.record:
            return await self._outcome_of(item)
        self.calls.append(item)
        self._outcomes[item.key] = None
        outcome = self._outcomes[item.key] = await self._outcome_of(item)
        return outcome

    async def look_up(self, item: Doubtful) -> Evidence:
        """Say what `evidence` says, or else what the recorded calls prove."""
        if item.key in self.evidence:
            return self.evidence[item.key]
        if not self.record:
            return CannotTell("calls were not recorded")
        return self._recorded_evidence(item.key)

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    async def _outcome_of(self, item: Marked) -> Outcome:
        if self.hang is not None:
            await self.hang.wait()
        if self.script and (outcomes := self.script.get(item.recipient)):
            return outcomes.pop(0)
        if self.answer is None:
            return Accepted(item.key.hex())
        if not callable(self.answer):
            return self.answer
        answer = self.answer(item)
        return await answer if inspect.isawaitable(answer) else answer

    def _recorded_evidence(self, key: bytes) -> Evidence:
        if key not in self._outcomes:
            return Absent()
        match self._outcomes[key]:
            case Accepted(message_id):
                return Found(message_id)
            case Rejected() | RetryLater() | Unavailable():
                return Absent()
            case _:
                return CannotTell("the recorded call has no certain outcome")
