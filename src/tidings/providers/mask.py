"""Strike secrets out of what a function answers, before anything of it is kept or logged.

A secret is found as it is, inside a larger string, in hex, percent-encoded, and in base64 at each alignment, since a
function may repeat the whole header that carried it. Searched for as plain strings: what a function answers is up to
1 MB, and no pattern may be slow on it.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters, digits
from typing import Any
from urllib.parse import quote

import msgspec

MASK = "…"
SHORTEST_IN_ERRORS = 4
"""A shorter secret is in every second sentence by chance."""
SHORTEST_IN_RESULTS = 8
"""A result is data that others use: a secret that is as short as a word must not change it."""
_SHORTEST_BASE64 = 8
_BASE64 = frozenset(ascii_letters + digits + "+/-_=")
_URL_SAFE = str.maketrans("+/", "-_")


@dataclass(frozen=True, slots=True)
class _Forms:
    """The forms in which secrets are looked for: as they are, in hex of either case, and within base64."""

    plain: Sequence[str]
    hex: Sequence[str]
    base64: Sequence[str]

    def are_in(self, encoded: bytes) -> bool:
        """Whether any of them is in JSON as it is written."""
        if any(one.encode() in encoded for one in (*self.plain, *self.base64)):
            return True
        lowered = encoded.lower()
        return any(one.encode() in lowered for one in self.hex)

    def strike(self, text: str) -> str:
        """Return a string without them."""
        for one in self.plain:
            text = text.replace(one, MASK)
        for one in self.hex:
            text = _without_hex(text, one)
        for one in self.base64:
            text = _without_run(text, one)
        return text


class Mask:
    """Strikes some secrets out."""

    def __init__(self, secrets: Iterable[str]) -> None:
        given = frozenset(secrets)
        self._in_errors = _forms(frozenset(one for one in given if len(one) >= SHORTEST_IN_ERRORS))
        self._in_results = _forms(frozenset(one for one in given if len(one) >= SHORTEST_IN_RESULTS))

    def text(self, text: str) -> str:
        """Return a sentence without them."""
        return self._in_errors.strike(text)

    def value(self, value: Any) -> Any:
        """Return JSON without them, names of fields included; the same object where there is nothing to strike out."""
        forms = self._in_results
        return _struck(value, forms) if forms.plain and forms.are_in(msgspec.json.encode(value)) else value


def _struck(value: Any, forms: _Forms) -> Any:
    if isinstance(value, str):
        return forms.strike(value)
    if isinstance(value, dict):
        return {forms.strike(name): _struck(one, forms) for name, one in value.items()}
    return [_struck(one, forms) for one in value] if isinstance(value, list) else value


@lru_cache(maxsize=1_000)
def _forms(secrets: frozenset[str]) -> _Forms:
    """Return every form of the secrets; the longest first, so that none leaves a part of another."""
    plain = {form for one in secrets for form in (one, quote(one, safe=""), _in_json(one), _in_json(_in_json(one)))}
    cores = {_base64_core(one.encode(), shift) for one in secrets for shift in range(3)}
    long = {core for core in cores if len(core) >= _SHORTEST_BASE64}
    hexes = {one.encode().hex() for one in secrets}
    return _Forms(*(sorted(some, key=len, reverse=True) for some in (plain, hexes, long | _url_safe(long))))


def _in_json(secret: str) -> str:
    """Return a secret as it is written inside a string of JSON."""
    return msgspec.json.encode(secret).decode()[1:-1]


def _url_safe(cores: set[str]) -> set[str]:
    return {core.translate(_URL_SAFE) for core in cores}


def _base64_core(raw: bytes, shift: int) -> str:
    """Return the characters of base64 that depend on the secret alone, where so many bytes stand before it."""
    encoded = b64encode(b"\0" * shift + raw).decode()
    return encoded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]


def _without_hex(text: str, form: str) -> str:
    lowered = text.lower()
    if len(lowered) != len(text):  # some letters are longer in lower case: places would not be the same
        lowered = text.replace(form.upper(), form)
        text = lowered
    while (at := lowered.find(form)) >= 0:
        text = text[:at] + MASK + text[at + len(form) :]
        lowered = lowered[:at] + MASK + lowered[at + len(form) :]
    return text


def _without_run(text: str, core: str) -> str:
    """Strike out the whole run of base64 around a core: its ends hold the secret's first and last bits."""
    at = text.find(core)
    while at >= 0:
        start, end = at, at + len(core)
        while start and text[start - 1] in _BASE64:
            start -= 1
        while end < len(text) and text[end] in _BASE64:
            end += 1
        text = text[:start] + MASK + text[end:]
        at = text.find(core, start + len(MASK))
    return text
