"""`tidings templates` and `tidings senders`, as a user runs them."""

from tests.cli.conftest import Command


def test_templates_from_their_files_to_their_end(tidings: Command) -> None:
    (tidings.directory / "footer.html").write_text("<p>{{ company }}</p>\n")
    (tidings.directory / "page.layout.html").write_text("<i>{{ content }}</i>{% render 'footer' %}")
    (tidings.directory / "more.yaml").write_text("name: sign\nformat: text\ntext: Yours, {{ name }}\n")

    applied = tidings("templates", "apply", "footer.html", "page.layout.html", "more.yaml", "--json").json
    again = tidings("templates", "apply", "footer.html", "--json").json
    (tidings.directory / "footer.html").write_text("<b>{{ company }}</b>")
    changed = tidings("templates", "apply", "footer.html")
    listed = tidings("templates", "list", "--kind", "layout", "--json").json
    shown = tidings("templates", "show", "footer")
    versions = tidings("templates", "versions", "footer", "--json").json
    preview = tidings("templates", "preview", "page", "--data", '{"company": "A&B"}', "--content", "Hello")
    old = tidings("templates", "preview", "footer", "--data", '{"company": "A&B"}', "--version", "1", "--json").json
    failed = tidings("templates", "preview", "footer")
    kept = tidings("templates", "remove", "footer", "--yes")
    gone = tidings("templates", "remove", "page", "--yes")

    assert [(one["name"], one["change"]) for one in applied] == [
        ("sign", "created"),
        ("footer", "created"),
        ("page", "created"),
    ]
    assert [one["change"] for one in again] == ["unchanged"]
    assert "updated" in changed.out
    assert [one["name"] for one in listed] == ["page"]
    assert "<b>{{ company }}</b>" in shown.out
    assert "page" in shown.out
    assert [one["number"] for one in versions] == [2, 1]
    assert "<i>Hello</i><b>A&amp;B</b>" in preview.out
    assert old["text"] == "<p>A&amp;B</p>"
    assert "'company' is undefined" in failed.out
    assert "is used by template 'page'" in kept.complaint
    assert "page is removed" in gone.out


def test_a_wrong_file_is_refused(tidings: Command) -> None:
    (tidings.directory / "footer.html").write_text("{% render 'nothing' %}")
    (tidings.directory / "footer.pdf").write_text("x")

    assert "there is no template 'nothing'" in tidings("templates", "apply", "footer.html").complaint
    assert "use one of" in tidings("templates", "apply", "footer.pdf").complaint
    assert "cannot be read" in tidings("templates", "apply", "absent.html").complaint
    assert "use one of partial, layout" in tidings("templates", "list", "--kind", "page").complaint


def test_senders(tidings: Command) -> None:
    made = tidings("senders", "add", "support", "--email", "support@example.com", "--default", "email", "--json").json
    changed = tidings("senders", "add", "support", "--display-name", "Acme", "--sms", "ACME", "--json").json
    shown = tidings("senders", "show", "support")
    listed = tidings("senders", "list")
    refused = tidings("senders", "add", "other", "--email", "x")
    gone = tidings("senders", "remove", "support", "--yes")

    assert changed["id"] == made["id"]
    assert (changed["displayName"], changed["email"], changed["defaultFor"]) == (
        "Acme",
        "support@example.com",
        ["email"],
    )
    assert "support@example.com" in shown.out
    assert "ACME" in listed.out
    assert "is not an e-mail address" in refused.complaint
    assert "support is removed" in gone.out
