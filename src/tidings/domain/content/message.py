"""One message as its author wrote it: which templates it has, and what a provider gets of them.

The same in workflows, sequences, campaigns and rules. A payload is text by name, frozen by the first mark; what has
parts is JSON in it. domain/channels.py says which fields a channel has, domain/workflows/content_reader.py reads them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from tidings.domain.channels import Channel, ContentField, FieldKind, Holds
from tidings.domain.content.attachment import AttachmentReference, problem_of_reference
from tidings.domain.content.finish import needs_finishing
from tidings.domain.content.links import problem_of_link
from tidings.domain.content.nested import filled, templates_in
from tidings.domain.content.post_length import problem_of_post
from tidings.domain.content.segments import problem_of_segments
from tidings.domain.content.template import RenderFailed
from tidings.domain.names import BREAKS_A_LINE
from tidings.domain.people.address import read_mailbox

LONGEST_LINE = 900
"""What fits in a header of an e-mail, folded or not, with room for its name."""
_SETTINGS = frozenset({FieldKind.CHOICE, FieldKind.NAME, FieldKind.NUMBER})


def _stored_order(channel: Channel) -> tuple[ContentField, ...]:
    """What is sent, in the order a stored payload has it, so that a repeat has the same bytes."""
    sent = [field for field in channel.fields if field.is_sent]
    return tuple(sorted(sent, key=lambda field: (len(field.name.encode()), field.name.encode())))


_SENT = {channel: _stored_order(channel) for channel in Channel}


@dataclass(frozen=True)
class MessageContent:
    """The content of a message by its fields, as it was written and read."""

    channel: Channel
    content: Mapping[str, object]

    @cached_property
    def templates(self) -> Mapping[str, str]:
        """What is rendered: each field that is one text, and each string with Liquid in the others, by its place."""
        found: dict[str, str] = {}
        for field in self.channel.fields:
            value = self.content.get(field.name)
            if field.kind in _SETTINGS or value is None:
                continue
            found |= {field.name: value} if isinstance(value, str) else dict(templates_in(value, field.name))
        return found

    @cached_property
    def needs_finishing(self) -> bool:
        """Whether the rendering process makes more of it than its templates say."""
        return self.channel is Channel.EMAIL and needs_finishing(self.content)

    def payload(self, fields: Mapping[str, str]) -> dict[str, str] | RenderFailed:
        """Return what a provider gets, made of what was rendered; or why it can never be sent."""
        if self._plain is not None:
            return {name: fields[name] for name in self._plain}
        try:
            payload = dict(self._parts(fields))
            self._check_limits(payload)
        except ValueError as error:
            return RenderFailed(str(error))
        return payload

    @cached_property
    def _plain(self) -> tuple[str, ...] | None:
        """The names of its fields where all of them are sent as they are rendered."""
        fields = [field for field in self.channel.fields if field.name in self.content]
        if self.needs_finishing or any(_is_special(field) for field in fields):
            return None
        return tuple(field.name for field in _SENT[self.channel] if field.name in self.content)

    def _parts(self, fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for field in _SENT[self.channel]:
            given = self.content.get(field.name)
            value = fields.get(field.name, given) if given is None or isinstance(given, str) else given
            if value is None:
                continue
            try:
                text = _WRITERS[field.kind](field, value, fields)
            except ValueError as error:
                raise ValueError(f"{field.name}: {error}") from None
            if text is not None:
                yield field.name, text

    def _check_limits(self, payload: Mapping[str, str]) -> None:
        most, network = self.content.get("maxSegments"), self.content.get("network")
        problem = None
        if isinstance(most, int | float):
            problem = problem_of_segments(payload.get("body", ""), int(most))
        elif isinstance(network, str):
            problem = problem_of_post(network, payload.get("body", ""))
        if problem:
            raise ValueError(f"body: {problem}")


def _is_special(field: ContentField) -> bool:
    return field.kind is not FieldKind.TEXT or field.holds not in (None, Holds.HTML) or not field.is_sent


def read_held(holds: Holds | None, text: str) -> str:
    """Return a rendered text as it is sent, in one spelling; raise ValueError if it cannot be what it should be."""
    return _READERS[holds](text) if holds in _READERS else text


def _line(text: str) -> str:
    line = text.strip()
    if found := BREAKS_A_LINE.search(line):
        raise ValueError(f"holds {found[0]!a}; write it in one line")
    if len(line) > LONGEST_LINE:
        raise ValueError(f"has {len(line):,} characters; use at most {LONGEST_LINE}")
    return line


def _link(text: str) -> str:
    link = _line(text)
    if problem := problem_of_link(link):
        raise ValueError(problem)
    return link


_READERS: Mapping[Holds | None, Callable[[str], str]] = {
    Holds.LINE: _line,
    Holds.MAILBOX: lambda text: read_mailbox(_line(text)),
    Holds.LINK: _link,
    Holds.HEADERS: _line,
}


def _text(field: ContentField, value: object, _fields: Mapping[str, str]) -> str | None:
    text = str(value)
    if field.holds not in _READERS:
        return text
    return read_held(field.holds, text) if text.strip() else None


def _list(field: ContentField, value: object, fields: Mapping[str, str]) -> str | None:
    texts = filled([value] if isinstance(value, str) else value, field.name, fields)
    listed = [str(one) for one in texts if str(one).strip()] if isinstance(texts, list) else []
    read = list(dict.fromkeys(read_held(field.holds, one) for one in listed))
    return _json(read) if read else None


def _object(field: ContentField, value: object, fields: Mapping[str, str]) -> str | None:
    texts = filled(value, field.name, fields)
    named = {str(name): str(text) for name, text in texts.items()} if isinstance(texts, Mapping) else {}
    if field.holds is None:
        return _json(named)
    read = {name: read_held(field.holds, text) for name, text in named.items() if text.strip()}
    return _json(read) if read else None


def _any_json(field: ContentField, value: object, fields: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        return _json(filled(value, field.name, fields))
    try:
        msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None
    return value


def _files(field: ContentField, value: object, fields: Mapping[str, str]) -> str | None:
    references = [_reference(one) for one in _listed(filled(value, field.name, fields))]
    wrong = next((problem for one in references if (problem := problem_of_reference(one))), None)
    if wrong:
        raise ValueError(wrong)
    return msgspec.json.encode(references).decode() if references else None


def _listed(value: object) -> list[Mapping[str, str]]:
    return value if isinstance(value, list) else []


def _reference(one: Mapping[str, str]) -> AttachmentReference:
    return AttachmentReference(
        one["url"].strip(), one["filename"].strip(), one.get("contentType"), one.get("contentId")
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_WRITERS: Mapping[FieldKind, Callable[[ContentField, object, Mapping[str, str]], str | None]] = {
    FieldKind.TEXT: _text,
    FieldKind.LIST: _list,
    FieldKind.OBJECT: _object,
    FieldKind.JSON: _any_json,
    FieldKind.APPROVED: _any_json,
    FieldKind.FILES: _files,
}
