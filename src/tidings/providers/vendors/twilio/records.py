"""Twilio's records of messages and calls: what resolves doubt.

Neither takes a key of ours, so a record is recognised by recipient, sender, time and text. Records are not filtered by
their date: a message has none until it is sent and a call none until it is dialled, while both wait in Twilio's queues.

Nothing but a match is evidence. Twilio promises no time after which a record is in the list, an account may delete or
redact its records, and Twilio may write a text otherwise than it got it (smart encoding, short links, the words before
messages of trial accounts): a person decides about what has no match after an hour.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.provider import CannotTell, Doubtful, Evidence, Found, Resolvable
from tidings.providers.http_request import HttpRequest
from tidings.providers.vendor_api import VendorAnswer, VendorCalls
from tidings.providers.vendors.twilio.account import TwilioAccount

RESOLVED_BY_MATCH = Resolvable(authoritative=False, settle=timedelta(minutes=1))
CLOCKS_DIFFER = timedelta(minutes=1)
_PAGE_SIZE = 200
"""A page of messages of 1,600 characters stays well below the largest answer that is read."""
_MOST_PAGES = 5

Record = Mapping[str, Any]


class Records:
    """The messages or the calls of an account."""

    def __init__(self, account: TwilioAccount, resource: str) -> None:
        self._account, self._resource = account, resource

    async def find(
        self, recipient: str, is_ours: Callable[[Record], bool], item: Doubtful, calls: VendorCalls, until: float
    ) -> Evidence:
        """Say whether a record is the one that an item in doubt would have made."""
        records = await self._since(recipient, item, calls, until)
        if isinstance(records, CannotTell):
            return records
        ours = [one for one in records if is_ours(one)]
        if len(ours) == 1:
            return Found(str(ours[0]["sid"]))
        return CannotTell(
            f"Twilio's records have {len(ours) or 'no'} {self._resource.lower()} that may be this one, "
            f"among {len(records)} to this recipient since then"
        )

    async def _since(
        self, recipient: str, item: Doubtful, calls: VendorCalls, until: float
    ) -> Sequence[Record] | CannotTell:
        """Read the records from here to a recipient that were made since an item was first marked."""
        since = item.first_marked_at - CLOCKS_DIFFER
        found: list[Record] = []
        request: HttpRequest | None = self._account.read(self._resource, {"To": recipient, "PageSize": str(_PAGE_SIZE)})
        for _ in range(_MOST_PAGES):
            if request is None:
                return found
            page = await self._page(request, item.workspace, calls, until)
            if isinstance(page, CannotTell):
                return page
            made, request = page
            young = [one for one in made if (at := made_at(one)) is None or at >= since]
            found += [one for one in young if str(one.get("direction", "")).startswith("outbound")]
            if made and not young:
                return found  # the newest come first
        return found if request is None else CannotTell("Twilio has more records for this recipient than are read")

    async def _page(
        self, request: HttpRequest, workspace: Workspace, calls: VendorCalls, until: float
    ) -> tuple[list[Record], HttpRequest | None] | CannotTell:
        answer = await calls.ask(request, workspace, until)
        if not isinstance(answer, VendorAnswer):
            return answer
        listed, onward = answer.fields.get(self._resource.lower()), answer.fields.get("next_page_uri")
        if not isinstance(listed, list) or not all(isinstance(one, dict) and one.get("sid") for one in listed):
            return CannotTell("Twilio's answer is no list of its records")
        is_path = isinstance(onward, str) and onward.startswith("/")
        return listed, self._account.read_on(str(onward)) if is_path else None


def made_at(record: Record) -> datetime | None:
    """Return when a record was made; None where it does not say."""
    try:
        at = parsedate_to_datetime(str(record.get("date_created")))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)  # -0000, which a date without a zone is read as
