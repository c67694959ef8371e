"""The long tail: whatever the Apprise library can reach, by an address of that library's own form.

Blind, and more so than any other: Apprise says only whether it worked, without an id or a reason that would tell a
refusal from a lost answer, so whatever is no success is doubt. Its calls block, and run in threads of their own.
Apprise opens its own connections, which nothing here can guard. So an address that names a host of its own needs the
operator's word for that host; those of vendors, whose hosts Apprise knows itself, do not. One that names a file, which
Apprise would read here or fetch from anywhere, is refused.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import quote

from tidings.domain.channels import Channel
from tidings.domain.connections.kind import ConnectionSettings, FollowedDocument, ProviderKind, secret
from tidings.domain.errors import ExtraMissing
from tidings.domain.flow.item import Marked
from tidings.domain.flow.outcome import Accepted, Outcome, Rejected, Unknown
from tidings.domain.flow.provider import Blind, CannotTell, Doubtful, Evidence, MayStart, Provider
from tidings.domain.private_addresses import PrivateAddresses
from tidings.extras import require_extra
from tidings.providers.post_fields import post_text
from tidings.providers.vendor_api import LEASE_SPENT

if TYPE_CHECKING:
    from apprise import NotifyBase

PLACE = "{recipient}"
"""Where in the address the recipient stands; without it every message goes to the same place."""
_SAMPLE = "12025550123"
_ON_THIS_MACHINE = frozenset({"dbus", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"})
_KEEPS_FILES = "vapid"
"""Web Push with keys and subscriptions in files of this machine; web-push does it without."""
_FILES_REFUSED = "the connection's address has Apprise read or fetch a file (a template, a keyfile): leave that out"
_TO_PEOPLE = frozenset({Channel.SMS, Channel.PUSH, Channel.WHATSAPP})


class AppriseProvider:
    """A connection to one address of Apprise's."""

    provider_class = Blind()

    def __init__(self, connection: ConnectionSettings, address: str) -> None:
        self.name = connection.name
        self.concurrency = connection.concurrency
        self.call_deadline = connection.call_deadline
        self._address = address
        self._find_private = connection.private_addresses
        self._threads = ThreadPoolExecutor(connection.concurrency, thread_name_prefix="apprise")

    def __repr__(self) -> str:
        return f"AppriseProvider({self.name!r})"

    async def send(self, item: Marked, may_start: MayStart) -> Outcome:
        """Hand one item over in a thread; a thread that is late may still deliver it, so that is doubt."""
        if item.channel in _TO_PEOPLE and PLACE not in self._address:
            return Rejected(f"the connection's address has no {PLACE}, so everybody's messages would go to one place")
        private = await self._find_private(item.workspace)
        loop = asyncio.get_running_loop()
        address = self._address.replace(PLACE, quote(item.recipient, safe=""))
        target = await loop.run_in_executor(self._threads, _target, address)
        if target is None or _reads_files(target) or not _may_reach(target, private):
            return Rejected(_refusal(target))
        if not may_start():
            return LEASE_SPENT
        seconds = self.call_deadline.total_seconds() * 0.9
        try:
            async with asyncio.timeout(seconds):
                is_done = await loop.run_in_executor(self._threads, _notify, target, item)
        except TimeoutError:
            return Unknown(f"Apprise was not done within {seconds:g} s", is_unanswered=True)
        return Accepted() if is_done else Unknown("Apprise says that it failed, and not how far it came")

    async def look_up(self, item: Doubtful) -> Evidence:  # noqa: ARG002
        """Return no evidence: Apprise keeps none."""
        return CannotTell("Apprise cannot be asked what became of a message")

    async def close(self) -> None:
        """Let the threads end by themselves: nobody can stop one that hangs."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _target(address: str) -> "NotifyBase | None":
    """What an address stands for; None when Apprise does not know it. The first call reads all of Apprise's plugins."""
    # Only who uses it has it installed, and pays for importing it.
    from apprise import Apprise, AppriseAsset, PersistentStoreMode  # noqa: PLC0415

    # What they log may hold the address, which is a password.
    logging.getLogger("apprise").disabled = True
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    asset = AppriseAsset(storage_mode=PersistentStoreMode.MEMORY)
    return Apprise.instantiate(address, asset=asset, suppress_exceptions=True)


def _notify(target: "NotifyBase", item: Marked) -> bool:
    title = item.payload.get("title") or item.payload.get("subject") or ""
    try:
        return bool(target.notify(body=post_text(item.payload), title=title))
    except Exception:
        return False  # whatever one of 180 plugins raises, and however far it came by then


def _reads_files(target: "NotifyBase") -> bool:
    """Whether an address names files, which Apprise reads, or fetches unguarded, and may hand on."""
    from apprise import AppriseAttachment  # noqa: PLC0415

    parts = [target, *(one for one in vars(target).values() if hasattr(one, "__dict__"))]
    held = [one for part in parts for one in vars(part).values()]
    return _KEEPS_FILES in _schemes(target) or any(isinstance(one, AppriseAttachment) and len(one) > 0 for one in held)


def _schemes(target: "NotifyBase") -> frozenset[str]:
    return frozenset(str(one) for kind in (target.protocol, target.secure_protocol) for one in _each(kind))


def _may_reach(target: "NotifyBase", private: PrivateAddresses) -> bool:
    if private.everything or not _names_a_host(target):
        return True
    return str(target.host or "").lower().rstrip(".") in private.hosts


def _names_a_host(target: "NotifyBase") -> bool:
    """Whether an address says where to connect to, or means this machine itself."""
    return bool(_schemes(target) & _ON_THIS_MACHINE) or "{host}" in repr(target.templates)


def _each(scheme: object) -> tuple[object, ...]:
    return tuple(scheme) if isinstance(scheme, list | tuple | set | frozenset) else (scheme,)


def _refusal(target: "NotifyBase | None") -> str:
    if target is None:
        return "Apprise makes nothing of the connection's address with this recipient"
    if _reads_files(target):
        return _FILES_REFUSED
    return (
        "the connection's address names a host, to which Apprise would connect unguarded: let the operator name that "
        "host with `tidings workspaces set --allow-private`, or use a webhook"
    )


def _problem_of_address(value: str) -> str | None:
    try:
        require_extra("apprise")
    except ExtraMissing as error:
        return str(error)
    target = _target(value.replace(PLACE, _SAMPLE))
    if target is None:
        return "Apprise does not know such an address; see its wiki"
    return _FILES_REFUSED if _reads_files(target) else None


def _build(connection: ConnectionSettings) -> Provider:
    require_extra("apprise")
    return AppriseProvider(connection, connection.text("address"))


KIND = ProviderKind(
    name="apprise",
    title="Apprise",
    channels=(Channel.CHAT, Channel.SOCIAL, Channel.SMS, Channel.PUSH),
    settings=(
        secret(
            "address",
            f"an address of Apprise's, such as pover://user@token; {PLACE} in it stands for the recipient",
            check=_problem_of_address,
        ),
    ),
    build=_build,
    follows=(FollowedDocument("Apprise 2.2: README and the wiki's list of services", date(2026, 11, 18)),),
)
