"""Files of contacts: what each line says, in whatever pieces it comes, and what is told of those that say nothing."""

import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidings.domain.errors import InputInvalid
from tidings.domain.people.contact_file import ContactFile, FileFormat, Line, read_columns


def lines(content: bytes, *mapping: str, kind: FileFormat = FileFormat.CSV, pieces: int = 7) -> list[Line]:
    file = ContactFile(kind, read_columns(mapping))
    found: list[Line] = []
    for first in range(0, len(content), pieces):
        found += file.feed(content[first : first + pieces])
    return [*found, *file.end()]


def records(content: bytes, *mapping: str, **how: Any) -> list[Any]:
    return [line.raw for line in lines(content, *mapping, **how)]


def numbers(found: Sequence[Line]) -> list[tuple[int, bool]]:
    return [(line.number, line.raw is not None) for line in found]


def test_columns_are_known_by_their_names_however_they_are_written() -> None:
    header = b"External ID,E-Mail,Full name,phone_number,TimeZone,Tags,Plan,attributes.seats,consent.email\n"

    assert records(header + b'7,ada@example.com,"Lovelace, Ada",+44,UTC,"vip, new;x",pro,3,granted\n') == [
        {
            "external_id": "7",
            "email": "ada@example.com",
            "name": "Lovelace, Ada",
            "phone": "+44",
            "time_zone": "UTC",
            "tags": ["vip", "new", "x"],
            "attributes": {"plan": "pro", "seats": "3"},
            "consent": {"email": "granted"},
        }
    ]


@pytest.mark.parametrize("column", ["External ID", "external_id", "externalId", "EXTERNAL-ID", "externalid"])
def test_a_field_is_known_in_any_spelling(column: str) -> None:
    assert records(f"{column}\n7\n".encode()) == [{"external_id": "7"}]


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        *(("First Name", "firstName"), ("first_name", "firstName"), ("firstName", "firstName")),
        *(("FIRST-NAME", "firstName"), ("Company Size", "companySize"), ("plan", "plan"), ("CRM ID", "crmId")),
        *(("HTMLBody", "htmlBody"), ("Umsatz Q1 (€)", "umsatzQ1"), ("Größe", "größe"), ("2024 revenue", "2024Revenue")),
    ],
)
def test_any_other_column_is_an_attribute_in_camel_case(column: str, attribute: str) -> None:
    assert records(f'"{column}"\nx\n'.encode()) == [{"attributes": {attribute: "x"}}]


def test_an_attribute_that_is_named_keeps_its_spelling() -> None:
    found = records(b"attributes.First Name,Size\nAda,9\n", "Size=attributes.Company Size")

    assert found == [{"attributes": {"First Name": "Ada", "Company Size": "9"}}]


def test_columns_are_mapped_and_left_out() -> None:
    content = b"Kundennummer,Mail (privat),Tarif,Notiz\n7,ada@example.com,pro,shy\n"

    mapped = records(content, "kundennummer=externalId", "Mail (privat)=email", "Tarif=attributes.plan", "Notiz=")

    assert mapped == [{"external_id": "7", "email": "ada@example.com", "attributes": {"plan": "pro"}}]


@pytest.mark.parametrize("wrong", ["email", "=email", "a=nickname", "a=attributes", "a=attributes.", "a=consent"])
def test_a_mapping_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InputInvalid, match="mapping"):
        read_columns([wrong])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"a,b\n", "no column gone"),
        (b"email,E-Mail\n", "the columns 'email' and 'E-Mail' are the same: email; map all but one .* as in E-Mail="),
        (b"First Name,first_name\n", "'First Name' and 'first_name' are the same: attributes.firstName"),
        (b"External ID,external_id\n", "are the same: externalId"),
        (b"email,%\n", "'%' has no letter"),
        ("naïve\n".encode("latin-1"), "first line"),
        ("email\n".encode("utf-16"), "UTF-16"),
        (b"," * 600 + b"\n", "600|601"),
        (b'"email\n' * 60, "first line"),
    ],
)
def test_a_file_without_a_header_that_can_be_used_is_refused(content: bytes, words: str) -> None:
    mapping = ["gone=email"] if content == b"a,b\n" else []

    with pytest.raises(InputInvalid, match=words):
        lines(content, *mapping, pieces=10_000)


