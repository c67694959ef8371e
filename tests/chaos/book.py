"""The list of what was intended, kept outside the database in an append-only file.

Every intended item has a recipient of its own, so the recipient is its name in the list, in the outbox and in the
ledger alike. An item is in the file before anybody who could send it hears of it.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

FLOODING = "flood"
SMALL = ("small0", "small1", "small2")
TENANTS = ("default", FLOODING, *SMALL)
"""Whose work there may be, each in its default workspace: one that floods, some beside it, and the rest of it all."""
KERNEL = "kernel"
"""The workload of whatever is not asked of a product."""
WORKLOADS = CAMPAIGN, ENROLLMENT, EVENT = ("campaign", "enrollment", "event")
"""Those of the products."""


@dataclass(slots=True)
class Intended:
    """Everything that should become an item: recipient → provider; and what was started for it."""

    items: dict[str, str] = field(default_factory=dict)
    workloads: dict[str, str] = field(default_factory=dict)  # recipient → what asked for it
    executions: dict[str, UUID] = field(default_factory=dict)  # idempotency key → id
    enrolled: set[str] = field(default_factory=set)  # contacts by external id, each once in one sequence
    walks: list[list[str]] = field(default_factory=list)  # recipients of one person's steps, in their order
    runs: dict[UUID, int] = field(default_factory=dict)  # id → people
    events: set[str] = field(default_factory=set)  # idempotency keys
    unsendable: set[str] = field(default_factory=set)  # those of the items that must fail without a call
    floods: dict[str, list[str]] = field(default_factory=dict)  # a flood's name → recipients, all of one tenant
    beside: dict[str, str] = field(default_factory=dict)  # recipient, of another tenant → the flood it came during
    resent: set[str] = field(default_factory=set)  # those that a person had sent again, knowing that they were not


def read_intended(path: Path) -> Intended:
    """The list, as the file has it."""
    intended = Intended()
    with path.open() as file:
        for line in map(json.loads, file):
            intended.items |= line.get("items", {})
            intended.workloads |= dict.fromkeys(line.get("items", {}), line.get("workload", KERNEL))
            intended.executions |= {key: UUID(id) for key, id in line.get("executions", {}).items()}
            intended.enrolled.update(line.get("enrolled", ()))
            intended.walks += line.get("walks", ())
            intended.events.update(line.get("events", ()))
            intended.unsendable |= line.get("unsendable", {}).keys()
            intended.runs |= {UUID(id): people for id, people in line.get("runs", {}).items()}
            intended.floods |= line.get("floods", {})
            intended.beside |= line.get("beside", {})
            intended.resent.update(line.get("resent", ()))
    return intended


class Book:
    """Writes the list, and makes the names that nobody else has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self.items = 0
        self.write({})

    def addresses(self, count: int, provider: str, mode: str = "to") -> list[str]:
        """New recipients; `mode` tells the ledger what to do with the first call for each."""
        return [f"{mode}.{number}.{provider}@chaos.test" for number in self._numbers(count)]

    def reachable(self, count: int, provider: str) -> list[str]:
        """New recipients as a contact can have them: who is reached by a keyed provider has a phone number."""
        if provider != "keyed":
            return self.addresses(count, provider)
        return [f"+999{number:09d}" for number in self._numbers(count)]

    def _numbers(self, count: int) -> range:
        first = self._number
        self._number += count
        return range(first, first + count)

    def intend(self, recipients: Iterable[str], provider: str, workload: str = KERNEL) -> None:
        """Before the engine hears of them: what is asked for and forgotten would otherwise be nobody's loss."""
        items = dict.fromkeys(recipients, provider)
        self.write({"items": items, "workload": workload})
        self.items += len(items)

    def write(self, line: Mapping[str, Mapping[str, object] | Sequence[object] | str]) -> None:
        """Write one line, and have it on disk."""
        with self._path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
