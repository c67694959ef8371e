"""/v1/audit-log: what was done, by whom."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from tidings.http.access import Administrator
from tidings.http.openapi import CreatedIn, Cursor, Limit
from tidings.http.resource import resource_router
from tidings.views.keys import AuditLine
from tidings.views.pages import Page

router = resource_router("Administration")


@router.get("/v1/audit-log")
async def list_audit_log(
    context: Administrator,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
    subject: Annotated[UUID | None, Query(description="The id of what it was done to.")] = None,
    subject_kind: Annotated[
        str | None, Query(alias="subjectKind", max_length=50, description="What it was done to: `workflow`, `api_key`.")
    ] = None,
    actor: Annotated[
        str | None, Query(max_length=300, description="A part of who did it: `user:ada@example.com`, `key:`.")
    ] = None,
) -> Page[AuditLine]:
    """Everything that people and keys did in the tenant, newest first."""
    return await context.engine.access.audit(
        context.caller,
        subject=subject,
        subject_kind=subject_kind,
        actor=actor,
        limit=limit,
        created=created,
        cursor=cursor,
    )
