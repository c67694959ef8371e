"""People who sign in, their sessions, and the ways to sign in."""

from typing import Annotated

from msgspec import Meta

from tidings.views.keys import RoleName
from tidings.views.view import Id, Time, View, doc

PermissionName = Annotated[
    str, Meta(extra_json_schema={"$ref": "#/components/schemas/Permission"}, examples=["readWork"])
]
"""One of the permissions in domain/roles.py; a string, so that an older client can read a newer server's."""
Email = Annotated[str | None, doc("In small letters; null until the first operator has given one.", "ada@example.com")]


class WorkspaceRoles(View, frozen=True, kw_only=True):
    """The roles of a person in one workspace; together they may what any of them may."""

    workspace: Annotated[str, doc(example="default")]
    roles: list[RoleName]


class User(View, frozen=True, kw_only=True):
    """A person of a tenant; passwords and links are in no answer."""

    id: Id
    tenant: Annotated[str, doc(example="default")]
    email: Email
    name: Annotated[str, doc(example="Ada")]
    workspaces: list[WorkspaceRoles] = []
    has_password: Annotated[bool, doc("Whether a password was set.")]
    link_expires_at: Annotated[Time | None, doc("Until when a one-time link of theirs can be used.")] = None
    signed_in_at: Annotated[Time | None, doc("When they last signed in.")] = None
    disabled_at: Annotated[Time | None, doc("Since when they cannot sign in.")] = None
    created_at: Time
    created_by: Annotated[str, doc(example="user:grace@example.com")]


class UserLink(View, frozen=True, kw_only=True):
    """A person with a new one-time link, which is shown only this once. Hand it over yourself."""

    user: User
    link: Annotated[str, doc("Opens the page and signs the person in.", "https://tidings.example/welcome#8fKq2Lw0…")]
    expires_at: Time


class SessionUser(View, frozen=True, kw_only=True):
    """The person who is signed in."""

    id: Id
    email: Email
    name: Annotated[str, doc(example="Ada")]
    has_password: bool


class SessionWorkspace(View, frozen=True, kw_only=True):
    """A workspace of the person, and what they may do there."""

    workspace: Annotated[str, doc(example="default")]
    roles: list[RoleName]
    permissions: list[PermissionName]


class CurrentSession(View, frozen=True, kw_only=True):
    """Who is signed in here, and what they may do in which workspace."""

    user: SessionUser
    tenant: Annotated[str, doc(example="default")]
    workspace: Annotated[
        str | None, doc("The workspace of this request; null for somebody without any role.", "default")
    ]
    workspaces: list[SessionWorkspace]
    permissions: Annotated[list[PermissionName], doc("Those in the workspace of this request.")]
    is_operator: Annotated[bool, doc("Whether they may see what belongs to the whole installation.")]
    csrf_token: Annotated[
        str, doc("Sent as X-Tidings-CSRF with every request that changes something.", "kT0v5n2Vb0m4c0Yw3v8oPw")
    ]
    expires_at: Annotated[Time, doc("When the session ends, however much it is used.")]


class OpenSession(View, frozen=True, kw_only=True):
    """One browser in which a person is signed in."""

    id: Id
    via: Annotated[str, doc("How they signed in: password, link, or oidc: and a name.", "password")]
    user_agent: Annotated[str, doc("What the browser calls itself.", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")]
    current: Annotated[bool, doc("Whether it is the one that asks.")] = False
    created_at: Time
    last_used_at: Annotated[Time, doc("To the minute.")]
    expires_at: Time


class OidcWay(View, frozen=True, kw_only=True):
    """A login of one's own organisation that can be used."""

    name: Annotated[str, doc(example="company")]
    label: Annotated[str, doc(example="Company login")]
    url: Annotated[str, doc("Where a browser begins; `next` may be added to it.", "/v1/oidc/company/start")]


class SignInWays(View, frozen=True, kw_only=True):
    """How people sign in here."""

    password: bool
    oidc: list[OidcWay]
