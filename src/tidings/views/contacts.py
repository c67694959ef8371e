"""Contacts: in full, as other answers name them, and the results of storing many at once."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from tidings.views.problems import ProblemPlace
from tidings.views.view import Id, Json, Time, View, doc


class ContactName(View, frozen=True, kw_only=True):
    """The names by which a contact is shown."""

    external_id: Annotated[str, doc(example="crm-1815")]
    name: Annotated[str | None, doc(example="Ada Lovelace")] = None
    email: Annotated[str | None, doc(example="ada@example.com")] = None

    def __str__(self) -> str:
        """Return the name or else the address, with the external id, by which every command knows the contact."""
        called = self.name or self.email
        return f"{called} ({self.external_id})" if called and called != self.external_id else self.external_id


class Contact(View, frozen=True, kw_only=True):
    """A person who can be written to."""

    id: Id
    external_id: Annotated[str, doc(example="crm-1815")]
    name: Annotated[str | None, doc(example="Ada Lovelace")] = None
    email: Annotated[str | None, doc(example="ada@example.com")] = None
    phone: Annotated[str | None, doc(example="+442071838750")] = None
    whatsapp: str | None = None
    push_tokens: list[str] = []
    company: Annotated[str | None, doc(example="Engines")] = None
    status: Annotated[str, doc(example="customer")] = "active"
    time_zone: Annotated[str | None, doc(example="Europe/London")] = None
    locale: Annotated[str | None, doc(example="en-GB")] = None
    tags: Annotated[list[str], doc(example=["vip"])] = []
    attributes: Annotated[Json, doc(example={"plan": "pro"})] = {}
    consent: Annotated[
        Json,
        doc(example={"email": {"status": "granted", "at": "2026-03-02T09:00:00Z", "source": "signup form"}}),
    ] = {}
    suppressions: Annotated[Json, doc(example={"sms": {"reason": "unsubscribed", "at": "2026-03-02T09:00:00Z"}})] = {}
    created_at: Time
    updated_at: Time


class ContactOutcome(StrEnum):
    """What storing a contact did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class UpsertedContact(View, frozen=True, kw_only=True):
    """What storing one of many contacts did: the contact now is as the request says."""

    id: Id
    external_id: str
    change: ContactOutcome


class RejectedLine(View, frozen=True, kw_only=True):
    """A line of a file that was not stored, and why."""

    line: int
    problems: list[ProblemPlace] = []


class Imported(View, frozen=True, kw_only=True):
    """The result of importing a file: `lines` = created + updated + unchanged + repeated + rejected."""

    lines: int
    created: int
    updated: int
    unchanged: int
    repeated: Annotated[int, doc("Lines about a contact who appears again further down; the later line holds.")] = 0
    rejected: int
    rejected_by_field: Annotated[
        Mapping[str, int], doc("Rejected lines by the field that was wrong; `line` when it was the line as a whole.")
    ] = {}
    rejected_lines: Annotated[list[RejectedLine], doc("The first 1,000 rejected lines.")] = []
    dry_run: Annotated[bool, doc("Whether nothing was stored, and the counts say what would be.")] = False

    def counts(self) -> Mapping[str, int]:
        """Return the counts alone."""
        return {name: getattr(self, name) for name in ("lines", *ContactOutcome, "repeated", "rejected")}


class ErasedAddress(View, frozen=True, kw_only=True):
    """What one call of an erasure by address found and erased, or with `dryRun` would erase."""

    hash: Annotated[str, doc("What the audit log has instead of the address.", example="9f86d081884c7d65")]
    dry_run: bool = False
    executions: Annotated[int, doc("Executions without a contact that mention it: stopped and emptied.")] = 0
    events: Annotated[int, doc("Events whose lead, partner or agent has it.")] = 0
    items: Annotated[int, doc("Messages to it; a dry run counts those of the executions and events above, too.")] = 0
    listed: Annotated[int, doc("Places on lists of runs that are not planned yet.")] = 0
    mentions: Annotated[int, doc("Records about other people, in which it is replaced.")] = 0
    open: Annotated[int, doc("Work under way that mentions it; erase again when it has ended.")] = 0
    progress: Annotated[float, doc("From 0 to 1.", example=0.25)] = 1.0
    next_cursor: Annotated[str | None, doc("Give it as `cursor` until it is null.")] = None
