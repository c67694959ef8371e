"""Files of contacts, read line by line from pieces of any size: CSV with a header, or a JSON object on each line.

Holds one line at a time, however long the file is and whatever is in it. A line that cannot be read is told with its
number and the reason, and the next one is read as if it had not been there.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from tidings.domain.errors import InputInvalid
from tidings.domain.people.contact_fields import FIELDS, LIST_FIELDS, MERGED_FIELDS, SPELLINGS

LONGEST_LINE = 262_144
MOST_LINES_OF_A_RECORD = 50
MOST_COLUMNS = 500
_DELIMITERS = ",;\t|"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LIST_SEPARATORS = re.compile(r"[,;|]")
_NOT_A_LETTER = re.compile(r"[\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALIASES: Mapping[str, str] = {
    **{_NOT_A_LETTER.sub("", name): name for name in SPELLINGS.values() if name not in MERGED_FIELDS},
    **{column: name for name, field in FIELDS.items() for column in field.columns},
}


class FileFormat(StrEnum):
    """How a file says what is in it."""

    CSV = "csv"
    NDJSON = "ndjson"


class Line(NamedTuple):
    """One record of a file: where it begins, and what it says or why it cannot be read."""

    number: int
    raw: Mapping[str, Any] | None
    reason: str = ""


Columns = Mapping[str, str]
"""Which column is which field: `attributes.plan` for what is one's own, nothing for a column to leave out."""


def read_columns(pairs: Sequence[str]) -> Columns:
    """Read `column=field` pairs."""
    columns = {}
    for pair in pairs:
        column, equals, field = pair.rpartition("=")
        if not equals or not column.strip():
            raise InputInvalid(f"the mapping {pair!r} is not column=field; write it like 'Mail address=email'")
        columns[column.strip().casefold()] = _target(field.strip(), pair)
    return columns


def _target(field: str, pair: str) -> str:
    known = SPELLINGS.get(field, "")
    if not field or _is_inner(field) or (known and known not in MERGED_FIELDS):
        return known or field
    fields = ", ".join(sorted({*SPELLINGS.values()} - {*MERGED_FIELDS}))
    raise InputInvalid(f"the mapping {pair!r} names no field; use {fields}, attributes.NAME or consent.CHANNEL")


def _is_inner(field: str) -> bool:
    """Whether a field is inside another, as attributes.plan and consent.email are."""
    outer, _, inner = field.partition(".")
    return outer in MERGED_FIELDS and bool(inner)


def attribute_of(column: str) -> str:
    """The attribute of a column that is not a field: its words in camelCase, so that a template can name it."""
    words = [word.lower() for part in _NOT_A_LETTER.split(column) for word in _HUMP.split(part) if word]
    if not words:
        raise InputInvalid(
            f"the column {column!r} has no letter in its name; map it to a field or leave it out: {column}="
        )
    return words[0] + "".join(word.capitalize() for word in words[1:])


