"""Keys to the API, and the audit log."""

from typing import Annotated

from msgspec import Meta

from tidings.views.view import Id, Json, Time, View, doc

RoleName = Annotated[str, Meta(extra_json_schema={"$ref": "#/components/schemas/Role"}, examples=["triggerOperator"])]
"""One of the roles in domain/roles.py; a string, so that an older client can read a newer server's role."""


class ApiKey(View, frozen=True, kw_only=True):
    """A key without its secret."""

    id: Id
    name: Annotated[str, doc(example="signup form")]
    role: RoleName
    tenant: Annotated[str, doc(example="default")] = ""
    workspace: Annotated[str, doc(example="default")] = ""
    prefix: Annotated[str, doc("The first characters of the secret, to tell keys apart.", "tid_8fKq2Lw0")] = ""
    created_at: Time
    created_by: Annotated[str, doc(example="key:first operator")] = ""
    expires_at: Time | None = None
    last_used_at: Annotated[Time | None, doc("When the key was last used, to the minute.")] = None
    revoked_at: Time | None = None
    workflows: Annotated[list[str], doc("Of a publishable key: the workflows it may start.", ["welcome"])] = []
    origins: Annotated[
        list[str], doc("Of a publishable key: the web pages it may be used from.", ["https://example.com"])
    ] = []


class CreatedKey(ApiKey, frozen=True, kw_only=True):
    """A new key with its secret, which is shown only this once."""

    secret: Annotated[str, doc(example="tid_8fKq2Lw0…")]


class AuditLine(View, frozen=True, kw_only=True):
    """One entry of the audit log: who did what, to what, and when."""

    id: Id
    workspace: Annotated[str, doc(example="default")]
    subject_kind: Annotated[str, doc(example="workflow")]
    subject_id: Id
    subject_name: Annotated[str | None, doc("The subject's name; for a contact, its externalId.", "welcome")] = None
    event: Annotated[str, doc(example="activated")]
    actor: Annotated[str, doc(example="key:signup form")]
    detail: Json = {}
    at: Time
