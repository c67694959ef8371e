"""`client.templates`: what is written once, and rendered in many messages or wraps them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from tidings.client.pages import Time, pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.pages import Everything
from tidings.views.templates import NamedTemplate, TemplatePreview, TemplateVersion

PATH = "/v1/templates"


class TemplatesClient:
    """Writes, versions and tries out templates; each is named by its id or its name."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, name: str, text: str, **fields: Any) -> NamedTemplate:
        """Create a template with its first version and return it."""
        body = {"name": name, "text": text, **fields}
        return await self._transport.ask(ApiRequest("POST", PATH, body, repeatable=False), NamedTemplate)

    async def get(self, template: UUID | str) -> NamedTemplate:
        """Return one template with its newest version, and what uses it."""
        return await self._transport.ask(ApiRequest("GET", path_to(PATH, template)), NamedTemplate)

    def list(
        self,
        *,
        kind: str | None = None,
        created_after: Time = None,
        created_before: Time = None,
        page_size: int = 50,
    ) -> AsyncIterator[NamedTemplate]:
        """Yield templates, newest first."""
        query = {"kind": kind, "limit": page_size}
        return pages(self._transport, PATH, query, NamedTemplate, created_after, created_before)

    async def update(self, template: UUID | str, text: str, **fields: Any) -> NamedTemplate:
        """Have a template say something else and return it; what is published keeps the version it has."""
        return await self._transport.ask(
            ApiRequest("PUT", path_to(PATH, template), {"text": text, **fields}), NamedTemplate
        )

    async def delete(self, template: UUID | str) -> None:
        """Remove a template that nothing uses."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, template), repeatable=False))

    async def versions(self, template: UUID | str) -> Sequence[TemplateVersion]:
        """Return every version of a template, newest first."""
        request = ApiRequest("GET", path_to(PATH, template, "versions"))
        return (await self._transport.ask(request, Everything[TemplateVersion])).items

    async def preview(
        self,
        template: UUID | str,
        data: Mapping[str, Any] | None = None,
        *,
        version: int | None = None,
        content: str | None = None,
    ) -> TemplatePreview:
        """Return what a template prints with some data; a layout wraps `content`."""
        given = {"data": dict(data or {}), "version": version, "content": content}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._transport.ask(ApiRequest("POST", path_to(PATH, template, "preview"), body), TemplatePreview)
