"""The bodies of requests about people and their sessions."""

from typing import Annotated

from pydantic import Field

from tidings.domain.people.users import LONGEST_PASSWORD, MOST_WORKSPACES, Roles
from tidings.domain.roles import Role
from tidings.http.requests import Given, Name, example

LONGEST_ADDRESS = 254
Email = Annotated[str, Field(min_length=3, max_length=LONGEST_ADDRESS, description="Compared without case.")]
Password = Annotated[str, Field(min_length=1, max_length=LONGEST_PASSWORD, description="At least 12 characters.")]


class GivenSignIn(Given):
    """An address and a password."""

    model_config = example({"email": "ada@example.com", "password": "…"})
    email: str = Field(min_length=1, max_length=LONGEST_ADDRESS)
    password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)
    tenant: Name = "default"


class GivenRedeem(Given):
    """A one-time link's token, and what the person sets at the same time."""

    model_config = example({"token": "…", "name": "Ada", "password": "…"})
    token: str = Field(min_length=1, max_length=200, description="What is behind the # of the link.")
    name: Name | None = None
    email: Email | None = Field(None, description="Only where an address is still missing.")
    password: Password | None = Field(None, description="Needed where there was one before.")


class ChangedOwnUser(Given):
    """What is given is set, and the rest stays."""

    model_config = example({"name": "Ada", "password": "…", "currentPassword": "…"})
    name: Name | None = None
    email: Email | None = Field(None, description="Only where it is still missing, or for an administrator.")
    password: Password | None = None
    current_password: str | None = Field(
        None, max_length=LONGEST_PASSWORD, description="Needed for another password or address, if there is one."
    )


class GivenWorkspaceRoles(Given):
    """The roles of a person in one workspace."""

    model_config = example({"workspace": "default", "roles": ["workflowManager", "triggerOperator"]})
    workspace: Name
    roles: list[Role] = Field(min_length=1, max_length=len(Role))


class GivenUser(Given):
    """Somebody to invite."""

    model_config = example(
        {"email": "ada@example.com", "name": "Ada", "workspaces": [{"workspace": "default", "roles": ["reader"]}]}
    )
    email: Email
    name: Name
    workspaces: list[GivenWorkspaceRoles] = Field(max_length=MOST_WORKSPACES)


class ChangedUser(Given):
    """What is given is set, and the rest stays."""

    model_config = example({"workspaces": [{"workspace": "default", "roles": ["operator"]}], "disabled": False})
    email: Email | None = None
    name: Name | None = None
    workspaces: list[GivenWorkspaceRoles] | None = Field(
        None, max_length=MOST_WORKSPACES, description="The whole list: whatever is not in it is taken away."
    )
    disabled: bool | None = Field(None, description="Whether they cannot sign in; who is disabled is signed out.")


def roles_given(memberships: list[GivenWorkspaceRoles]) -> Roles:
    """Return the roles by workspace; one that is named twice has those of both."""
    found: dict[str, list[Role]] = {}
    for one in memberships:
        found.setdefault(one.workspace, []).extend(one.roles)
    return found
