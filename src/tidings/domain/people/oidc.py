"""Logins of an organisation by OpenID Connect, as the settings describe them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tidings.domain.names import problem_of_slug
from tidings.domain.people.users import Roles, problems_of_roles
from tidings.domain.roles import Role

LOOPBACK = frozenset(["localhost", "127.0.0.1", "::1"])
FIELDS = frozenset(["label", "issuer", "client_id", "client_secret", "tenant", "domains", "roles"])


@dataclass(frozen=True, slots=True)
class OidcLogin:
    """One login: where it is, as whom we come, and whom it lets in."""

    name: str
    label: str
    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    tenant: str = "default"
    domains: frozenset[str] = frozenset()
    """Whoever has a verified address there is let in uninvited, with `roles`; without any, only invited people are."""
    roles: Roles = field(default_factory=dict)

    def admits(self, email: str) -> bool:
        """Whether somebody with this address is let in uninvited."""
        return email.rpartition("@")[2].lower() in self.domains


def read_login(name: str, given: Mapping[str, object]) -> OidcLogin:
    """Return a login as settings write it; raise ValueError with what is wrong, without repeating a value."""
    if problem_of_slug(name):
        raise ValueError("is not a name here: use lower case letters and digits, with dashes between them")
    if unknown := sorted(given.keys() - FIELDS):
        raise ValueError(f"has {unknown[0]!r}; use {', '.join(sorted(FIELDS))}")
    issuer, client = _text(given, "issuer"), _text(given, "client_id")
    _check_issuer(issuer)
    domains, roles = _domains(given.get("domains", [])), _roles(given.get("roles", {}))
    if bool(domains) is not bool(roles):
        raise ValueError("needs domains and roles together: whom to let in uninvited, and as what")
    return OidcLogin(
        name=name,
        label=_text(given, "label", name),
        issuer=issuer,
        client_id=client,
        client_secret=_text(given, "client_secret") if "client_secret" in given else None,
        tenant=_text(given, "tenant", "default"),
        domains=domains,
        roles=roles,
    )


def _text(given: Mapping[str, object], name: str, default: str | None = None) -> str:
    found = given.get(name, default)
    if not isinstance(found, str) or not found.strip():
        raise ValueError(f"needs {name}, a string")
    return found


def _check_issuer(issuer: str) -> None:
    parts = urlsplit(issuer)
    is_private = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not (parts.scheme == "https" or is_private) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("needs an issuer that begins with https://, as it names itself")


def _domains(given: object) -> frozenset[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) and "." in one and "@" not in one for one in given):
        raise ValueError('needs domains as a list, such as ["example.com"]')
    return frozenset(one.lower() for one in given)


def _roles(given: object) -> Roles:
    if not isinstance(given, Mapping) or not all(isinstance(one, list) for one in given.values()):
        raise ValueError('needs roles as a table, such as {default = ["reader"]}')
    try:
        found = {str(workspace): [Role(role) for role in roles] for workspace, roles in given.items()}
    except ValueError as error:
        raise ValueError(f"names a role that there is not; use some of {', '.join(Role)}") from error
    if problems := problems_of_roles(found):
        raise ValueError(f"gives roles that nobody can have: {problems[0].message}")
    if any(Role.OPERATOR in roles for roles in found.values()):
        raise ValueError("makes operators of whole domains; give that role to people by name")
    return found
