"""Whom the sink refuses and whom it puts off: by chance, and the same whenever the seed is the same.

A recipient who is refused stays refused, as an address that does not exist. One who is put off is drawn again at the
next attempt, as with mailboxes that are busy.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from tidings.domain.errors import InputInvalid
from tidings.domain.messages import quoted
from tidings.sink.arrivals import Answer

_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%")
Option = TypeVar("Option")


@dataclass(frozen=True, slots=True)
class Chance:
    """The shares, from 0 to 1: of all recipients, how many are refused; of the others' calls, how many put off."""

    refuse: float = 0.0
    defer: float = 0.0
    seed: int = 0

    def answer(self, recipient: str, attempt: int) -> Answer:
        """What becomes of a recipient's so many-th attempt."""
        if self._drawn("refuse", recipient) < self.refuse:
            return Answer.REFUSED
        return Answer.DEFERRED if self._drawn("defer", recipient, attempt) < self.defer else Answer.TAKEN

    def pick(self, options: Sequence[Option], recipient: str, attempt: int) -> Option:
        """One of the options, by chance."""
        return options[int(self._drawn("pick", recipient, attempt) * len(options))]

    def _drawn(self, *what: object) -> float:
        drawn = sha256(repr((self.seed, *what)).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(drawn[:6], "big") / 2**48


def read_share(name: str, text: str) -> float:
    """Read a share like 5%; raise InputInvalid for what is none, with the name of the option."""
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / 100 if found else -1.0
    if not 0 <= share <= 1:
        raise InputInvalid(f"{name} {quoted(text)} is no share: write it like 5%, from 0% to 100%")
    return share
