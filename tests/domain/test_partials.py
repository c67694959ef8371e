"""Templates that render others: what they see, what they need, and how much of it there may be."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from tidings.domain.content.interpolation import interpolation_of
from tidings.domain.content.linked import SEPARATOR, as_written, join, split
from tidings.domain.content.linking import (
    FrozenTemplate,
    link,
    linked,
    problems_of,
    uses_in,
    with_frozen,
    without_frozen,
)
from tidings.domain.content.template import (
    RenderFailed,
    check,
    facts_of,
    fixed_text,
    markup_chars,
    render,
    required_variables,
    walk_variables,
)
from tidings.domain.errors import TemplateInvalid
from tidings.views.templates import TemplateFormat, TemplateKind

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def partial(text: str, *, version: int = 1) -> FrozenTemplate:
    return FrozenTemplate(version, text)


def layout(text: str) -> FrozenTemplate:
    return FrozenTemplate(1, text, TemplateKind.LAYOUT)


def written_out(source: str, /, **templates: str | FrozenTemplate) -> str:
    """A source linked with templates."""
    frozen = {name: one if isinstance(one, FrozenTemplate) else partial(one) for name, one in templates.items()}
    made = link({"html": source, **({"layout": "page"} if "page" in frozen else {})}, frozen)
    return str(made["html"])


def printed(source: str, data: Mapping[str, object] | None = None, /, **templates: str | FrozenTemplate) -> str:
    """What it renders to as HTML."""
    found = render(written_out(source, **templates), data or {}, html=True, now=NOW)
    return found.reason if isinstance(found, RenderFailed) else found


# What a rendered template sees


@pytest.mark.parametrize(
    ("source", "footer", "prints"),
    [
        ("{% render 'footer' %}", "by {{ company }}", "by Acme &amp; Co"),
        ("{% render 'footer', company: 'us' %}", "by {{ company }}", "by us"),
        ("{% render 'footer', who: contact.name %}", "{{ who }}", "Ada"),
        ("{% render 'footer' with contact %}", "{{ footer.name }}", "Ada"),
        ("{% render 'footer' with contact as person %}", "{{ person.name }}", "Ada"),
        ("{% render 'footer' for list as one %}", "{{ forloop.index }}{{ one }} ", "1a 2b "),
        ("{% render 'footer' for list as one, mark: '!' %}", "{{ one }}{{ mark }}", "a!b!"),
        ("{% render 'footer' for nothing as one %}", "{{ one }}", ""),
        ("{% assign x = 1 %}{% render 'footer' %}", "{{ x | default: 'unseen' }}", "unseen"),
        ("{% for x in list %}{% render 'footer' %}{% endfor %}", "{{ x | default: '-' }}", "--"),
        ("{% render 'footer' %}{{ y | default: 'kept' }}", "{% assign y = 1 %}", "kept"),
        ("{% render 'footer', missing: nobody %}", "{{ missing | default: 'nobody' }}", "nobody"),
        ("{% liquid\n  assign x = 1\n  render 'footer'\n%}", "here", "here"),
        ('{%- render "footer" -%}', "here", "here"),
        ("{% render 'footer' %}", "{{ now | date: '%Y' }}", "2026"),
        ("{% render 'footer', by: company %}", "{{ by }}", "Acme &amp; Co"),
    ],
)
def test_a_rendered_template_sees_the_data_and_what_it_is_given(source: str, footer: str, prints: str) -> None:
    data = {"company": "Acme & Co", "contact": {"name": "Ada"}, "list": ["a", "b"]}

    assert printed(source, data, footer=footer) == prints


def test_a_template_that_is_rendered_by_another_does_not_see_what_that_was_given() -> None:
    assert printed("{% render 'a', x: 1 %}", a="{% render 'b' %}", b="{{ x | default: 'unseen' }}") == "unseen"


def test_a_layout_prints_the_message_as_it_is() -> None:
    page = layout("<body>{{ content }}{% render 'footer' %}{{ name }}</body>")

    found = printed("<p>{{ name }}</p>", {"name": "A&B", "content": "mine"}, page=page, footer="-{{ name }}-")

    assert found == "<body><p>A&amp;B</p>-A&amp;B-A&amp;B</body>"


def test_the_choice_of_sample_is_the_same_each_time() -> None:
    source = written_out("{% render 'a' for list as one %}", a="{{ list | sample }}")

    found = {render(source, {"list": list("abcdefgh")}, html=False, now=NOW) for _ in range(5)}

    assert len(found) == 1


# What it needs


@pytest.mark.parametrize(
    ("source", "footer", "needs"),
    [
        ("{% render 'footer' %}", "{{ company.name }}", {"company.name"}),
        ("{% render 'footer' %}", "{{ company.name | default: 'us' }}", set()),
        ("{% render 'footer', who: contact %}", "{{ who.name }}", {"contact.name"}),
        ("{% render 'footer', who: contact.name %}", "hello", set()),
        ("{% render 'footer', who: 'us' %}", "{{ who }}", set()),
        ("{% render 'footer' for items as one %}", "{{ one.price }}{{ forloop.index }}{{ currency }}", {"currency"}),
        ("{% render 'footer' with contact %}", "{{ footer.name }}", {"contact.name"}),
        ("{% assign who = 1 %}{% render 'footer' %}", "{{ who }}", {"who"}),
        ("{% assign who = 1 %}{% render 'footer', x: who %}", "{{ x }}", set()),
        ("{% for who in list %}{% render 'footer', x: who %}{% endfor %}", "{{ x.name }}", set()),
        ("{{ a }}{% render 'footer' %}", "{{ b }}{% assign c = 1 %}{{ c }}", {"a", "b"}),
        ("{% render 'footer' %}", "{{ step_0_result }}{{ vars.x }}{{ now }}", set()),
    ],
)
def test_what_a_rendered_template_prints_is_required_of_the_message(source: str, footer: str, needs: set[str]) -> None:
    found = written_out(source, footer=footer)

    assert required_variables(found) == needs
    assert facts_of(found).required == needs


def test_a_layout_needs_its_variables_but_not_the_content() -> None:
    source = written_out("{{ a }}", page=layout("{{ content }}{{ b }}{% render 'footer' %}"), footer="{{ c }}")

    assert required_variables(source) == {"a", "b", "c"}


def test_the_walk_of_a_rendered_template_is_placed_where_it_is_rendered() -> None:
    [found] = walk_variables(written_out("one\n {% render 'footer' %}", footer="{{ vars.hello.status }}"))

    assert (found.name, found.line, found.column) == ("vars.hello", 2, 5)


def test_the_fixed_text_has_that_of_what_is_rendered() -> None:
    assert fixed_text(written_out("a{% render 'footer' %}c", footer="b\n{{ x }}")) == "ab\nc"


# What is wrong with it


def test_an_error_names_the_template_it_is_in() -> None:
    found = printed("{% render 'footer' %}", footer="a\n{{ x.y }}")

    assert found == "in template 'footer': 'x' is undefined (line 2, column 4)"


@pytest.mark.parametrize(
    ("source", "footer", "message"),
    [
        (
            "{% for i in (1..200) %}{% render 'footer' %}{% endfor %}",
            "{% for j in (1..200) %}{% endfor %}",
            "40000 times",
        ),
        ("{% render 'footer' %}", "{% if %}", "in template 'footer'"),
    ],
)
def test_what_can_never_be_rendered_is_refused(source: str, footer: str, message: str) -> None:
    with pytest.raises(TemplateInvalid, match=message):
        check(written_out(source, footer=footer), html=True)


def test_loops_in_rendered_templates_count_together() -> None:
    data = {"list": list(range(200))}

    found = printed(
        "{% render 'footer' for list as one %}",
        data,
        footer="{% for j in list %}{% for k in list %}{% endfor %}{% endfor %}",
    )

    assert "loop iteration limit" in found


def test_html_is_not_rendered_into_text() -> None:
    source = written_out("{% render 'footer' %}", footer=partial("<b>x</b>"))

    check(source, html=True)
    with pytest.raises(TemplateInvalid, match="'footer' is HTML, and this is text"):
        check(source, html=False)


def test_text_is_rendered_into_both() -> None:
    source = written_out("{% render 'footer' %}", footer=FrozenTemplate(1, "x", format=TemplateFormat.TEXT))

    check(source, html=True)
    check(source, html=False)


@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        (
            {"nodes": [{"body": "a\n{% render 'fotter' %}"}]},
            "nodes[0].body",
            "did you mean 'footer'? (line 2, column 1)",
        ),
        ({"html": "x", "layout": "paeg"}, "layout", "there is no layout 'paeg'; did you mean 'page'?"),
        ({"html": "x", "layout": "footer"}, "layout", "'footer' is a partial, not a layout: render it in the text"),
        ({"body": "{% render 'page' %}"}, "body", "'page' is a layout: name it beside html"),
        ({"body": "{% render 'zzz' %}"}, "body", "there is no template 'zzz'; make it first"),
        ({"body": "{% render 'round' %}"}, "body", "templates render each other in a circle: round → back → round"),
        ({"body": "{% render 'orphan' %}"}, "body", "template 'orphan' renders 'gone', which there is not"),
        ({"body": "{% render 'deep0' %}"}, "body", "more than 10 deep"),
        ({"body": "{% render 'large' %}" * 3}, "body", "300,060 characters with everything that it renders"),
        ({"body": "{% render 'laughs0' %}"}, "body", "characters with everything that it renders"),
        ({"body": "{% render 'tags' %}" * 3}, "body", "6,003 tags with everything that it renders"),
        ({"body": f"x{SEPARATOR}y"}, "body", "holds U+FDD0"),
    ],
)
def test_what_cannot_be_linked_is_refused_with_its_place(given: dict[str, object], place: str, message: str) -> None:
    frozen = {
        "footer": partial("by us"),
        "page": layout("{{ content }}"),
        "round": partial("{% render 'back' %}"),
        "back": partial("{% render 'round' %}"),
        "orphan": partial("{% render 'gone' %}"),
        "large": partial("x" * 100_000),
        "tags": partial("{{ x }}" * 2_000),
        **{f"deep{at}": partial(f"{{% render 'deep{at + 1}' %}}") for at in range(11)},
        "deep11": partial("x"),
        **{f"laughs{at}": partial(f"{{% render 'laughs{at + 1}' %}}" * 100) for at in range(9)},
        "laughs9": partial("ha"),
    }

    [problem] = problems_of(given, frozen, frozen)

    assert problem.place == place
    assert message in problem.message


def test_a_function_may_have_a_layout_of_its_own() -> None:
    given = {"payload": {"html": "x", "layout": "wide", "text": "{% render 'footer' %}"}}

    assert [use.name for use in uses_in(given)] == ["footer"]
    assert link(given, {"footer": partial("y")})["payload"] == {
        "html": "x",
        "layout": "wide",
        "text": join("{% render 'footer' %}", split(written_out("{% render 'footer' %}", footer="y")).parts.values()),
    }


# How it is stored


def test_a_definition_is_stored_as_it_was_written_with_what_it_renders() -> None:
    given = {"nodes": [{"body": "{% render 'footer' %}"}, {"body": "plain"}]}

    stored = with_frozen(given, {"footer": partial("by us", version=3)})

    assert stored["templates"] == {"footer": {"version": 3, "text": "by us"}}
    assert without_frozen(stored) == given
    assert linked(stored) == link(given, {"footer": partial("by us")})
    assert linked(given) is given
    assert with_frozen(given, {}) == given


def test_only_what_a_string_renders_is_linked_to_it() -> None:
    frozen = {"a": partial("{% render 'b' %}"), "b": partial("x"), "c": partial("y")}

    made = link({"one": "{% render 'a' %}", "two": "{% raw %}{% render 'c' %}{% endraw %}"}, frozen)

    assert split(str(made["one"])).parts.keys() == {"a", "b"}
    assert made["two"] == "{% raw %}{% render 'c' %}{% endraw %}"
    assert as_written(str(made["one"])) == "{% render 'a' %}"


def test_a_linked_template_is_more_than_an_interpolation() -> None:
    assert interpolation_of(written_out("{{ name }}", page=layout("{{ content }}"))) is None


def test_the_markup_of_what_is_rendered_counts() -> None:
    source = "{% render 'footer' %}"

    assert markup_chars(written_out(source, footer="{{ x }}")) == markup_chars(source) + markup_chars("{{ x }}")
