"""Templates of a workspace: versions, what they are rendered in, and what is published keeping the ones it has."""

from typing import Any

import pytest

from tests.conftest import ManualClock
from tests.kernel.event_scenes import make_rule, send, step
from tests.kernel.scenes import Sql
from tests.resources.campaign_scenes import letter, make_contacts, work_until_ended
from tidings.domain.caller import Caller
from tidings.domain.errors import CampaignInvalid, Conflict, DataMissing, DefinitionInvalid, NotFound
from tidings.domain.flow.ids import Workspace
from tidings.engine import Engine
from tidings.providers.fake import FakeProvider
from tidings.views.sequences import SequenceStatus
from tidings.views.templates import NamedTemplate, TemplateKind, TemplateUserKind

HOME = Workspace()
ANN = Caller(HOME, "ann")
EVE = Caller(Workspace("default", "elsewhere"), "eve")


def node(**more: Any) -> dict[str, Any]:
    mail = {"id": "hello", "type": "email", "to": "ada@example.com", "subject": "Hi"} | more
    return {"entryNodeId": "hello", "nodes": [mail], "edges": []}


async def write(engine: Engine, name: str, text: str, by: Caller = ANN, **more: Any) -> NamedTemplate:
    made, _ = await engine.templates.apply(by, {"name": name, "text": text, **more})
    return made


async def sent(engine: Engine, provider: FakeProvider) -> list[dict[str, str]]:
    """What left since it was asked last."""
    await engine.work_everything()
    found = [dict(call.payload) for call in provider.calls]
    provider.calls.clear()
    return found


# Writing


async def test_a_template_has_versions_and_says_what_changed(engine: Engine) -> None:
    first, created = await engine.templates.apply(ANN, {"name": "footer", "text": "by us", "description": "d"})
    second, same = await engine.templates.apply(ANN, {"name": "footer", "text": "by us"})
    third, updated = await engine.templates.apply(ANN, {"name": "footer", "text": "by you"})

    assert (created, same, updated) == ("created", "unchanged", "updated")
    assert [one.version for one in (first, second, third)] == [1, 1, 2]
    assert third.description == "d"
    assert [(one.number, one.text, one.created_by) for one in await engine.templates.versions(HOME, first.id)] == [
        (2, "by you", "ann"),
        (1, "by us", "ann"),
    ]


async def test_a_new_template_takes_no_name_that_is_taken(engine: Engine) -> None:
    made = await engine.templates.create(ANN, {"name": "footer", "text": "x"})

    with pytest.raises(Conflict, match="there is a template 'footer' already"):
        await engine.templates.create(ANN, {"name": "footer", "text": "y"})
    await engine.templates.delete(ANN, made.id)

    assert (await engine.templates.create(ANN, {"name": "footer", "text": "y"})).version == 1


async def test_every_change_is_in_the_audit_log(engine: Engine, sql: Sql) -> None:
    made = await write(engine, "footer", "x")
    await write(engine, "footer", "y")
    await engine.templates.delete(ANN, made.id)

    found = await sql.fetch("select event, actor from audit_log where subject_kind = 'template'")

    assert sorted(map(tuple, found)) == [("created", "ann"), ("deleted", "ann"), ("updated", "ann")]


