"""Everything about a contact on its way into a file, piece by piece."""

import os
import sys
from pathlib import Path
from typing import BinaryIO

from tidings.domain.caller import Caller
from tidings.domain.errors import InputInvalid
from tidings.domain.people.contact import ContactReference
from tidings.engine import Engine


async def run_export(engine: Engine, by: Caller, contact: ContactReference, to: Path | None) -> None:
    """Write the document to a file that only its owner reads, or to standard output."""
    pieces = await engine.contacts.export(by, contact)  # before a file is made
    if to is None:
        async for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    with _open(to) as opened:
        async for piece in pieces:
            opened.write(piece)


def _open(path: Path) -> BinaryIO:
    try:
        return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
    except OSError as error:
        raise InputInvalid(f"{path} cannot be written: {error.strerror}") from error
