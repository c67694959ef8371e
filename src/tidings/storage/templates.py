"""Templates as people write them, and as what is published with them finds them.

Reached from resources/templates.py and kernel/templates.py.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tidings.domain.content.linking import FrozenTemplate
from tidings.domain.flow.ids import Workspace
from tidings.domain.paging import Span
from tidings.storage.database import Tx
from tidings.storage.statements import load
from tidings.views.templates import NamedTemplate, TemplateFormat, TemplateKind, TemplateUser, TemplateVersion

_SQL = load("templates")


class LockedTemplate(Struct, frozen=True):
    """A template that nobody else changes until the transaction ends."""

    id: UUID
    name: str
    kind: TemplateKind
    description: str | None


class RenderingTemplate(Struct, frozen=True):
    """A template that renders another."""

    id: UUID
    name: str


class CampaignContent(Struct, frozen=True):
    """What a campaign says."""

    id: UUID
    name: str
    content: Mapping[str, object]


class DraftContent(Struct, frozen=True):
    """What one step of a sequence's draft says."""

    id: UUID
    name: str
    subject: str | None
    content: object
    to: Sequence[str] | None


@_SQL.statement
async def insert_template(
    tx: Tx,
    *,
    id: UUID,
    workspace: Workspace,
    name: str,
    kind: TemplateKind,
    description: str | None,
    now: datetime,
) -> None:
    """Make a template unless its name is taken."""


@_SQL.statement
async def lock_template(
    tx: Tx, *, workspace: Workspace, id: UUID | None = None, name: str | None = None
) -> LockedTemplate | None:
    """Lock one template, by id or by name, until the transaction ends, and return it."""


@_SQL.statement
async def latest_template_version(tx: Tx, *, template_id: UUID) -> TemplateVersion | None:
    """The newest version of a template; None of one that was made a moment ago."""


@_SQL.statement
async def insert_template_version(
    tx: Tx,
    *,
    workspace: Workspace,
    template_id: UUID,
    number: int,
    format: TemplateFormat,  # noqa: A002
    text: str,
    renders: Sequence[str],
    created_by: str | None,
    now: datetime,
) -> None:
    """Freeze what a template says."""


@_SQL.statement
async def describe_template(tx: Tx, *, id: UUID, description: str | None, now: datetime) -> None:
    """Note that a template was changed, and describe it if a description is given."""


@_SQL.statement
async def show_template(
    tx: Tx, *, workspace: Workspace, id: UUID | None = None, name: str | None = None
) -> NamedTemplate | None:
    """A template by id or by name, if there is one."""


@_SQL.statement
async def list_templates(
    tx: Tx, *, workspace: Workspace, kind: str | None, span: Span, limit: int
) -> list[NamedTemplate]:
    """Templates, newest first."""


@_SQL.statement
async def list_template_versions(tx: Tx, *, workspace: Workspace, template_id: UUID) -> list[TemplateVersion]:
    """The versions of a template, newest first."""


@_SQL.statement
async def find_newest_templates(tx: Tx, *, workspace: Workspace, names: Sequence[str]) -> Mapping[str, FrozenTemplate]:
    """The newest versions of those of the templates that there are, by name."""


@_SQL.statement
async def list_template_names(tx: Tx, *, workspace: Workspace, limit: int) -> list[str]:
    """The names of a workspace's templates."""


@_SQL.statement
async def list_template_users(tx: Tx, *, workspace: Workspace, name: str) -> list[TemplateUser]:
    """The workflows, sequences and rules that keep a version of a template."""


@_SQL.statement
async def list_rendering_templates(tx: Tx, *, workspace: Workspace, names: Sequence[str]) -> list[RenderingTemplate]:
    """The templates that render one of these."""


@_SQL.statement
async def list_campaigns_with_words(tx: Tx, *, workspace: Workspace, words: Sequence[str]) -> list[CampaignContent]:
    """The campaigns whose content has one of these words in it."""


@_SQL.statement
async def list_drafts_with_words(tx: Tx, *, workspace: Workspace, words: Sequence[str]) -> list[DraftContent]:
    """The steps of sequences' drafts that have one of these words in them."""


@_SQL.statement
async def delete_template(tx: Tx, *, workspace: Workspace, id: UUID, now: datetime) -> UUID | None:
    """Hide a template; None when it does not exist."""
