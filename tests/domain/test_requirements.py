"""What a trigger must give: every variable that some node prints, and the fields the workflow names."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.domain.content.template import RenderFailed, render
from tidings.domain.errors import DataMissing, InputInvalid
from tidings.domain.flow.graph import Branch, Delay, Function, Graph, Node, Send
from tidings.domain.flow.item import Channel
from tidings.domain.workflows.definition import parse_workflow
from tidings.domain.workflows.requirements import Requirements, required_of, requirements_of

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def mail(id: str, to: str = "ada@example.com", **templates: str) -> Send:
    return Send(id, Channel.EMAIL, (to,), templates or {"body": "Hello"})


def graph(*nodes: Node, required: tuple[str, ...] = ()) -> Graph:
    return Graph(nodes[0].id, {node.id: node for node in nodes}, (), required_fields=required)


def lacking(wanted: Graph, data: Mapping[str, object]) -> DataMissing:
    missing = requirements_of(wanted).missing(data)
    assert missing is not None
    return missing


# What must be there


def test_every_template_of_every_node_counts() -> None:
    wanted = graph(
        mail("a", "{{ email }}", subject="{{ subject }}", html="<p>{{ order.id }}</p>"),
        Delay("b", until="{{ appointment.at }}"),
        Function("c", "bill", "charge", {"amount": "{{ amount }}", "lines": [{"text": "{{ line.text }}"}], "n": 1}),
        Branch("d"),
    )

    assert required_of(wanted) == {"email", "subject", "order.id", "appointment.at", "amount", "line.text"}


@pytest.mark.parametrize(
    "source",
    [
        "Hello",
        "{{ name | default: 'you' }}",
        "{% if member %}Welcome back{% endif %}",
        "{% assign name = 'Ada' %}{{ name }}",
        "{% for line in lines %}{{ line }}{% endfor %}",
        "{{ step_0_result.id }} {{ step_1_error }}",
        "{{ vars.hello.messageId }}",
        "{% if contact.name %}Dear {{ contact.name | default: 'you' }}{% endif %}",
        "{{ now }} {{ today }}",
    ],
)
def test_what_has_a_default_is_only_tested_or_comes_from_elsewhere_need_not_be_given(source: str) -> None:
    assert required_of(graph(mail("a", body=source))) == set()


def test_a_name_that_only_begins_like_the_contact_must_be_given() -> None:
    assert required_of(graph(mail("a", body="{{ contacts }} {{ contact_name }}"))) == {"contacts", "contact_name"}


@pytest.mark.parametrize("source", ["{{ contact.name }}", "{{ contact.attributes.city }} {{ contact }}"])
def test_whatever_is_the_contacts_is_given_by_naming_one_or_by_bringing_one(source: str) -> None:
    wanted = graph(mail("a", body=source), Send("b", Channel.SMS, (), {"body": "{{ name }}"}), required=("contact.id",))

    assert required_of(wanted) == {"contact", "contact.id", "name"}
    needs = requirements_of(wanted)
    assert needs.are_met_by({"name": "Ada"}, names_contact=True)
    assert needs.missing({"name": "Ada"}, names_contact=True) is None
    assert needs.are_met_by({"name": "Ada", "contact": {"id": 7}})
    assert lacking(wanted, {"name": "Ada"}).variables == ("contact", "contact.id")
    assert lacking(wanted, {"contact": None}).variables == ("contact.id", "name")


def test_a_send_without_to_needs_a_contact() -> None:
    assert required_of(graph(Send("a", Channel.EMAIL, (), {"body": "Hello"}))) == {"contact"}


def test_required_fields_are_needed_although_no_template_prints_them() -> None:
    assert required_of(graph(mail("a", body="{{ name }}"), required=("order_id",))) == {"name", "order_id"}


# What is said of it


def test_all_that_is_missing_is_named_in_order_and_once() -> None:
    wanted = graph(mail("a", "{{ email }}", body="{{ order.id }} {{ order.total }}"), required=("zone", "email"))

    missing = lacking(wanted, {"order": {"id": 7}})

    assert (missing.required, missing.variables) == (("email", "zone"), ("order.total",))
    assert str(missing) == (
        "Missing required fields: email, zone. Missing template variables: order.total. "
        "These placeholders exist in workflow steps but were not provided in data."
    )


def test_the_words_are_those_of_004() -> None:
    assert str(DataMissing(["b", "a"])) == "Missing required fields: a, b"
    assert str(DataMissing([], ["listing_address"])) == (
        "Missing template variables: listing_address. "
        "These placeholders exist in workflow steps but were not provided in data."
    )
    assert DataMissing.code == "data_missing"
    assert issubclass(DataMissing, InputInvalid)


def test_null_and_empty_values_are_given() -> None:
    wanted = requirements_of(graph(mail("a", body="{{ name }} {{ order.id }}"), required=("list",)))

    assert wanted.missing({"name": None, "order": {"id": ""}, "list": []}) is None


@pytest.mark.parametrize("order", ["x", 7, None, ["id"], [{"id": 1}]])
def test_nothing_is_inside_what_is_no_object(order: object) -> None:
    missing = lacking(graph(mail("a", body="{{ order.id }}")), {"order": order})

    assert missing.variables == ("order.id",)


def test_nothing_is_required_of_a_workflow_without_templates() -> None:
    assert requirements_of(graph(mail("a"), Delay("b"))) == Requirements(frozenset(), frozenset())


# Held to what rendering does

NAMES = ["a", "b", "c", "a.b", "c.d.e"]
PRINTED = st.sampled_from(NAMES).map(lambda name: f"{{{{ {name} }}}}")
FILTERED = st.sampled_from(NAMES).map(lambda name: f"{{{{ {name} | upcase | append: b }}}}")
DEFAULTED = st.sampled_from(NAMES).map(lambda name: f"{{{{ {name} | default: 'x' }}}}")
TESTED = st.tuples(st.sampled_from(NAMES), PRINTED).map(lambda both: f"{{% if {both[0]} %}}{both[1]}{{% endif %}}")
LOOPED = st.sampled_from(NAMES).map(lambda name: f"{{% for one in {name} %}}{{{{ one }}}}{{% endfor %}}")
ASSIGNED = PRINTED.map(lambda printed: f"{{% assign own = 'x' %}}{{{{ own }}}}{printed}")
VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
DATA = st.dictionaries(
    st.sampled_from("abcde"),
    VALUES | st.dictionaries(st.sampled_from("bde"), VALUES | st.dictionaries(st.just("e"), VALUES)),
)


def rendered(source: str, data: Mapping[str, object]) -> str | RenderFailed:
    return render(source, data, html=False, now=NOW)


@settings(deadline=None)
@given(st.lists(PRINTED | FILTERED | DEFAULTED | TESTED | LOOPED | ASSIGNED, max_size=5).map("".join), DATA)
def test_a_template_whose_variables_are_all_there_renders(source: str, data: Mapping[str, object]) -> None:
    if requirements_of(graph(mail("a", body=source))).missing(data) is None:
        assert isinstance(rendered(source, data), str)


@settings(deadline=None)
@given(st.lists(PRINTED | FILTERED, min_size=1, max_size=5), DATA)
def test_a_printed_variable_that_is_called_missing_cannot_be_rendered(
    sources: list[str], data: Mapping[str, object]
) -> None:
    missing = requirements_of(graph(mail("a", body="".join(sources)))).missing(data)

    failures = [source for source in sources if isinstance(rendered(source, data), RenderFailed)]
    assert (missing is not None) == bool(failures)
    for name in missing.variables if missing else ():
        assert isinstance(rendered(f"{{{{ {name} }}}}", data), RenderFailed)


def test_what_tells_of_a_failure_needs_its_variables_but_not_the_failure_itself() -> None:
    report = {"type": "email", "to": "{{ owner }}", "subject": "{{ error.workflow }}", "body": "{{ error }} {{ name }}"}
    graph = parse_workflow(
        {"steps": [{"name": "a", "function": "a", "payload_template": {"t": "{{ x }}"}}], "onError": report}
    )

    assert required_of(graph) == {"owner", "name", "x"}
