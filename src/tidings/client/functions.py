"""`client.functions`: where a workspace's functions are, and what signs the calls to them."""

from collections.abc import AsyncIterator

from tidings.client.pages import pages
from tidings.client.transport import ApiRequest, Transport, path_to
from tidings.views.functions import FunctionAddress, FunctionHost, NewSigningSecret, SigningSecret

PATH = "/v1/functions"
SIGNING = "/v1/signing-secret"
HOSTS = "/v1/function-hosts"


class FunctionAddresses:
    """Sets where functions are, and makes the secret that signs calls."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncIterator[FunctionAddress]:
        """Yield the addresses that the workspace has set."""
        return pages(self._transport, PATH, {}, FunctionAddress)

    async def set(self, name: str, url: str, secret: str | None = None) -> FunctionAddress:
        """Set a function's address, or with the name `*` the base of all others."""
        body = {"url": url} | ({} if secret is None else {"secret": secret})
        return await self._transport.ask(ApiRequest("PUT", path_to(PATH, name), body), FunctionAddress)

    async def delete(self, name: str) -> None:
        """Forget a function's address and its secret."""
        await self._transport.send(ApiRequest("DELETE", path_to(PATH, name)))

    def hosts(self) -> AsyncIterator[FunctionHost]:
        """Yield the hosts of the workspace's functions that do not answer."""
        return pages(self._transport, HOSTS, {}, FunctionHost)

    async def reset_host(self, host: str) -> None:
        """Let a host be called again at once."""
        await self._transport.send(ApiRequest("POST", path_to(HOSTS, host, "reset")))

    async def signing_secret(self) -> SigningSecret:
        """Return since when the workspace's calls are signed; never the secret."""
        return await self._transport.ask(ApiRequest("GET", SIGNING), SigningSecret)

    async def rotate_signing_secret(self, *, overlap_seconds: int = 86_400) -> NewSigningSecret:
        """Make a secret that signs the workspace's calls and return it; it is in no other answer."""
        body = {"overlapSeconds": overlap_seconds}
        return await self._transport.ask(ApiRequest("POST", SIGNING, body, repeatable=False), NewSigningSecret)