class ContactFile:
    """Takes the bytes of a file piece by piece, and returns the records that are complete."""

    def __init__(self, kind: FileFormat, columns: Columns | None = None) -> None:
        self._lines = _Lines()
        self._records = _Csv(columns or {}) if kind is FileFormat.CSV else _Ndjson()

    @property
    def fields(self) -> Columns:
        """What each column of the header became, once that is read; a file of objects has none."""
        return self._records.fields

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The records that end in this piece of the file."""
        for line in self._lines.feed(chunk):
            yield from self._records.read(line)

    def end(self) -> Iterator[Line]:
        """What is left at the end of the file."""
        for line in self._lines.end():
            yield from self._records.read(line)
        yield from self._records.end()


class _Text(NamedTuple):
    """A decoded line, or why it cannot be decoded."""

    number: int
    text: str
    reason: str = ""


class _Lines:
    """Cuts bytes into lines; of a line that is too long nothing is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._number = 0
        self._too_long = False

    def feed(self, chunk: bytes) -> Iterator[_Text]:
        known = self._rest + chunk
        if not self._number:
            self._refuse_utf16(known)
        *whole, rest = known.split(b"\n")
        for line in whole:
            yield self._line(line)
        self._rest = rest
        if len(rest) > LONGEST_LINE:
            self._rest, self._too_long = b"", True

    def end(self) -> Iterator[_Text]:
        if self._rest or self._too_long:
            yield self._line(self._rest)
            self._rest = b""

    @staticmethod
    def _refuse_utf16(beginning: bytes) -> None:
        if beginning.startswith(_UTF16):
            raise InputInvalid("the file is UTF-16; save it as UTF-8 ('CSV UTF-8' in a spreadsheet) and send it again")

    def _line(self, line: bytes) -> _Text:
        self._number += 1
        if self._too_long or len(line) > LONGEST_LINE:
            self._too_long = False
            return _Text(self._number, "", f"the line is longer than {LONGEST_LINE:,} bytes")
        if self._number == 1:
            line = line.removeprefix(_BOM)
        try:
            return _Text(self._number, line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            what = f"byte 0x{line[error.start]:02x} at place {error.start + 1} is not UTF-8; save the file as UTF-8"
            return _Text(self._number, "", what)


class _Ndjson:
    """A JSON object on each line."""

    fields: Columns = MappingProxyType({})

    def read(self, line: _Text) -> Iterator[Line]:
        if line.reason:
            yield Line(line.number, None, line.reason)
        elif line.text.strip():
            yield self._decoded(line)

    def end(self) -> Iterator[Line]:
        return iter(())

    @staticmethod
    def _decoded(line: _Text) -> Line:
        try:
            raw = msgspec.json.decode(line.text)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            return Line(line.number, None, f"the line is not JSON: {error}")
        if not isinstance(raw, dict):
            return Line(line.number, None, "the line is no JSON object")
        return Line(line.number, raw)


class _Csv:
    """Values between delimiters under the names of a header; a quoted value may go over several lines."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._header: list[str] | None = None
        self._delimiter = ","
        self._open: list[_Text] = []
        self.fields: Columns = {}

    def read(self, line: _Text) -> Iterator[Line]:
        if self._open and (line.reason or len(self._open) >= MOST_LINES_OF_A_RECORD or self._is_too_long()):
            yield from self._give_up()
        if line.reason:
            yield self._unreadable(line)
        elif self._open or line.text.strip():
            self._open.append(line)
            yield from self._try()

    def end(self) -> Iterator[Line]:
        while self._open:
            yield from self._give_up()
        if self._header is None:
            raise InputInvalid("the file is empty; its first line must name the columns")

    def _unreadable(self, line: _Text) -> Line:
        if self._header is None:
            raise InputInvalid(f"the first line, which must name the columns, cannot be read: {line.reason}")
        return Line(line.number, None, line.reason)

    def _is_too_long(self) -> bool:
        return sum(len(line.text) for line in self._open) > LONGEST_LINE

    def _try(self) -> Iterator[Line]:
        """Read what is open as one record; a quote that is not closed yet needs the next line."""
        number = self._open[0].number
        try:
            values = self._values([f"{line.text}\n" for line in self._open])
        except csv.Error as error:
            if "unexpected end" in str(error):
                return
            if len(self._open) > 1:
                yield from self._give_up()
                return
            self._open = []
            yield self._unreadable(_Text(number, "", f"the line is no CSV: {error}"))
            return
        self._open = []
        if self._header is None:
            self._read_header(values)
        elif any(value.strip() for value in values):
            yield self._record(number, values)

    def _values(self, lines: list[str]) -> list[str]:
        if self._header is None:
            self._delimiter = max(_DELIMITERS, key=lines[0].count)
        rows = list(csv.reader(lines, delimiter=self._delimiter, strict=True))
        return rows[0] if rows else []

    def _give_up(self) -> Iterator[Line]:
        """The quote of the first open line is never closed: tell it, and read those after it again."""
        first, *others = self._open
        self._open = []
        yield self._unreadable(_Text(first.number, "", "a quote is opened and never closed"))
        for line in others:
            yield from self.read(line)

    def _read_header(self, names: list[str]) -> None:
        if len(names) > MOST_COLUMNS:
            raise InputInvalid(f"the file has {len(names)} columns: use at most {MOST_COLUMNS}")
        header = [self._field(name.strip()) for name in names]
        missing = self._columns.keys() - {name.strip().casefold() for name in names}
        if missing:
            raise InputInvalid(f"the file has no column {', '.join(sorted(missing))}; it has {', '.join(names)}"[:1000])
        for field in header:
            self._refuse_repeated(
                field, [name.strip() for name, one in zip(names, header, strict=True) if one == field]
            )
        self._header = header
        self.fields = {name.strip(): field for name, field in zip(names, header, strict=True)}

    @staticmethod
    def _refuse_repeated(field: str, columns: Sequence[str]) -> None:
        if field and len(columns) > 1:
            named = " and ".join(repr(column) for column in columns)
            shown = next((name for name, one in SPELLINGS.items() if one == field and "_" not in name), field)
            raise InputInvalid(
                f"the columns {named} are the same: {shown}; map all but one to another field, or to nothing as in "
                f"{columns[-1]}="
            )

    def _field(self, column: str) -> str:
        """The field of a column: as mapped, by its name, or else an attribute."""
        mapped = self._columns.get(column.casefold())
        if mapped is not None:
            return mapped
        if not column or _is_inner(column):
            return column
        return _ALIASES.get(_NOT_A_LETTER.sub("", column.casefold())) or f"attributes.{attribute_of(column)}"

    def _record(self, number: int, values: list[str]) -> Line:
        header = self._header or []
        if len(values) > len(header):
            return Line(number, None, f"has {len(values)} values for {len(header)} columns; put quotes around a comma")
        raw: dict[str, Any] = {}
        for field, value in zip(header, values, strict=False):
            text = value.strip()
            if not field or not text:
                continue  # an empty cell says nothing: clearing a field takes more than leaving a hole
            if field in LIST_FIELDS:
                raw[field] = [part for one in _LIST_SEPARATORS.split(text) if (part := one.strip())]
            elif "." in field:
                outer, _, inner = field.partition(".")
                raw.setdefault(outer, {})[inner] = text
            else:
                raw[field] = text
        return Line(number, raw)
