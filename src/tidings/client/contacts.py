"""`client.contacts`: the people to write to."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.contacts import Contact, ErasedAddress, Imported, UpsertedContact
from tidings.views.outbox import ItemDetail as Item
from tidings.views.pages import Everything
from tidings.views.stories import StoryLine

PATH = "/v1/contacts"
PIECE = 262_144
Fields = Mapping[str, Any]
File = bytes | Path | AsyncIterable[bytes]


class Contacts:
    """Creates, changes, finds and imports contacts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, **fields: Any) -> Contact:
        """Create a contact, or change the one with this `external_id`, and return it; safe to repeat with that id."""
        request = ApiRequest("POST", PATH, fields, repeatable=fields.get("external_id") is not None)
        return await self._transport.ask(request, Contact)

    async def get(self, id: UUID | str) -> Contact:
        """Return one contact, by its id or its external id, as everywhere a contact is named."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, id)), Contact)

    async def find(self, external_id: str) -> Contact | None:
        """Return the contact with this external id, or None."""
        async for contact in pages(self._transport, PATH, {"externalId": external_id}, Contact):
            return contact
        return None

    def list(
        self,
        *,
        company: str | None = None,
        tag: str | None = None,
        status: str | None = None,
        text: str | None = None,
        where: str | Mapping[str, Any] | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[Contact]:
        """Yield contacts, newest first; each page is fetched as the iterator needs it.

        `where` is a filter as in an audience, as a mapping or as an expression: `plan = pro and has email`.
        """
        said = json.dumps(where) if isinstance(where, Mapping) else where
        query = {"company": company, "tag": tag, "status": status, "text": text, "where": said, "limit": page_size}
        return pages(self._transport, PATH, query, Contact, created_after, created_before)

    async def update(self, id: UUID | str, **fields: Any) -> Contact:
        """Change the given fields and return the contact; None clears a field."""
        return await self._transport.ask(ApiRequest("PATCH", path_to(PATH, id), fields), Contact)

    async def upsert(self, contacts: Sequence[Fields]) -> Sequence[UpsertedContact]:
        """Create or change up to 10,000 contacts by external id; a contact without one is new."""
        repeatable = all("externalId" in one or "external_id" in one for one in contacts)
        request = ApiRequest("POST", f"{PATH}/bulk", {"contacts": contacts}, repeatable=repeatable)
        return (await self._transport.ask(request, Everything[UpsertedContact])).items

    async def import_file(
        self,
        file: File,
        *,
        columns: Mapping[str, str] | None = None,
        ndjson: bool = False,
        dry_run: bool = False,
        timeout: float = 3600.0,
    ) -> Imported:
        """Store every valid line of a CSV or NDJSON file, and return what is wrong with the others.

        `columns` says which column is which field; a dry run stores nothing and says what it would. A file may be sent
        again as often as one likes: nobody is created twice. A file that is a stream is sent once.
        """
        request = ApiRequest(
            "POST",
            f"{PATH}/import",
            query={
                "map": [f"{column}={field}" for column, field in (columns or {}).items()],
                "dryRun": dry_run or None,
            },
            headers={"content-type": "application/x-ndjson" if ndjson else "text/csv"},
            content=lambda: _content(file),
            timeout=timeout,
            repeatable=isinstance(file, bytes | Path),
        )
        return await self._transport.ask(request, Imported)

    def items(
        self, id: UUID | str, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[Item]:
        """Yield everything meant for a contact, newest first: by campaigns, sequences, workflows and events."""
        return pages(
            self._transport, path_to(PATH, id, "items"), {"limit": page_size}, Item, created_after, created_before
        )

    def story(
        self, id: UUID | str, *, created_after: Time = None, created_before: Time = None, page_size: int = 50
    ) -> AsyncIterator[StoryLine]:
        """Yield what happened to a contact over all products, newest first; a deleted one is found by its id."""
        return pages(
            self._transport, path_to(PATH, id, "story"), {"limit": page_size}, StoryLine, created_after, created_before
        )

    def export(self, id: UUID | str) -> AsyncIterator[bytes]:
        """Yield everything about a contact as one JSON document in pieces; see ContactExport for its fields."""
        return self._transport.pieces(ApiRequest("GET", path_to(PATH, id, "export")))

    async def erase_address(self, address: str, *, dry_run: bool = False) -> AsyncIterator[ErasedAddress]:
        """Erase what is stored about an address that is no contact's; yield what each call found, until all is done."""
        cursor: str | None = None
        while True:
            body = {"address": address, "dryRun": dry_run, "cursor": cursor}
            done = await self._transport.ask(ApiRequest("POST", f"{PATH}/erase", body), ErasedAddress)
            yield done
            cursor = done.next_cursor
            if cursor is None:
                return

    async def delete(self, id: UUID | str) -> None:
        """Erase everything about a person; what was sent to them still counts."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, id), repeatable=False))


async def _content(file: File) -> AsyncIterator[bytes]:
    if isinstance(file, Path):
        with file.open("rb") as opened:
            while piece := opened.read(PIECE):
                yield piece
    elif isinstance(file, bytes):
        yield file
    else:
        async for piece in file:
            yield piece