@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        ({"name": "Foot er", "text": "x"}, "name", "lower case letters and digits"),
        ({"name": "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f", "text": "x"}, "name", "is not a name here"),
        ({"text": "x"}, "name", "is missing"),
        ({"name": "a"}, "text", "is missing"),
        ({"name": "a", "text": " "}, "text", "says nothing"),
        ({"name": "a", "text": "x" * 200_001}, "text", "200,001 characters"),
        ({"name": "a", "text": "\x00"}, "text", "cannot be stored"),
        ({"name": "a", "text": "x", "kind": "page"}, "kind", "is not one of partial, layout"),
        ({"name": "a", "text": "x", "format": "pdf"}, "format", "is not one of html, text"),
        ({"name": "a", "text": "x", "txet": "y"}, "txet", "did you mean 'text'?"),
        ({"name": "a", "text": "{{ x"}, "text", "is never closed"),
        ({"name": "a", "text": "{% render 'a' %}"}, "text", "in a circle: a → a"),
        (
            {"name": "a", "text": "{% render 'fotter' %}"},
            "text",
            "there is no template 'fotter'; did you mean 'footer'?",
        ),
        ({"name": "a", "text": "x", "kind": "layout"}, "text", "prints {{ content }}"),
        ({"name": "a", "text": "{{ content }}", "kind": "layout", "format": "text"}, "format", "use html"),
        (
            {"name": "a", "text": "{% render 'footer' %}", "format": "text"},
            "text",
            "'footer' is HTML, and this is text",
        ),
        ({"name": "footer", "text": "x", "kind": "layout"}, "kind", "stays one"),
    ],
)
async def test_a_wrong_template_is_refused_with_its_place(
    engine: Engine, given: dict[str, Any], place: str, message: str
) -> None:
    await write(engine, "footer", "<b>by us</b>")

    with pytest.raises(DefinitionInvalid) as refused:
        await engine.templates.apply(ANN, given)

    assert [one.place for one in refused.value.problems] == [place]
    assert message in refused.value.problems[0].message


async def test_a_change_that_closes_a_circle_is_refused(engine: Engine) -> None:
    await write(engine, "a", "x")
    await write(engine, "b", "{% render 'a' %}")

    with pytest.raises(DefinitionInvalid, match="in a circle: b → a → b"):
        await write(engine, "a", "{% render 'b' %}")


async def test_a_workspace_sees_and_renders_its_own_alone(engine: Engine) -> None:
    made = await write(engine, "footer", "by us")
    await write(engine, "footer", "by them", EVE)

    with pytest.raises(NotFound):
        await engine.templates.get(EVE.workspace, made.id)
    with pytest.raises(NotFound):
        await engine.templates.update(EVE, made.id, {"text": "mine"})
    with pytest.raises(NotFound):
        await engine.templates.delete(EVE, made.id)
    assert (await engine.templates.find(EVE.workspace, "footer")).text == "by them"
    assert [one.text for one in (await engine.templates.list(HOME)).items] == ["by us"]


# What renders them


async def test_a_workflow_keeps_the_version_it_was_defined_with(engine: Engine, provider: FakeProvider) -> None:
    await write(engine, "footer", "by us")
    definition = node(html="Hello. {% render 'footer' %}")
    await engine.define("hello", definition, HOME)
    await engine.trigger("hello", {}, "1")
    await write(engine, "footer", "by you")
    await engine.trigger("hello", {}, "2")

    assert [one["html"] for one in await sent(engine, provider)] == ["Hello. by us"] * 2
    shown = await engine.workflows.find(HOME, "hello")
    assert (shown.version, shown.templates, shown.definition) == (1, {"footer": 1}, definition)
    [user] = (await engine.templates.find(HOME, "footer")).users or ()
    assert (user.kind, user.name, user.version) == (TemplateUserKind.WORKFLOW, "hello", 1)

    _, change = await engine.workflows.apply(ANN, "hello", definition)
    await engine.trigger("hello", {}, "3")

    assert change == "updated"
    assert [one["html"] for one in await sent(engine, provider)] == ["Hello. by you"]
    versions = await engine.workflows.versions(HOME, shown.id)
    assert [(one.number, one.templates, one.definition) for one in versions] == [
        (2, {"footer": 2}, definition),
        (1, {"footer": 1}, definition),
    ]
    assert (await engine.workflows.apply(ANN, "hello", definition))[1] == "unchanged"


async def test_another_process_renders_the_same(engine: Engine, provider: FakeProvider) -> None:
    await write(engine, "footer", "by {{ company }}")
    await engine.define("hello", node(html="{% render 'footer' %}"), HOME)
    await engine.trigger("hello", {"company": "A&B"}, "1")
    await write(engine, "footer", "changed")
    engine.kernel.graphs.clear()  # as a worker that starts now

    assert [one["html"] for one in await sent(engine, provider)] == ["by A&amp;B"]