def test_an_empty_cell_says_nothing_and_an_empty_line_is_none() -> None:
    assert lines(b"email,name\n\nada@example.com,\n,,\n  \n,Ada\n") == [
        Line(3, {"email": "ada@example.com"}),
        Line(6, {"name": "Ada"}),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_other_delimiters_line_ends_and_a_byte_order_mark_are_understood(delimiter: str, end: str) -> None:
    text = f"email{delimiter}name{end}ada@example.com{delimiter}Ada{end}eve@example.com{delimiter}Eve"

    assert records(b"\xef\xbb\xbf" + text.encode()) == [
        {"email": "ada@example.com", "name": "Ada"},
        {"email": "eve@example.com", "name": "Eve"},
    ]


def test_a_quoted_value_may_go_over_lines_and_the_next_record_has_its_own_number() -> None:
    found = lines(b'email,name\nada@example.com,"Ada\nLovelace ""Countess"""\neve@example.com,Eve\n')

    assert found == [
        Line(2, {"email": "ada@example.com", "name": 'Ada\nLovelace "Countess"'}),
        Line(4, {"email": "eve@example.com", "name": "Eve"}),
    ]


def test_a_broken_line_costs_no_other_line() -> None:
    content = b"".join(
        [
            *(b"email,name\n", b"1@example.com,One\n", b"2@example.com,caf\xe9\n", b"3@example.com,Three,more\n"),
            *(b'4@example.com,"Four" x\n', b"5@example.com,Five\n", b'6@example.com,"open\n'),
            *(b"7@example.com,Seven\n", b'8@example.com,"Eight"\n', b"9@example.com,N\x00\n"),
        ]
    )

    found = lines(content)

    assert [line.number for line in found if line.raw is None] == [3, 4, 5, 7]
    assert [line.raw["email"] for line in found if line.raw] == [f"{n}@example.com" for n in (1, 5, 7, 8, 9)]
    assert {line.number: line.reason for line in found if line.reason} == {
        3: "byte 0xe9 at place 18 is not UTF-8; save the file as UTF-8",
        4: "has 3 values for 2 columns; put quotes around a comma",
        5: "the line is no CSV: ',' expected after '\"'",
        7: "a quote is opened and never closed",
    }


def test_a_quote_that_is_never_closed_costs_one_line_at_the_end_too() -> None:
    found = lines(b'email,name\n1@example.com,"One\n' + b"2@example.com,Two\n" * 200)

    assert numbers(found) == [(2, False), *((number, True) for number in range(3, 203))]


def test_json_lines_are_read_one_by_one() -> None:
    content = b'{"email": "ada@example.com"}\n\n[1]\n{"a": \nnot json\n{"email": "\xff"}\n' + b"[" * 100_000
    content += b'\n{"name": "Eve"}'

    found = lines(content, kind=FileFormat.NDJSON, pieces=1_000)

    assert numbers(found) == [(1, True), (3, False), (4, False), (5, False), (6, False), (7, False), (8, True)]
    assert found[-1].raw == {"name": "Eve"}


def test_a_line_without_end_is_told_and_not_kept() -> None:
    file = ContactFile(FileFormat.NDJSON)
    tracemalloc.start()
    for _ in range(2_000):
        assert [*file.feed(b"x" * 65_536)] == []
    [told] = file.feed(b"\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (told.number, told.raw) == (1, None)
    assert peak < 5_000_000
    assert [*file.feed(b'{"name": "Ada"}\n')] == [Line(2, {"name": "Ada"})]


@given(st.binary(max_size=400), st.integers(1, 50), st.sampled_from(FileFormat))
@example(b"\xff\xfea\x00", 1, FileFormat.NDJSON)
def test_whatever_is_in_a_file_every_line_is_told_once_in_any_pieces(
    content: bytes, pieces: int, kind: FileFormat
) -> None:
    file = b"email,name\n" + content if kind is FileFormat.CSV else content
    if file.startswith((b"\xff\xfe", b"\xfe\xff")):
        with pytest.raises(InputInvalid, match="UTF-16"):
            lines(file, kind=kind, pieces=pieces)
        return

    found = lines(file, kind=kind, pieces=pieces)

    assert found == lines(file, kind=kind, pieces=1_000_000)
    assert [line.number for line in found] == sorted({line.number for line in found})
