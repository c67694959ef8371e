"""The forms of an editor, as JSON schemas: of each node type, of the rest of a workflow, and of each channel's content.

They are made of what the parser itself goes by: fields.py, and the one table of channels (domain/channels.py). `format`
says what a field holds beyond its type: liquid, html, duration, time, condition, json, template, sender or function.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from tidings.domain.channels import (
    LAYOUT,
    MESSAGE_CHANNELS,
    SENDER,
    STEP_CHANNELS,
    Channel,
    ContentField,
    FieldKind,
    Holds,
)
from tidings.domain.comparison import WITHOUT_VALUE, Op
from tidings.domain.flow.graph import NodeType
from tidings.domain.names import LONGEST_NAME
from tidings.domain.people.filter_reader import FILTERS
from tidings.domain.workflows.content_reader import APPROVED_FIELDS, ATTACHMENT_FIELDS
from tidings.domain.workflows.definition import NODE_FIELDS
from tidings.domain.workflows.definition_reader import LONGEST_KEY
from tidings.domain.workflows.fields import (
    EDGE_FIELDS,
    HTML,
    ID,
    JSON,
    LIQUID,
    OPTIONS,
    REPORT,
    REPORT_FIELDS,
    RETRY,
    SEND_FIELDS,
    STEP_FIELDS,
    TEMPLATE,
    TO,
    TYPE,
    FormField,
    NumberField,
)
from tidings.domain.workflows.fields import FUNCTION as FUNCTION_NAME
from tidings.domain.workflows.fields import SENDER as SENDER_NAME
from tidings.views.node_types import (
    ChannelForm,
    LiquidTag,
    LiquidWords,
    NodeForm,
    NodeTypes,
    Operator,
    WorkflowForms,
)

Schema = dict[str, object]
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TITLES = {
    "html": "HTML",
    "mjml": "MJML",
    "url": "Link",
    "cc": "Copies",
    "bcc": "Hidden copies",
    "to": "To",
    "onError": "When an execution fails",
    "onFailure": "When it fails",
    "onDoubt": "While in doubt",
}
_ABOUT = {
    NodeType.DELAY: "Waits: for a while, or until a time.",
    NodeType.BRANCH: "Takes the first of its edges whose condition holds, or else the one without a condition.",
    NodeType.FUNCTION: "Calls a function of yours.",
}
_OF_THE_PARSER = {"content", "output", "illegal"}
"""What Liquid's parser calls what is no tag."""
_ONE_OF_DELAY = [{"required": [field.name]} for field in NODE_FIELDS[NodeType.DELAY]]


def title_of(name: str) -> str:
    """Return the words of a field's name."""
    return _TITLES.get(name) or " ".join(_WORDS.split(name)).capitalize()