async def test_what_a_template_prints_is_required_of_a_trigger(engine: Engine) -> None:
    await write(engine, "footer", "by {{ company.name }}")
    await engine.define("hello", node(html="{% render 'footer' %}"), HOME)

    with pytest.raises(DataMissing, match=r"company\.name"):
        await engine.trigger("hello", {}, "1")


async def test_a_layout_wraps_the_html_of_a_message(engine: Engine, provider: FakeProvider) -> None:
    await write(engine, "footer", "-{{ name }}-")
    await write(engine, "page", "<main>{{ content }}</main>{% render 'footer' %}", kind="layout")
    await engine.define("hello", node(html="<p>{{ name }}</p>", body="Hi {{ name }}", layout="page"), HOME)
    await engine.trigger("hello", {"name": "A&B"}, "1")

    assert await sent(engine, provider) == [
        {"subject": "Hi", "body": "Hi A&B", "html": "<main><p>A&amp;B</p></main>-A&amp;B-"}
    ]
    users = (await engine.templates.find(HOME, "footer")).users or ()
    assert [(one.kind, one.name) for one in users] == [("workflow", "hello"), ("template", "page")]


@pytest.mark.parametrize(
    ("more", "place", "message"),
    [
        ({"html": "{% render 'nothing' %}"}, "nodes[0].html", "there is no template 'nothing'; make it first"),
        ({"body": "{% render 'footer' %}"}, "nodes[0].body", "'footer' is HTML, and this is text"),
        ({"html": "x", "layout": "footer"}, "nodes[0].layout", "is a partial, not a layout"),
        ({"html": "x", "layout": "paeg"}, "nodes[0].layout", "did you mean 'page'?"),
        ({"html": "{% render 'page' %}"}, "nodes[0].html", "'page' is a layout: name it beside html"),
        ({"body": "x", "layout": "page"}, "nodes[0].layout", "there is none; give html with it"),
        ({"html": "x", "layout": 7}, "nodes[0].layout", "7 is not a name here"),
    ],
)
async def test_a_workflow_that_uses_templates_wrongly_is_refused(
    engine: Engine, more: dict[str, Any], place: str, message: str
) -> None:
    await write(engine, "footer", "<b>by us</b>")
    await write(engine, "page", "{{ content }}", kind="layout")

    with pytest.raises(DefinitionInvalid) as refused:
        await engine.define("hello", node(**more), HOME)

    [problem] = refused.value.problems
    assert (problem.place, message in problem.message) == (place, True)
    assert await engine.workflows.check(HOME, node(**more)) == [problem]


async def test_every_problem_is_reported_at_once(engine: Engine) -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        await engine.define("hello", node(html="{% render 'nothing' %}", subject=""), HOME)

    assert [one.place for one in refused.value.problems] == ["nodes[0].html", "nodes[0].subject"]


async def test_a_rule_keeps_the_version_it_was_written_with(engine: Engine, provider: FakeProvider) -> None:
    await write(engine, "sign", "Yours, {{ lead.name }}", format="text")
    given = step(template={"subject": "Hi", "body": "Here. {% render 'sign' %}"})
    rule = await make_rule(engine, given)
    await write(engine, "sign", "Bye")
    await engine.rules.disable(ANN, rule.id)
    await engine.rules.enable(ANN, rule.id)
    await send(engine)

    assert [one["body"] for one in await sent(engine, provider)] == ["Here. Yours, Ada"]
    shown = await engine.rules.get(HOME, rule.id)
    assert (shown.templates, shown.steps[0]["template"]["body"]) == ({"sign": 1}, "Here. {% render 'sign' %}")
    [user] = (await engine.templates.find(HOME, "sign")).users or ()
    assert (user.kind, user.name, user.version) == ("rule", "quote_sent/email/lead", 1)

    changed = await engine.rules.update(ANN, rule.id, shown.in_json())
    await send(engine, "k2")

    assert (changed.templates, [one["id"] for one in changed.steps]) == (
        {"sign": 2},
        [one["id"] for one in shown.steps],
    )
    assert [one["body"] for one in await sent(engine, provider)] == ["Here. Bye"]


