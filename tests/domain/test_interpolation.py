"""An interpolation prints what Liquid prints, or leaves it to Liquid."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.domain.content.interpolation import MAX_PARTS, MAX_VALUE_CHARS, interpolation_of
from tidings.domain.content.template import RenderFailed, render

NOW = datetime(2026, 3, 2, tzinfo=UTC)
NAMES = st.sampled_from(["name", "contact", "x_1", "size", "first", "true", "nil", "empty", "now", "not", "vars", "_"])
TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(["<b>\"&'", "{{ x }}", "{", "}}", "%}"])
LITERALS = TEXT | st.sampled_from(["{{", "{%", "{{ name", "}} ", "{ { name } }"])
VALUES = st.recursive(
    TEXT | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)
BLANKS = st.sampled_from(["", " ", "  ", "\t", "\n", " - "])
OUTPUTS = st.builds(
    lambda opened, path, closed: "{{" + opened + ".".join(path) + closed + "}}",
    BLANKS,
    st.lists(NAMES, min_size=1, max_size=3),
    BLANKS,
)


@given(st.lists(LITERALS | OUTPUTS, max_size=6).map("".join), st.dictionaries(NAMES, VALUES, max_size=4), st.booleans())
def test_what_is_filled_in_place_is_what_liquid_prints(source: str, data: dict[str, object], html: bool) -> None:
    template = interpolation_of(source)
    filled = template.fill(data, html=html) if template else None

    if filled is not None:
        assert filled == render(source, data, html=html, now=NOW)


@pytest.mark.parametrize("html", [True, False])
def test_names_paths_and_whole_numbers_are_filled_in_place(html: bool) -> None:
    template = interpolation_of("Dear {{name}}, {{ order.id }} of {{ order.by.name }} is ready")
    data = {"name": "Ada <& \"'", "order": {"id": 7, "by": {"name": "Bob"}}}

    filled = template.fill(data, html=html) if template else None

    assert filled == render("Dear {{name}}, {{ order.id }} of {{ order.by.name }} is ready", data, html=html, now=NOW)
    assert not isinstance(filled, RenderFailed)


@pytest.mark.parametrize(
    "source",
    [
        "{{ name | upcase }}",
        "{% if a %}{% endif %}",
        "{{- name }}",
        "{{ a[0] }}",
        "{{ 'x' }}",
        "{{ true }}",
        "{{ a.size }}",
    ],
)
def test_anything_more_is_left_to_liquid(source: str) -> None:
    assert interpolation_of(source) is None


@pytest.mark.parametrize("value", [None, 1.5, True, ["a"], {"a": 1}, "x" * (MAX_VALUE_CHARS + 1), 2**53])
def test_a_value_that_only_liquid_can_print_is_left_to_it(value: object) -> None:
    template = interpolation_of("{{ name }}")

    assert template
    assert template.fill({"name": value}, html=False) is None
    assert template.fill({}, html=False) is None


def test_very_many_outputs_are_left_to_liquid() -> None:
    assert interpolation_of("{{ a }}" * MAX_PARTS)
    assert interpolation_of("{{ a }}" * (MAX_PARTS + 1)) is None
