"""The list of a contact's fields: every place that treats contacts field by field has all of them."""

import re
from importlib.resources import files

import pytest

from tidings.domain.people.contact_fields import (
    FIELDS,
    LIST_FIELDS,
    MERGED_FIELDS,
    PLAIN_FIELDS,
    SPELLINGS,
    TEMPLATE_FIELDS,
    ContactChange,
    camel_case,
)
from tidings.domain.people.contact_file import ContactFile, FileFormat
from tidings.http.contact_requests import GivenContact
from tidings.storage.statements import load, load_parts
from tidings.views.contacts import Contact

SCHEMA = files("tidings.storage").joinpath("schema.sql").read_text()


def columns_of_contacts() -> list[str]:
    table = re.search(r"^create table contacts \((.*?)^\)", SCHEMA, re.MULTILINE | re.DOTALL)
    assert table
    return re.findall(r"^    (\w+) +(?:text|jsonb)", table[1], re.MULTILINE)


def test_every_field_is_a_column_and_every_column_a_field() -> None:
    assert [one for one in columns_of_contacts() if one not in ("tenant_id", "workspace_id")] == [*FIELDS]


def test_every_field_is_given_stored_and_shown() -> None:
    words = {name: set(re.findall(r"\w+", load_parts()[name])) for name in load_parts()}

    for name in FIELDS:
        assert name in words["contact_columns"] & words["given_columns"] & words["given_arrays"], name
        assert name in ContactChange.__struct_fields__
        assert name in Contact.__struct_fields__
        assert name in GivenContact.model_fields


@pytest.mark.parametrize("statement", ["insert_contacts", "change_contacts", "erase_contact"])
def test_every_statement_that_writes_contacts_writes_every_field(statement: str) -> None:
    written = load("contacts")[statement].text

    assert [name for name in FIELDS if not re.search(rf"\b{name}\b", written)] == []


def test_nothing_of_a_deleted_contact_may_stay() -> None:
    check = re.search(r"contacts_erased_check check \((.*?)\n    \)", SCHEMA, re.DOTALL)
    assert check
    erased = {name for name in FIELDS if re.search(rf"\b{name}\b", check[1])}

    assert FIELDS.keys() - erased == {"external_id", "status"}, "one is null by another check, one says `deleted`"


def test_templates_see_the_same_of_a_contact_wherever_work_begins() -> None:
    built = re.search(r"select jsonb_build_object\(\s*'id', c\.id,(.*?)\)\s*into contact", SCHEMA, re.DOTALL)
    assert built
    in_sql = dict(re.findall(r"'(\w+)', c\.(\w+)", "'id', c.id," + built[1]))

    assert in_sql == dict(TEMPLATE_FIELDS)


def test_every_field_is_of_one_kind_and_has_both_spellings() -> None:
    assert [*FIELDS] == ["external_id", *(name for name in FIELDS if name in {*PLAIN_FIELDS, *MERGED_FIELDS})]
    assert {*PLAIN_FIELDS} >= LIST_FIELDS
    assert {spelled: name for name in FIELDS for spelled in (name, camel_case(name))} == SPELLINGS


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in MERGED_FIELDS])
def test_every_field_may_be_a_column_of_a_file(name: str) -> None:
    for column in (name, camel_case(name), name.replace("_", " ").upper(), *FIELDS[name].columns):
        file = ContactFile(FileFormat.CSV)
        [line] = [*file.feed(f"{column}\nx\n".encode()), *file.end()]
        assert line.raw is not None
        assert line.raw.keys() == {name}, column
