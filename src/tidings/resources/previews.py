"""What a person would receive of a workflow, a sequence or a rule, before anything is sent; nothing is stored.

What the data lacks is shown as it is written and named as a problem, so that the rest can be seen. Campaigns preview by
the same functions (resources/campaigns.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from msgspec import convert
from msgspec.structs import asdict

from tidings.domain.channels import HTML_FIELDS, Channel
from tidings.domain.content.message import MessageContent
from tidings.domain.content.preview import (
    lacking_variables,
    problems_of_payload,
    segments_of,
    size_of,
    with_stand_ins,
)
from tidings.domain.content.template import RenderFailed
from tidings.domain.errors import DefinitionInvalid, FieldsInvalid, Problem
from tidings.domain.flow.graph import Send
from tidings.domain.flow.ids import Workspace
from tidings.domain.flow.item import Payload
from tidings.domain.people.contact import CONTACT, ContactReference, LoadedContact, addresses_of, lack_of
from tidings.domain.rules.rule import read_rule
from tidings.domain.sequences.form import SequenceStep, steps_in
from tidings.domain.workflows.content_reader import read_message
from tidings.domain.workflows.definition import parse_workflow
from tidings.domain.workflows.unsaved import messages_in, moved, part_of
from tidings.kernel.flow.addressees import spelled
from tidings.kernel.kernel import Kernel
from tidings.kernel.people.contacts import load_people
from tidings.kernel.people.references import find_contacts, no_contact
from tidings.kernel.phone_region import numbers_of
from tidings.kernel.render.renderer import Rendered, RenderJob
from tidings.kernel.senders import know_senders, sent_by
from tidings.kernel.templates import know_stored_templates, link_templates
from tidings.resources.rules import Rules
from tidings.resources.sequences import Sequences
from tidings.resources.workflows import Workflows
from tidings.storage.acting import for_caller
from tidings.views.contacts import ContactName
from tidings.views.previews import Preview, SegmentCount

__all__ = ["Draft", "MessagePreviews", "render_drafts"]

Json = Mapping[str, object]
Shown = list[Preview]
NO_RESULTS: Json = {"vars": {}}
"""What an execution knows of its nodes before one has run: what templates print of them is empty."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to look at: which part of what it is, its recipients as they are written, and why it is skipped."""

    message: MessageContent
    part: str | None = None
    to: Sequence[str] = ()
    """Templates; none where it goes to the contact."""
    recipients: Sequence[str] = field(default=())
    skipped: str | None = None

    @property
    def templates(self) -> Mapping[str, str]:
        """Return what is rendered: the message, and whom it is for."""
        return {f"to.{place}": source for place, source in enumerate(self.to)} | dict(self.message.templates)


async def render_drafts(
    kernel: Kernel, workspace: Workspace, drafts: Sequence[Draft], data: Json, person: LoadedContact | None
) -> Shown:
    """Render messages with data and a contact, and say what is to be known of each."""
    now = await kernel.clock.now()
    known = {**data, **({CONTACT: person.data} if person else {})}
    await know_stored_templates(kernel, workspace, [list(one.templates.values()) for one in drafts])
    missing = [lacking_variables(one.templates.values(), known) for one in drafts]
    jobs = [
        RenderJob(
            one.templates,
            with_stand_ins(known, lacks),
            HTML_FIELDS,
            now,
            workspace,
            one.message.needs_finishing,
        )
        for one, lacks in zip(drafts, missing, strict=True)
    ]
    results = await kernel.renderer.render(jobs)
    await know_senders(kernel, [workspace], now)
    made = [sent_by(kernel, workspace, one.message, result) for one, result in zip(drafts, results, strict=True)]
    with await numbers_of(kernel, workspace):
        return [_shown(*one, person) for one in zip(drafts, missing, results, made, strict=True)]


def _shown(
    draft: Draft,
    missing: Sequence[str],
    result: Rendered | RenderFailed,
    made: Payload | RenderFailed,
    person: LoadedContact | None,
) -> Preview:
    payload: Payload = {} if isinstance(made, RenderFailed) else made
    channel = draft.message.channel
    fields = result.fields if isinstance(result, Rendered) else {}
    named = [spelled(channel, fields.get(f"to.{place}", source)) for place, source in enumerate(draft.to)]
    segments = segments_of(channel, payload)
    lacks = [f"{{{{ {path} }}}} is missing" for path in missing]
    return Preview(
        channel=channel,
        part=draft.part,
        contact_id=person.id if person else None,
        contact=_name_of(person) if person else None,
        recipients=named or draft.recipients,
        content=payload,
        size=size_of(channel, payload),
        segments=SegmentCount(**asdict(segments)) if segments else None,
        problems=[*lacks, *problems_of_payload(payload)],
        error=made.reason if isinstance(made, RenderFailed) else "; ".join(lacks) or None,
        skipped=draft.skipped,
    )


def _name_of(person: LoadedContact) -> ContactName:
    return convert({name: person.data[name] for name in ("externalId", "name", "email")}, ContactName)


def for_contact(draft: Draft, person: LoadedContact | None) -> Draft:
    """Return a draft that goes to the contact with the addresses it would go to, or why it would not."""
    channel = draft.message.channel
    if draft.to or not channel.reaches_contacts or person is None:
        return draft
    addresses = addresses_of(person.data, channel)
    skipped = person.refusal(channel) or (None if addresses else lack_of(channel))
    return Draft(draft.message, draft.part, (), addresses, skipped)