async def test_a_campaign_takes_the_newest_and_a_run_keeps_it(
    engine: Engine, provider: FakeProvider, clock: ManualClock
) -> None:
    await write(engine, "footer", "by {{ contact.name }}")
    await write(engine, "page", "<i>{{ content }}</i>", kind="layout")
    await make_contacts(engine, 1, ANN)
    content = {"subject": "Hi", "html": "{% render 'footer' %}", "layout": "page"}
    made = await engine.campaigns.create(ANN, letter(content=content))
    [preview] = await engine.campaigns.preview(HOME, made.id)
    run = await engine.campaigns.deploy(ANN, made.id)
    await write(engine, "footer", "changed")
    await work_until_ended(engine, clock, run.id, ANN)

    assert preview.content["html"] == "<i>by Person 1</i>"
    assert made.content == content
    assert [one["html"] for one in await sent(engine, provider)] == ["<i>by Person 1</i>"]
    users = (await engine.templates.find(HOME, "footer")).users or ()
    assert [(one.kind, one.name, one.version) for one in users] == [("campaign", "spring", None)]

    again = await engine.campaigns.deploy(ANN, made.id, idempotency_key="again")
    await work_until_ended(engine, clock, again.id, ANN)

    assert [one["html"] for one in await sent(engine, provider)] == ["<i>changed</i>"]


async def test_a_sequences_draft_keeps_a_template_from_being_deleted(engine: Engine) -> None:
    footer = await write(engine, "footer", "by us", format="text")
    await write(engine, "page", "<i>{{ content }}</i>{% render 'footer' %}", kind="layout")
    first = {"dayOffset": 0, "channel": "email", "subject": "{% render 'footer' %}", "content": "x"}
    laid_out = {"dayOffset": 0, "channel": "email", "content": {"html": "<p>x</p>", "layout": "page"}}
    drip = await engine.sequences.create(ANN, "drip", steps=[first])
    await engine.sequences.create(ANN, "other", steps=[laid_out])

    users = (await engine.templates.find(HOME, "footer")).users or ()
    with pytest.raises(Conflict, match="is used by sequence 'drip', sequence 'other'"):
        await engine.templates.delete(ANN, footer.id)
    await engine.sequences.update(ANN, drip.id, status=SequenceStatus.ACTIVE)
    published = (await engine.templates.find(HOME, "footer")).users or ()

    assert [(str(one.kind), one.name, one.version) for one in users] == [
        ("sequence", "drip", None),
        ("sequence", "other", None),
        ("template", "page", None),
    ]
    assert [(one.name, one.version) for one in published if str(one.kind) == "sequence"] == [
        ("drip", 1),
        ("other", None),
    ]


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        ({"subject": "Hi", "html": "{% render 'nothing' %}"}, "content.html", "there is no template 'nothing'"),
        (
            {"subject": "Hi", "html": "{% render 'footer' %}"},
            "content.html",
            "prints {{ company }}, which nothing provides",
        ),
        ({"subject": "Hi", "html": "x", "layout": "nothing"}, "content.layout", "there is no layout 'nothing'"),
    ],
)
async def test_a_campaign_that_uses_templates_wrongly_is_refused(
    engine: Engine, content: dict[str, str], place: str, message: str
) -> None:
    await write(engine, "footer", "by {{ company }}")

    with pytest.raises(CampaignInvalid) as refused:
        await engine.campaigns.create(ANN, letter(content=content))

    [problem] = refused.value.problems
    assert (problem.place, message in problem.message) == (place, True)


