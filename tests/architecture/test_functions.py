"""The functions that write several tables in one round trip keep the rules of statements."""

import re
from itertools import chain

from tests.architecture.sql_text import queries, tokens, unbound_tables
from tests.architecture.test_statements import STORAGE, forbidden, inserts_from_unnest_alone, statement
from tidings.storage.statements import Statement

_SECTION = re.compile(r"^-- § (.*?)(?=^-- § |\Z)", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"^create function (\w+)\((.*?)\) returns .*?^\$\$\n(.*?)^\$\$;", re.MULTILINE | re.DOTALL)
_WRITE = re.compile(r"\b(?:insert into|update|delete from)\b.*?(?=;|\n +loop\b)", re.DOTALL)


def functions() -> dict[str, str]:
    """The bodies of the engine's own writing functions, by name."""
    schema = (STORAGE / "schema.sql").read_text()
    [section] = [
        one for one in _SECTION.findall(schema) if one.startswith("Functions: what is written to several tables")
    ]
    return {name: body for name, _, body in _FUNCTION.findall(section)}


def writes(name: str, body: str) -> list[Statement]:
    """What a function writes, as statements: its arguments are their parameters."""
    named = body.replace("its_shard", ":shard").replace(f"{name}.", ":")
    return [statement(one) for one in _WRITE.findall(named)]


EVERY_WRITE = list(chain.from_iterable(writes(*one) for one in functions().items()))


def test_every_insert_of_these_functions_was_found() -> None:
    found = {name: len(writes(name, body)) for name, body in functions().items()}

    assert {name: body.count("insert into") for name, body in functions().items()} == found
    assert set(found) == {"start_executions", "add_contact", "add_event", "add_event_items"}


def test_every_table_they_write_is_tied_to_the_one_shard() -> None:
    assert [tables for one in EVERY_WRITE if (tables := unbound_tables(one))] == []
    assert not any(inserts_from_unnest_alone(query.sources()) for one in EVERY_WRITE for query in queries(one))


def test_they_read_no_clock_and_have_no_shape_that_a_cluster_refuses() -> None:
    assert [found for one in EVERY_WRITE if (found := forbidden(one))] == []
    assert not any("with" in tokens(one) for one in EVERY_WRITE)


def test_a_table_that_is_not_tied_to_the_shard_is_found() -> None:
    [loose] = writes(
        "f", "insert into queue (shard, id) select s.shard, t.id from shards s cross join unnest(f.ids) t(id);"
    )

    assert unbound_tables(loose)