@for_caller
class MessagePreviews:
    """Shows what people would receive."""

    def __init__(self, kernel: Kernel, workflows: Workflows, sequences: Sequences, rules: Rules) -> None:
        self._kernel = kernel
        self._workflows, self._sequences, self._rules = workflows, sequences, rules

    async def content(
        self,
        workspace: Workspace,
        channel: Channel,
        content: Json,
        data: Json,
        *,
        to: Sequence[str] = (),
        contact_id: ContactReference | None = None,
    ) -> Shown:
        """Return what a message that is stored nowhere says: a campaign's, a rule's, a step's or a node's."""
        linked = await link_templates(self._kernel, workspace, {"channel": channel, "content": content})
        message = linked.read(lambda given: read_message(channel, as_object(given["content"])))
        return await self._show(workspace, [Draft(message, to=to)], data, None, contact_id)

    async def definition(
        self,
        workspace: Workspace,
        definition: Json,
        data: Json,
        *,
        part: str | None = None,
        contact_id: ContactReference | None = None,
    ) -> Shown:
        """Return what the sends of a definition that is stored nowhere, or one of its nodes, make of data."""
        given, place = part_of(definition, part) if part else (definition, "")
        try:
            sends = (await link_templates(self._kernel, workspace, given)).read(messages_in)
        except DefinitionInvalid as error:
            raise moved(error, place) if part else error from None
        drafts = [Draft(node.message, node.id, node.to) for node in sends]
        return await self._show(workspace, drafts, {**NO_RESULTS, **data}, part, contact_id)

    async def workflow(
        self,
        workspace: Workspace,
        id: UUID,
        data: Json,
        *,
        part: str | None = None,
        contact_id: ContactReference | None = None,
    ) -> Shown:
        """Return what the sends of a workflow's newest version, or one of its nodes, make of data."""
        found = await self._workflows.get(workspace, id)
        doers = parse_workflow(await self._linked(workspace, found.definition), is_stored=True).doers
        drafts = [Draft(node.message, node.id, node.to) for node in doers.values() if isinstance(node, Send)]
        return await self._show(workspace, drafts, {**NO_RESULTS, **data}, part, contact_id)

    async def sequence(
        self,
        workspace: Workspace,
        id: UUID,
        data: Json,
        *,
        part: str | None = None,
        contact_id: ContactReference | None = None,
    ) -> Shown:
        """Return what the steps of a sequence's draft, or one of them by its order, say to a contact."""
        written = await self._sequences.read(workspace, id)
        steps = [await self._step(workspace, step) for step in written.steps]
        drafts = [
            Draft(step.message_named(written.found.name), str(step.step_order), step.recipients) for step in steps
        ]
        return await self._show(workspace, drafts, data, part, contact_id)

    async def rule(self, workspace: Workspace, id: UUID, data: Json, *, part: str | None = None) -> Shown:
        """Return what the steps of a rule, or one of them by its order, make of an event's data."""
        found = await self._rules.get(workspace, id)
        key = {"trigger": found.trigger, "channel": found.channel, "audience": found.audience}
        rule = read_rule(await self._linked(workspace, {**key, "steps": found.steps}), is_stored=True)
        person = data.get(str(rule.key.audience))
        addresses = addresses_of(person, rule.key.channel) if isinstance(person, Mapping) else []
        drafts = [Draft(step.message, str(step.step_order), step.addresses, addresses) for step in rule.enabled_steps]
        return await self._show(workspace, drafts, data, part, None)

    async def _linked(self, workspace: Workspace, given: Json) -> Json:
        """Return a definition with the newest versions of the templates that it renders in their places."""
        return (await link_templates(self._kernel, workspace, given, is_stored=True)).given

    async def _step(self, workspace: Workspace, step: SequenceStep) -> SequenceStep:
        [read] = steps_in({"steps": [await self._linked(workspace, step.to_json())]})
        return read

    async def _show(
        self,
        workspace: Workspace,
        drafts: Sequence[Draft],
        data: Json,
        part: str | None,
        contact: ContactReference | None,
    ) -> Shown:
        chosen = [one for one in drafts if part is None or one.part == part]
        if not chosen:
            known = ", ".join(repr(one.part) for one in drafts[:20]) or "(there are none)"
            raise FieldsInvalid(
                [Problem("part", f"{part!r} sends nothing; use one of {known}")] if part else [_NOTHING]
            )
        person = await self._person(workspace, contact)
        return await render_drafts(self._kernel, workspace, [for_contact(one, person) for one in chosen], data, person)

    async def _person(self, workspace: Workspace, contact: ContactReference | None) -> LoadedContact | None:
        if contact is None:
            return None
        found = await find_contacts(self._kernel, workspace, [contact])
        if contact not in found:
            raise FieldsInvalid([no_contact("contactId", contact)])
        return (await load_people(self._kernel, [found[contact]]))[found[contact]]


def as_object(given: object) -> Json:
    """Return the content of a message, which is an object."""
    if not isinstance(given, Mapping):
        raise DefinitionInvalid([Problem("content", "give an object with the fields of a message")])
    return given


_NOTHING = Problem("part", "nothing of it sends a message; add something that does")