def form_of(fields: Iterable[FormField], more: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these fields, and with `more` whose schemas are made already."""
    own = [*fields]
    required = [field.name for field in own if field.required]
    properties = {field.name: schema_of(field) for field in own} | dict(more or {})
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def schema_of(field: FormField) -> Schema:
    """Return the schema of one field."""
    named = {"title": field.title or title_of(field.name), "description": field.about} if field.name else {}
    made = {"anyOf": [schema_of(one) for one in field.either]} if field.either else _typed(field)
    told = {"format": field.format, "default": field.default, "sameAs": field.same_as}
    return {**named, **made, **{name: value for name, value in told.items() if value is not None}}


def _typed(field: FormField) -> Schema:
    made: Schema = {"type": field.type}
    if isinstance(field, NumberField):
        made |= {"minimum": field.least, "maximum": field.largest}
    if field.choices:
        made["enum"] = [str(one) for one in field.choices]
    if field.longest is not None:
        made |= {"minLength": 1, "maxLength": field.longest}
    if field.fields:
        made |= form_of(field.fields)
    if field.items:
        made |= {"items": schema_of(field.items)} | ({"maxItems": field.most} if field.most else {})
    return made


def content_schema(field: ContentField) -> Schema:
    """Return the schema of one part of a message."""
    return {"title": title_of(field.name), "description": field.about} | _KINDS[field.kind](field)


def _text(field: ContentField) -> Schema:
    return {"type": "string", "format": HTML if field.holds is Holds.HTML else LIQUID}


def _list(field: ContentField) -> Schema:
    one = _text(field)
    return {"anyOf": [one, {"type": "array", "items": one, "maxItems": field.most}]}


def _object(field: ContentField) -> Schema:
    names = {"minLength": 1, "maxLength": LONGEST_KEY}
    return {
        "type": "object",
        "propertyNames": names,
        "additionalProperties": _text(field),
        "maxProperties": field.most,
    }


def _json(_: ContentField) -> Schema:
    return {"anyOf": [{"type": "string", "format": JSON}, {"type": "object", "format": JSON}]}


def _files(field: ContentField) -> Schema:
    texts = {name: {"title": title_of(name), "type": "string"} for name in ATTACHMENT_FIELDS}
    liquid = {name: {**texts[name], "format": LIQUID} for name in ("url", "filename")}
    file = {"type": "object", "properties": {**texts, **liquid}, "required": [*liquid], "additionalProperties": False}
    return {"type": "array", "items": file, "maxItems": field.most}


def _approved(field: ContentField) -> Schema:
    texts: Schema = {name: {"title": title_of(name), "type": "string", "format": LIQUID} for name in APPROVED_FIELDS}
    parameters = {"title": title_of("parameters"), **_list(field)}
    properties = {**texts, "parameters": parameters}
    required = [name for name in APPROVED_FIELDS if name != "parameters"]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _choice(field: ContentField) -> Schema:
    return {"type": "string", "enum": [*field.choices]}


def _name(field: ContentField) -> Schema:
    return {"type": "string", "format": {LAYOUT: TEMPLATE, SENDER: SENDER_NAME}[field.name]}


def _number(field: ContentField) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": field.most}


_KINDS: Mapping[FieldKind, Callable[[ContentField], Schema]] = {
    FieldKind.TEXT: _text,
    FieldKind.LIST: _list,
    FieldKind.OBJECT: _object,
    FieldKind.JSON: _json,
    FieldKind.FILES: _files,
    FieldKind.APPROVED: _approved,
    FieldKind.CHOICE: _choice,
    FieldKind.NAME: _name,
    FieldKind.NUMBER: _number,
}


def content_form(channel: Channel) -> Schema:
    """Return the schema of a message over a channel: in campaigns, rules and steps of sequences as in nodes."""
    return form_of((), _content(channel)) | _demands(channel)


def _content(channel: Channel) -> dict[str, Schema]:
    return {field.name: content_schema(field) for field in channel.fields}


def _demands(channel: Channel) -> Schema:
    """Return what a message must have: a subject where its channel asks for one, and something that it says."""
    required = [str(channel.traits.subject)] if channel.traits.needs_subject else []
    says = [{"required": [field.name]} for field in channel.fields if field.says]
    return {"required": required, "anyOf": says}


def _needs_to(channel: Channel) -> bool:
    return not channel.reaches_contacts and channel.traits.default_recipient is None


def _send_form(channel: Channel) -> Schema:
    made = form_of((ID, _type(channel), TO), {**_content(channel), **_properties(SEND_FIELDS)})
    demands = _demands(channel)
    own = [ID.name, TYPE.name, *([TO.name] if _needs_to(channel) else []), *_names(demands["required"])]
    return made | demands | {"required": own}


def _report_form(channel: Channel) -> Schema:
    one = {"title": title_of(TO.name), "description": "Whom it is for: one recipient.", "type": "string"}
    to: dict[str, Schema] = {TO.name: {**one, "format": LIQUID}}
    made = form_of((_type(channel),), {**to, **_content(channel), **_properties((RETRY,))})
    demands = _demands(channel)
    return made | demands | {"title": str(channel), "required": [TYPE.name, TO.name, *_names(demands["required"])]}


def _names(given: object) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []


def _properties(fields: Iterable[FormField]) -> dict[str, Schema]:
    return {field.name: schema_of(field) for field in fields}


def _type(kind: str) -> FormField:
    return FormField(name=TYPE.name, about=TYPE.about, required=True, choices=(str(kind),))


def _node_form(kind: NodeType) -> Schema:
    made = form_of((ID, _type(kind), *NODE_FIELDS[kind]))
    return made | ({"oneOf": _ONE_OF_DELAY} if kind is NodeType.DELAY else {})


def _options_form() -> Schema:
    called = FormField(name="", about="", format=FUNCTION_NAME, longest=LONGEST_NAME)
    function = form_of(REPORT_FIELDS, {TYPE.name: schema_of(_type(NodeType.FUNCTION))})
    function |= {"title": str(NodeType.FUNCTION), "required": ["function"]}
    ways = [schema_of(called), function, *(_report_form(channel) for channel in MESSAGE_CHANNELS)]
    report: Schema = {"title": title_of(REPORT.name), "description": REPORT.about, "anyOf": ways}
    return form_of(OPTIONS, {REPORT.name: report})


@cache
def node_types() -> NodeTypes:
    """Return everything that an editor's forms are made of."""
    own = [
        NodeForm(type=kind, about=about, is_branch=kind is NodeType.BRANCH, schema=_node_form(kind))
        for kind, about in _ABOUT.items()
    ]
    sends = [
        NodeForm(type=one, about=f"Sends over {one}.", sends=True, schema=_send_form(one)) for one in MESSAGE_CHANNELS
    ]
    return NodeTypes(
        nodes=[*own, *sends],
        workflow=WorkflowForms(options=_options_form(), edge=form_of(EDGE_FIELDS), step=form_of(STEP_FIELDS)),
        channels=[_channel_form(channel) for channel in MESSAGE_CHANNELS],
        liquid=liquid_words(),
        operators=[Operator(name=one, takes_value=one not in WITHOUT_VALUE) for one in Op],
        contact_filters=[*FILTERS],
    )


def _channel_form(channel: Channel) -> ChannelForm:
    traits = channel.traits
    return ChannelForm(
        channel=channel,
        reaches_contacts=channel.reaches_contacts,
        needs_to=_needs_to(channel),
        in_steps=channel in STEP_CHANNELS,
        text=traits.text,
        subject=traits.subject,
        schema=content_form(channel),
    )


@cache
def liquid_words() -> LiquidWords:
    """Return the tags and filters that templates may use."""
    from tidings.domain.content.liquid.environment import environment_for  # noqa: PLC0415 – a third of a second

    found = environment_for(html=False)
    tags = [
        LiquidTag(name=name, end=tag.end if tag.block else None)
        for name, tag in sorted(found.tags.items())
        if name not in _OF_THE_PARSER
    ]
    return LiquidWords(filters=sorted(found.filters), tags=tags)
