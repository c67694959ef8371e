"""An address that is looked for wherever it may stand: in data, messages, errors and notes, in any of its spellings.

Reached from resources/address_erasure.py. What is looked for is a whole address: ann@example.com does not stand in
joann@example.com. The search itself is `mentions` in storage/schema.sql.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

import idna

from tidings.domain.errors import FieldsInvalid, Problem
from tidings.domain.flow.ids import Workspace, length_prefixed
from tidings.domain.people.address import read_email, read_phone
from tidings.domain.people.contact_fields import LONGEST_TOKEN
from tidings.domain.storable import is_storable

SHORTEST_TOKEN = 12
PHONE_FILLING = " ().-/\t"
_BETWEEN_DIGITS = r"[\s().\-/\u2010-\u2015\u2212]*"
# In the text of JSON a line break is \n, and its n is no part of the address that follows.
_BEGINS = r"(?:(?<![\w.%+-])(?<!\w')|(?<=\\[nrtbf]))"


@dataclass(frozen=True, slots=True)
class SoughtAddress:
    """How one address is found: what must occur at least, and the regular expression that decides (PostgreSQL's)."""

    normal: str
    needle: str
    """In lower case; it occurs, without `filling`, wherever the pattern matches."""
    filling: str
    pattern: str

    def hash_in(self, workspace: Workspace) -> bytes:
        """Return what the audit log has instead of the address: like the hash of an opt-out, its own in a workspace."""
        return sha256(length_prefixed((workspace.tenant, workspace.name, self.normal.casefold()))).digest()


def seek_address(text: str) -> SoughtAddress:
    """Read an e-mail address, a phone number or a push token, or raise FieldsInvalid."""
    for read in (_email, _phone):
        try:
            return read(text)
        except ValueError:
            continue
    token = text.strip()
    if not SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN or re.search(r"\s", token) or not is_storable(token):
        what = "is no e-mail address, no phone number with its country's code and no push token: nothing is looked for"
        raise FieldsInvalid([Problem("address", what)])
    return SoughtAddress(token, token.lower(), "", rf"(?<![\w-]){_escape(token)}(?![\w-])")


def _email(text: str) -> SoughtAddress:
    normal = read_email(text)
    local, _, domain = normal.rpartition("@")
    domains = {domain, _as_written(domain)}
    names = "|".join(_escape(one) for one in sorted(domains))
    pattern = rf"{_BEGINS}{_escape(local)}(?:@|%40)(?:{names})(?![\w-]|\.\w)"
    return SoughtAddress(normal, local.lower(), "", pattern)


def _as_written(domain: str) -> str:
    """Return a domain as people may have written it, outside ASCII."""
    try:
        return idna.decode(domain)
    except (idna.IDNAError, UnicodeError):
        return domain


def _phone(text: str) -> SoughtAddress:
    normal = read_phone(text)
    digits = normal.removeprefix("+")
    zero = rf"{_BETWEEN_DIGITS}(?:\(0\))?{_BETWEEN_DIGITS}"
    return SoughtAddress(normal, digits, PHONE_FILLING, rf"(?<!\d)(?:\+|00)?{zero.join(digits)}(?!\d)")


def _escape(text: str) -> str:
    """Return a string as a regular expression of PostgreSQL that matches it."""
    return re.sub(r"([^\w@\s])", r"\\\1", text)
