"""`tidings users`: the people who sign in."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tidings.cli.command import command
from tidings.cli.opened import Acting, InWorkspace
from tidings.cli.options import Listed
from tidings.cli.output import print_aside, print_line, table
from tidings.config import Config
from tidings.domain.caller import Caller
from tidings.domain.errors import ConfigInvalid
from tidings.domain.roles import ROLES_OF_PEOPLE, Role

if TYPE_CHECKING:
    from tidings.domain.people.users import Roles
    from tidings.resources.users import LinkedUser
    from tidings.views.users import User, UserLink

app = typer.Typer()
ROLES = ", ".join(sorted(ROLES_OF_PEOPLE))
Person = Annotated[str, typer.Argument(help="E-mail address or id.")]
GivenRoles = Annotated[
    list[str] | None,
    typer.Option(
        "--role", help=f"ROLE in --workspace, or WORKSPACE=ROLE: once for each. Roles: {ROLES}.", show_default=False
    ),
]


def _row(user: "User") -> dict[str, object]:
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "roles": "; ".join(f"{one.workspace}: {', '.join(one.roles)}" for one in user.workspaces) or None,
        "password": "yes" if user.has_password else "no",
        "signed in": user.signed_in_at,
        "link until": user.link_expires_at,
        "disabled": user.disabled_at,
    }


def _show(user: "User") -> None:
    for name, value in _row(user).items():
        print_line(f"{name}: {'–' if value is None else value}")


def _print_link(made: "UserLink") -> None:
    who = made.user.email or made.user.name
    print_aside(f"this link lets {who} in once, until {made.expires_at:%Y-%m-%d %H:%M} UTC; hand it over:", style="dim")
    typer.echo(made.link)


@command(app, shows=_print_link)
async def invite(
    at: Acting,
    email: Annotated[str, typer.Argument(help="The address they sign in with.")],
    name: Annotated[str, typer.Option(help="What they are called.", show_default=False)],
    role: GivenRoles = None,
) -> "UserLink":
    """Invite somebody, and print a one-time link for them: this once, it is not stored."""
    made = await at.engine.users.invite(at.by, email, name, _roles(role, at))
    return _linked(at.config, made)


@command(app, "list", shows=table("people", _row, empty="there is nobody"))
async def list_users(at: InWorkspace, listed: Listed) -> "list[User]":
    """List the tenant's people, newest first."""
    by = Caller(at.workspace, "cli")
    return (await at.engine.users.list(by, limit=listed.limit, created=listed.created)).items


@command(app, shows=_show)
async def show(at: InWorkspace, person: Person) -> "User":
    """Show one person and their roles."""
    return await _find(at, person)


@command(app, shows=_show)
async def update(
    at: Acting,
    person: Person,
    role: GivenRoles = None,
    name: Annotated[str | None, typer.Option(help="What they are called.", show_default=False)] = None,
    email: Annotated[str | None, typer.Option(help="The address they sign in with.", show_default=False)] = None,
    no_roles: Annotated[bool, typer.Option("--no-roles", help="Take every role.")] = False,
) -> "User":
    """Change what is given; the roles that are given take the place of all from before."""
    roles = _roles(role, at) if role or no_roles else None
    found = await _find(at, person)
    return await at.engine.users.update(at.by, found.id, email=email, name=name, workspaces=roles)


@command(app, shows=_print_link)
async def link(at: Acting, person: Person) -> "UserLink":
    """Print a one-time link in place of the one before, for a first visit or a new password."""
    found = await _find(at, person)
    return _linked(at.config, await at.engine.users.link(at.by, found.id))


@command(app, shows=_show)
async def disable(at: Acting, person: Person) -> "User":
    """Let somebody sign in no more, and sign them out everywhere."""
    return await at.engine.users.update(at.by, (await _find(at, person)).id, disabled=True)


@command(app, shows=_show)
async def enable(at: Acting, person: Person) -> "User":
    """Let somebody sign in again."""
    return await at.engine.users.update(at.by, (await _find(at, person)).id, disabled=False)


def _say_removed(id: UUID) -> None:
    print_line(f"{id} is removed, with every session")


@command(
    app,
    shows=_say_removed,
    answers=lambda id: {"id": id, "removed": True},
    asks=lambda person: f"Remove {person}, with every session?",
)
async def remove(at: Acting, person: Person) -> UUID:
    """Remove somebody; what they did stays in the audit log."""
    found = await _find(at, person)
    await at.engine.users.remove(at.by, found.id)
    return found.id


def _say_signed_out(id: UUID) -> None:
    print_line(f"{id} is signed out everywhere")


@command(app, "sign-out", shows=_say_signed_out, answers=lambda id: {"id": id, "signedOut": True})
async def sign_out(at: Acting, person: Person) -> UUID:
    """End every session of somebody."""
    found = await _find(at, person)
    await at.engine.users.sign_out(at.by, found.id)
    return found.id


async def _find(at: InWorkspace, person: str) -> "User":
    by = Caller(at.workspace, "cli")
    try:
        return await at.engine.users.get(by, UUID(person))
    except ValueError:
        return await at.engine.users.find(by, person)


def _roles(given: list[str] | None, at: Acting) -> "Roles":
    found: dict[str, list[Role]] = {}
    for one in given or ():
        workspace, _, role = one.rpartition("=")
        try:
            found.setdefault(workspace or at.workspace.name, []).append(Role(role))
        except ValueError as error:
            raise ConfigInvalid(f"--role {one!r}: use one of {ROLES}, or WORKSPACE=ROLE") from error
    return found


def _linked(config: Config, made: "LinkedUser") -> "UserLink":
    from tidings.views.users import UserLink

    link = f"{_page_url(config)}/welcome#{made.token}"
    return UserLink(user=made.user, link=link, expires_at=made.expires_at)


def _page_url(config: Config) -> str:
    """Return where people open the page, as far as the settings say it."""
    if config.public_url:
        return config.public_url
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(config.host, config.host)  # noqa: S104 – shown, not bound
    return f"{'https' if config.tls_cert else 'http'}://{host}:{config.port}"