async def test_posts_render_templates(engine: Engine, provider: FakeProvider, clock: ManualClock) -> None:
    await write(engine, "tags", "#{{ campaign.name }}", format="text")
    posts = [
        {"body": "One {% render 'tags' %}", "accounts": ["a"]},
        {"body": "Two {% render 'tags' %}", "accounts": ["b"]},
    ]
    given = {"name": "spring", "channel": "social", "content": {"posts": posts}}
    made = await engine.campaigns.create(ANN, given)
    run = await engine.campaigns.deploy(ANN, made.id)
    await write(engine, "tags", "changed", format="text")
    await work_until_ended(engine, clock, run.id, ANN)

    assert sorted(one["body"] for one in await sent(engine, provider)) == ["One #spring", "Two #spring"]


async def test_a_sequence_takes_newer_templates_when_it_is_published_again(
    engine: Engine, provider: FakeProvider
) -> None:
    await write(engine, "sign", "Yours", format="text")
    given = {"dayOffset": 0, "channel": "email", "subject": "Hi", "content": "Hello. {% render 'sign' %}"}
    made = await engine.sequences.create(ANN, "drip", None, [given])
    await engine.sequences.update(ANN, made.id, status=SequenceStatus.ACTIVE)
    same = await engine.sequences.update(ANN, made.id, status=SequenceStatus.ACTIVE)
    await write(engine, "sign", "Bye", format="text")
    again = await engine.sequences.update(ANN, made.id, status=SequenceStatus.ACTIVE)

    assert same.published
    assert again.published
    assert (same.published.version, again.published.version) == (1, 2)
    assert again.published.steps[0].content == given["content"]
    await make_contacts(engine, 1, ANN)
    await engine.enrollments.batch_enroll(ANN, made.id, {"all": True}, triggered_by="test")
    assert [one["body"] for one in await sent(engine, provider)] == ["Hello. Bye"]


async def test_a_draft_that_names_an_unknown_template_is_refused(engine: Engine) -> None:
    given = {"dayOffset": 0, "channel": "sms", "content": "{% render 'nothing' %}"}

    with pytest.raises(DefinitionInvalid, match="there is no template 'nothing'"):
        await engine.sequences.create(ANN, "drip", None, [given])
    made = await engine.sequences.create(ANN, "drip")
    with pytest.raises(DefinitionInvalid, match="there is no template 'nothing'"):
        await engine.sequences.add_step(ANN, made.id, given)


async def test_a_template_that_is_used_is_not_removed(engine: Engine) -> None:
    footer = await write(engine, "footer", "x")
    await engine.define("hello", node(html="{% render 'footer' %}"), HOME)

    with pytest.raises(Conflict, match="template 'footer' is used by workflow 'hello'; change them first"):
        await engine.templates.delete(ANN, footer.id)


# Trying out


async def test_a_preview_prints_a_template_with_data(engine: Engine) -> None:
    footer = await write(engine, "footer", "by {{ company }}")
    await write(engine, "footer", "of {{ company }}")
    page = await write(engine, "page", "<i>{{ content }}</i>{% render 'footer' %}", kind="layout")
    data = {"company": "A&B"}

    assert (await engine.templates.preview(HOME, footer.id, data)).text == "of A&amp;B"
    assert (await engine.templates.preview(HOME, footer.id, data, version=1)).text == "by A&amp;B"
    shown = await engine.templates.preview(HOME, page.id, data, content="<b>{{ company }}</b>")
    assert shown.text == "<i><b>A&amp;B</b></i>of A&amp;B"
    assert (await engine.templates.preview(HOME, footer.id, {})).error == "'company' is undefined (line 1, column 7)"
    with pytest.raises(NotFound, match="has no version 3"):
        await engine.templates.preview(HOME, footer.id, data, version=3)


async def test_templates_are_listed_by_kind(engine: Engine) -> None:
    await write(engine, "footer", "x")
    await write(engine, "page", "{{ content }}", kind="layout")

    found = await engine.templates.list(HOME, kind=TemplateKind.LAYOUT)

    assert [(one.name, one.users) for one in found.items] == [("page", None)]
