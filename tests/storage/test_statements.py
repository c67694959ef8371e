"""The loader: named statements in, numbered parameters out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.storage.statements import Statement, _parse, _with_own, _with_parts, load


def test_parameters_are_numbered_in_the_order_of_their_first_use() -> None:
    parsed = _parse("x", "select :b, :a, :b, :c_d")

    assert parsed == Statement("x", "select $1, $2, $1, $3", ("b", "a", "c_d"))


@pytest.mark.parametrize(
    ("text", "numbered"),
    [
        ("select :ids::uuid[]", "select $1::uuid[]"),
        ("select id::text, now_at::timestamptz", "select id::text, now_at::timestamptz"),
        ("select :a::text || ':b'", "select $1::text || ':b'"),
        ("select 'it''s :a'", "select 'it''s :a'"),
        ("select '10:30', :a", "select '10:30', $1"),
        ("select 1 -- not :a\n  , :a", "select 1 -- not :a\n  , $1"),
        ("select x[1:2], x[lo:hi]", "select x[1:2], x[lo:hi]"),
        ("select (:a),:a;", "select ($1),$1"),
        ("a := 1", "a := 1"),
    ],
)
def test_only_what_is_a_parameter_becomes_a_number(text: str, numbered: str) -> None:
    assert _parse("x", text).text == numbered


def test_a_parameter_may_have_digits_in_its_name() -> None:
    assert _parse("x", "select :step_2, :step_1") == Statement("x", "select $1, $2", ("step_2", "step_1"))


@given(st.lists(st.sampled_from(["a", "b", "c", "long_name"]), min_size=1, max_size=12))
def test_each_number_stands_for_its_name(names: list[str]) -> None:
    parsed = _parse("x", " ".join(f":{name}" for name in names))

    numbers = [int(word[1:]) for word in parsed.text.split()]
    assert [parsed.parameters[number - 1] for number in numbers] == names
    assert len(set(parsed.parameters)) == len(parsed.parameters)


def test_values_are_given_by_name_and_come_out_in_order() -> None:
    parsed = _parse("x", "select :b, :a")

    assert parsed.arguments({"a": 1, "b": 2}) == [2, 1]


@pytest.mark.parametrize("values", [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {"b": 1, "A": 2}])
def test_a_missing_or_unknown_name_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"x takes \['a', 'b'\], not"):
        _parse("x", "select :b, :a").arguments(values)


def test_a_file_gives_each_statement_under_its_name_without_its_semicolon() -> None:
    found = load("claim")

    assert set(found) >= {"claim_due", "reread_claim", "next_due", "renew_leases"}
    assert all(one.name == name for name, one in found.items())
    assert not any(one.text.endswith(";") or "-- name:" in one.text for one in found.values())
    assert load("claim") is found


def test_a_part_stands_wherever_a_statement_names_it_and_sql_keeps_its_own_braces() -> None:
    text = "select {columns}, '{other}'::text[] from things union select {columns} from others"

    filled = _with_own(text, {"columns": "\nid, :name as name\n\n", "unused": "x"})

    assert (
        filled == "select id, :name as name, '{other}'::text[] from things union select id, :name as name from others"
    )
    assert _parse("x", filled).parameters == ("name",)


def test_a_part_of_a_file_is_no_statement() -> None:
    found = load("runs")

    assert "run_columns" not in found
    assert all("campaign_id" in found[name].text for name in ("show_runs", "list_runs", "list_runs_of_campaign"))
    assert not any("{" in one.text for one in found.values())


def test_statements_of_large_filters_are_not_kept() -> None:
    kept = _with_parts.cache_info().currsize
    statement = Statement("x", "", (), "select {wanted}")

    made = [statement.with_parts(wanted=" or ".join([f":a = {number}"] * 5_000)) for number in range(3)]

    assert [one.parameters for one in made] == [("a",)] * 3
    assert _with_parts.cache_info().currsize == kept
