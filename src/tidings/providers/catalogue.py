"""Every kind of provider that comes with the package, by name; a vendor's file is imported when it is asked for."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module

from tidings.domain.connections.kind import ProviderKind

_VENDORS = (
    "amazon_ses",
    "apns",
    "apprise",
    "bluesky",
    "discord",
    "fcm",
    "mailgun",
    "mastodon",
    "postmark",
    "resend",
    "sendgrid",
    "slack",
    "slack_webhook",
    "smtp",
    "teams",
    "telegram",
    "twilio",
    "vonage",
    "web_push",
    "webhook",
    "whatsapp_cloud",
)
"""The files of vendors/; a kind has the name of its file, with hyphens for underscores."""


class Catalogue(Mapping[str, ProviderKind]):
    """The kinds by name; looking one up imports its file. Those of a host application come before ours."""

    def __init__(self, own: Iterable[ProviderKind] = ()) -> None:
        self._own = {kind.name: kind for kind in own}

    def __getitem__(self, name: str) -> ProviderKind:
        if name in self._own:
            return self._own[name]
        if name not in _names():
            raise KeyError(name)
        return _kind(name)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **dict.fromkeys(_names())})

    def __len__(self) -> int:
        return len(self._own.keys() | set(_names()))


CATALOGUE = Catalogue()


@lru_cache
def _names() -> tuple[str, ...]:
    return tuple(one.replace("_", "-") for one in _VENDORS)


@cache
def _kind(name: str) -> ProviderKind:
    kind = import_module(f"tidings.providers.vendors.{name.replace('-', '_')}").KIND
    if not isinstance(kind, ProviderKind):
        raise TypeError(f"the kind {name} is a {type(kind).__name__}")
    return kind
