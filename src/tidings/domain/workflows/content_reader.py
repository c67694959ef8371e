"""Reads whom a message is for and what it says: the fields that its channel has (domain/channels.py), and no others."""

import re
from collections.abc import Callable, Mapping, Sequence

from tidings.domain.channels import FIRST_FIELDS, HTML_FIELDS, LAYOUT, Channel, ContentField, FieldKind, Holds
from tidings.domain.content import template
from tidings.domain.content.attachment import problem_of_content_id, problem_of_template
from tidings.domain.content.links import problem_of_links
from tidings.domain.content.mail_headers import problem_of_header
from tidings.domain.content.message import MessageContent, read_held
from tidings.domain.content.post_length import problem_of_post
from tidings.domain.content.segments import problem_of_segments
from tidings.domain.errors import InputInvalid, TemplateInvalid
from tidings.domain.messages import quoted, unfit
from tidings.domain.names import BREAKS_A_LINE, problem_of_slug
from tidings.domain.workflows.definition_reader import LONGEST_KEY, Raw, Reader, below, is_within
from tidings.domain.workflows.function import check_url

_CONTENT_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")
ATTACHMENT_FIELDS = ("url", "filename", "contentType", "contentId")
APPROVED_FIELDS = ("name", "language", "parameters")


class ContentReader(Reader):
    """Keeps the problems of messages beside those of the rest."""

    def recipients(self, raw: object, channel: Channel, place: str) -> tuple[str, ...]:
        """Whom a send is for; left out, the contact that an execution walks for, or the connection's one place."""
        if raw is None and channel.traits.default_recipient:
            return (channel.traits.default_recipient,)
        if raw is None and channel.reaches_contacts:
            return ()
        given = [raw] if isinstance(raw, str) else raw
        if not isinstance(given, Sequence) or not given or not all(isinstance(one, str) and one for one in given):
            self.add(below(place, "to"), "name at least one recipient: an address, or a template such as {{ email }}")
            return ()
        for one in given:
            self.check_template(str(one), below(place, "to"), html=False)
            if channel is Channel.WEBHOOK:
                self.check_webhook(str(one), below(place, "to"))
        return tuple(str(one) for one in given)

    def check_webhook(self, to: str, place: str) -> None:
        """Refuse an address that no webhook has; one that data makes is checked when it is called."""
        if self.is_stored or template.has_liquid(to) or to == Channel.WEBHOOK.traits.default_recipient:
            return
        try:
            check_url(to)
        except InputInvalid:
            self.add(
                place, f"{quoted(to)} is no address of a webhook: write it like https://example.com/hook, or default"
            )

    def content(
        self, raw: Raw, channel: Channel, place: str, *, needs_subject: bool | None = None
    ) -> Mapping[str, object]:
        """The content of a message: what is given of its channel's fields."""
        given = {field: value for field in channel.fields if (value := self.get(raw, field.name)) is not None}
        if channel.traits.needs_subject if needs_subject is None else needs_subject:
            self.check_has_subject(raw, channel, place)
        self.check_says_something({field.name for field in given}, channel, place)
        found = self.found
        content = {field.name: self.field(field, value, below(place, field.name)) for field, value in given.items()}
        if not self.is_stored and self.found == found:
            self.check_limits(content, place)
        return content

    def check_has_subject(self, given: Raw, channel: Channel, place: str) -> None:
        """Refuse an e-mail without a subject."""
        subject = channel.traits.subject
        if not self.is_stored and not given.get(str(subject)):
            self.add(f"{place}.{subject}", f"an {channel} needs a {subject}")

    def check_says_something(self, given: set[str], channel: Channel, place: str) -> None:
        """Refuse a message without a text, or with two of the same."""
        says = [field.name for field in channel.fields if field.says]
        if not given.intersection(says):
            self.add(f"{place}.{channel.traits.html or channel.traits.text}", f"an {channel} needs {' or '.join(says)}")
        if LAYOUT in given and not given & HTML_FIELDS:
            self.add(f"{place}.{LAYOUT}", "wraps the HTML of a message, and there is none; give html with it")
        if "mjml" in given and "html" in given and not self.is_stored:
            self.add(f"{place}.mjml", "is compiled to html: give either of them")

    def check_limits(self, content: Raw, place: str) -> None:
        """Refuse a text that is too long whatever the data."""
        body, most, network = content.get("body"), content.get("maxSegments"), content.get("network")
        if not isinstance(body, str) or template.has_liquid(body):
            return
        problem = problem_of_segments(body, most) if isinstance(most, int) else None
        problem = problem_of_post(network, body) if isinstance(network, str) else problem
        if problem:
            self.add(f"{place}.body", problem)

    def field(self, field: ContentField, value: object, place: str) -> object:
        """One field, as its kind says."""
        return _KINDS[field.kind](self, field, value, place)

    def _text(self, field: ContentField, value: object, place: str) -> str:
        if not isinstance(value, str):
            self.add(place, f"{quoted(value)} is not a string")
            return ""
        self.check_template(value, place, html=field.holds is Holds.HTML)
        if not self.is_stored:
            self.check_fixed(field, value, place)
        return value

    def check_fixed(self, field: ContentField, source: str, place: str) -> None:
        """Refuse what is wrong with a text whatever the data."""
        if field.name == Channel.EMAIL.traits.subject and field.name in FIRST_FIELDS:
            self.check_subject(source, place)
        elif field.holds is Holds.HTML:
            if problem := problem_of_links(source):
                self.add(place, problem)
        elif field.holds is not None and source.strip() and not template.has_liquid(source):
            try:
                read_held(field.holds, source)
            except ValueError as error:
                self.add(place, str(error))

    def check_subject(self, source: str, place: str) -> None:
        """Refuse the subject of an e-mail that would break out of its line, whatever the data."""
        if self.is_stored:
            return
        try:
            found = BREAKS_A_LINE.search(template.fixed_text(source))
        except TemplateInvalid:
            return  # said already
        if found:
            self.add(place, f"holds {found[0]!a}; a subject is one line, without line breaks, tabs or the like")

    def _list(self, field: ContentField, value: object, place: str) -> list[str]:
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list | tuple) or len(given) > field.most:
            self.add(place, f"{quoted(value)} is not a string, nor a list of at most {field.most} strings")
            return []
        return [self._text(field, one, f"{place}[{number}]") for number, one in enumerate(given)]

    def _object(self, field: ContentField, value: object, place: str) -> dict[str, str]:
        if not isinstance(value, Mapping) or len(value) > field.most:
            self.add(place, f"{quoted(value)} is not an object of at most {field.most} names, each with a string")
            return {}
        for name in value:
            self._check_name(field, name, place)
        return {str(name): self._text(field, one, f"{place}.{name}") for name, one in value.items()}

    def _check_name(self, field: ContentField, name: object, place: str) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_KEY:
            self.add(place, f"{quoted(name)} is not a name: use 1 to {LONGEST_KEY} characters")
        elif field.holds is Holds.HEADERS and not self.is_stored and (wrong := problem_of_header(name)):
            self.add(f"{place}.{name}", wrong)

    def _json(self, field: ContentField, value: object, place: str) -> object:
        return self._text(field, value, place) if isinstance(value, str) else self.json_object(value, place)

    def _approved(self, field: ContentField, value: object, place: str) -> dict[str, object]:
        if not isinstance(value, Mapping):
            self.add(place, f"{quoted(value)} is not an object with name, language and parameters")
            return {}
        self.known_fields(value, APPROVED_FIELDS, place)
        for name in ("name", "language"):
            if not isinstance(value.get(name), str) or not value[name]:
                self.add(f"{place}.{name}", f"{unfit(value.get(name), 'is not a string with something in it')}")
        return {
            "name": self._text(field, value.get("name", ""), f"{place}.name"),
            "language": self._text(field, value.get("language", ""), f"{place}.language"),
            "parameters": self._list(field, value.get("parameters", ()), f"{place}.parameters"),
        }

    def _files(self, field: ContentField, value: object, place: str) -> list[dict[str, str]]:
        if not isinstance(value, list | tuple) or len(value) > field.most:
            self.add(place, f"give a list of at most {field.most} objects with url and filename")
            return []
        return [self._file(one, f"{place}[{number}]") for number, one in enumerate(value)]

    def _file(self, raw: object, place: str) -> dict[str, str]:
        if not isinstance(raw, Mapping):
            self.add(place, "an attachment is an object with url and filename")
            return {}
        self.known_fields(raw, ATTACHMENT_FIELDS, place)
        file = {name: self._reference(raw, name, place) for name in ("url", "filename")}
        kind, id = self.get(raw, "contentType"), self.get(raw, "contentId")
        if kind is not None and not (isinstance(kind, str) and _CONTENT_TYPE.fullmatch(kind)):
            self.add(f"{place}.contentType", f"{quoted(kind)} is no content type: write it like application/pdf")
        if id is not None and (wrong := problem_of_content_id(id) if isinstance(id, str) else f"{quoted(id)}"):
            self.add(f"{place}.contentId", wrong)
        return file | {name: str(one) for name, one in (("contentType", kind), ("contentId", id)) if one is not None}

    def _reference(self, raw: Raw, name: str, place: str) -> str:
        given = raw.get(name)
        if not isinstance(given, str) or not given.strip():
            what = unfit(given, "is not a string with something in it")
            self.add(f"{place}.{name}", f"{what}; it may be a template like {{{{ quote.{name} }}}}")
            return ""
        self.check_template(given, f"{place}.{name}", html=False)
        if not self.is_stored and (wrong := problem_of_template(name, given)):
            self.add(f"{place}.{name}", wrong)
        return given

    def _choice(self, field: ContentField, value: object, place: str) -> str:
        if value not in field.choices:
            self.add(place, f"{quoted(value)} is not one of {', '.join(field.choices)}")
        return str(value)

    def _name(self, _field: ContentField, value: object, place: str) -> str:
        if wrong := problem_of_slug(value):
            self.add(place, wrong)
        return str(value)

    def _number(self, field: ContentField, value: object, place: str) -> int:
        if not is_within(value, 1, field.most) or value != int(value):
            self.add(place, f"{quoted(value)} is not a whole number from 1 to {field.most}")
            return 1
        return int(value)


def read_message(channel: Channel, given: Raw) -> MessageContent:
    """Return a message that is being written, perhaps still without its subject, or raise DefinitionInvalid."""
    reader = ContentReader()
    reader.known_fields(given, channel.content_fields, "content")
    content = reader.content(given, channel, "content", needs_subject=False)
    reader.raise_if_any()
    return MessageContent(channel, content)


_KINDS: Mapping[FieldKind, Callable[[ContentReader, ContentField, object, str], object]] = {
    FieldKind.TEXT: ContentReader._text,
    FieldKind.LIST: ContentReader._list,
    FieldKind.OBJECT: ContentReader._object,
    FieldKind.JSON: ContentReader._json,
    FieldKind.FILES: ContentReader._files,
    FieldKind.APPROVED: ContentReader._approved,
    FieldKind.CHOICE: ContentReader._choice,
    FieldKind.NAME: ContentReader._name,
    FieldKind.NUMBER: ContentReader._number,
}
