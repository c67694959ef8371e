"""Keys to the API, and the history of what was done with them."""

from typing import Annotated

from msgspec import Meta

from tidings.views.view import Id, Json, Time, View, doc

RoleName = Annotated[str, Meta(extra_json_schema={"$ref": "#/components/schemas/Role"}, examples=["triggerOperator"])]
"""One of domain/roles.py's roles. A string, so that a client reads what a newer server knows."""


class ApiKey(View, frozen=True, kw_only=True):
    """A key, without the key itself."""

    id: Id
    name: Annotated[str, doc(example="signup form")]
    role: RoleName
    tenant: Annotated[str, doc(example="default")] = ""
    workspace: Annotated[str, doc(example="default")] = ""
    prefix: Annotated[str, doc("Its first characters, to tell keys apart.", "tid_8fKq2Lw0")] = ""
    created_at: Time
    created_by: Annotated[str, doc(example="key:first administrator")] = ""
    expires_at: Time | None = None
    last_used_at: Annotated[Time | None, doc("To the minute.")] = None
    revoked_at: Time | None = None


class CreatedKey(ApiKey, frozen=True, kw_only=True):
    """A new key with its secret, which is shown this once."""

    secret: Annotated[str, doc(example="tid_8fKq2Lw0…")]


class AuditLine(View, frozen=True, kw_only=True):
    """Something that was done."""

    id: Id
    workspace: Annotated[str, doc(example="default")]
    subject_kind: Annotated[str, doc(example="workflow")]
    subject_id: Id
    subject_name: Annotated[str | None, doc("What it is called; a contact by its externalId.", "welcome")] = None
    event: Annotated[str, doc(example="activated")]
    actor: Annotated[str, doc(example="key:signup form")]
    detail: Json = {}
    at: Time
