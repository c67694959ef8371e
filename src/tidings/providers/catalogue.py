"""Every kind of provider that comes with the package, by name; a vendor's file is imported when it is asked for."""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module

from tidings.domain.connections.kind import ProviderKind

_VENDORS = ("apns", "fcm", "resend", "web_push", "webhook")
"""The files of vendors/; a kind has the name of its file, with hyphens for underscores."""


class Catalogue(Mapping[str, ProviderKind]):
    """The kinds by name; looking one up imports its file."""

    def __getitem__(self, name: str) -> ProviderKind:
        if name not in _names():
            raise KeyError(name)
        return _kind(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_VENDORS)


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
