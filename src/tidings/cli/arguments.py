"""Keeps a password that was typed as an argument out of `ps`: every user of a machine may read how processes began.

Linux shows the memory that the arguments were put into, and Python works on copies, so what is overwritten there is
seen no more. Elsewhere there is only the warning.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

OPTION = "--database-url"
_STAT = Path("/proc/self/stat")


def hide_passwords(arguments: Sequence[str]) -> None:
    """Overwrite the passwords of addresses among our arguments, and say where they are better kept."""
    passwords = [password for address in _addresses(arguments) for password in _passwords(address)]
    if not passwords:
        return
    with suppress(OSError, ValueError):
        _overwrite(passwords)
    sys.stderr.write(
        f"tidings: warning: {OPTION} holds a password, which others may have seen among the processes; set "
        "DATABASE_URL, or TIDINGS_DATABASE_URL_FILE to a file that holds the address\n"
    )


def _addresses(arguments: Sequence[str]) -> list[str]:
    given = [one.removeprefix(f"{OPTION}=") for one in arguments if one.startswith(f"{OPTION}=")]
    return given + [arguments[place + 1] for place, one in enumerate(arguments[:-1]) if one == OPTION]


def _passwords(address: str) -> list[str]:
    """Return what stands between the user and the host, and the password among the options, as they are typed."""
    login = address.partition("://")[2].rpartition("@")[0].partition(":")[2]
    with suppress(ValueError):
        typed = {name: value for name, value in parse_qsl(urlsplit(address).query) if name == "password"}
        return [one for one in (login, *typed.values()) if one]
    return [login] if login else []


def _overwrite(secrets: Sequence[str]) -> None:
    import ctypes

    # The name of the program, in brackets, may hold spaces; the 48th and 49th fields are where the arguments are.
    fields = _STAT.read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    shown = ctypes.string_at(start, end - start) if start else b""
    for secret in secrets:
        wanted = secret.encode()
        place = shown.find(wanted)
        while place >= 0:
            ctypes.memset(start + place, ord("x"), len(wanted))
            place = shown.find(wanted, place + len(wanted))
