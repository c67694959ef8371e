"""What people who sign in may be called, and which passwords they may have."""

from collections.abc import Iterable, Mapping, Sequence
from unicodedata import normalize

from tidings.domain.errors import Problem
from tidings.domain.flow.ids import LONGEST_PART
from tidings.domain.messages import quoted
from tidings.domain.names import problem_of_name
from tidings.domain.people.address import read_email
from tidings.domain.roles import ROLES_OF_PEOPLE, Role

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1_000
FEWEST_CHARACTERS = 5
MOST_WORKSPACES = 200
LONGEST_USER_AGENT = 200
_UPPER = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

Roles = Mapping[str, Sequence[Role]]
"""By workspace, what a person is there."""


def read_user_email(text: str) -> str:
    """Return an e-mail address as people's are stored and compared; raise ValueError for what is none.

    Only A to Z are made small, and a sign that reads as one of them (the one for kelvin as K) is refused: it would be
    somebody else's address.
    """
    if any(not one.isascii() and normalize("NFKC", one).isascii() for one in text):
        raise ValueError(f"{quoted(text)} holds a sign that looks like a letter; write plain letters")
    return read_email(text).translate(_UPPER)


def problem_of_password(password: str, known: Iterable[str | None]) -> str | None:
    """Say why nobody should have this password, if so: it is short, or what others know (`known`) is most of it."""
    if len(password) < SHORTEST_PASSWORD:
        return f"has {len(password)} characters; use at least {SHORTEST_PASSWORD}, a sentence for instance"
    if len(password) > LONGEST_PASSWORD:
        return f"has {len(password):,} characters; use at most {LONGEST_PASSWORD:,}"
    left = password.casefold()
    for one in filter(None, (*known, "tidings", "password")):
        left = left.replace(one.casefold(), "")
    if len(set(left)) < FEWEST_CHARACTERS:
        return "can be guessed: it is one or few characters repeated, or a name; use a sentence for instance"
    return None


def problems_of_roles(given: Roles) -> list[Problem]:
    """Say what is wrong with the roles that a person is to have."""
    problems = [] if len(given) <= MOST_WORKSPACES else [Problem("workspaces", f"name at most {MOST_WORKSPACES}")]
    for place, (workspace, roles) in enumerate(given.items()):
        if wrong := problem_of_workspace(workspace):
            problems.append(Problem(f"workspaces[{place}].workspace", wrong))
        problems += _problems_of_roles(f"workspaces[{place}].roles", roles)
    return problems


def _problems_of_roles(place: str, roles: Sequence[Role]) -> list[Problem]:
    if not roles:
        return [Problem(place, "is empty; give at least one role, or leave the workspace out")]
    known = ", ".join(sorted(ROLES_OF_PEOPLE))
    return [
        Problem(f"{place}[{number}]", f"{role} is for programs and web pages; a person can be {known}")
        for number, role in enumerate(roles)
        if role not in ROLES_OF_PEOPLE
    ]


def problem_of_workspace(name: str) -> str | None:
    """Say why a workspace cannot be called so, if it cannot."""
    if len(name.encode(errors="replace")) > LONGEST_PART:
        return f"{quoted(name)} has more than {LONGEST_PART} bytes"
    return problem_of_name(name)


def readable_agent(given: str) -> str:
    """Return what a browser calls itself, cut short and without what cannot be shown."""
    return "".join(one for one in given if one.isprintable())[:LONGEST_USER_AGENT]
