"""How long texts are, and what is made of HTML: against the documents that say so."""

import pytest

from tidings.domain.channels import NETWORKS
from tidings.domain.content.finish import Unfinished, finish_email, needs_finishing
from tidings.domain.content.post_length import count_graphemes, longest_post, post_length, problem_of_post
from tidings.domain.content.segments import Segments, count_segments
from tidings.domain.content.text_of_html import text_of_html


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Segments("gsm", 0, 1)),
        ("a" * 160, Segments("gsm", 160, 1)),
        ("a" * 161, Segments("gsm", 161, 2)),
        ("a" * 306, Segments("gsm", 306, 2)),
        ("a" * 307, Segments("gsm", 307, 3)),
        ("€" * 80, Segments("gsm", 160, 1)),
        ("€" * 81, Segments("gsm", 162, 2)),
        ("a" * 152 + "€" + "a" * 152, Segments("gsm", 306, 3)),  # the euro is not divided between two parts
        ("é" * 160, Segments("gsm", 160, 1)),
        ("ç" * 70, Segments("ucs2", 70, 1)),
        ("ç" * 71, Segments("ucs2", 71, 2)),
        ("😀" * 35, Segments("ucs2", 70, 1)),
        ("😀" * 36, Segments("ucs2", 72, 2)),
        ("a" * 66 + "😀" + "a" * 66, Segments("ucs2", 134, 3)),
        ("[ok]~^{}\\|\n\r", Segments("gsm", 20, 1)),
        ("`", Segments("ucs2", 1, 1)),
    ],
)
def test_segments_are_counted_as_gsm_03_38_says(text: str, expected: Segments) -> None:
    assert count_segments(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [("abc", 3), ("e\u0301", 1), ("👩‍👩‍👧", 1), ("🇩🇪🇫🇷", 2), ("👍🏽", 1), ("\u1112\u1161\u11ab", 1), ("한", 1)],
)
def test_graphemes_are_what_a_person_sees(text: str, count: int) -> None:
    assert count_graphemes(text) == count


def test_each_network_counts_in_its_own_way() -> None:
    link = "https://example.com/" + "x" * 100

    assert post_length("mastodon", f"see {link}") == 4 + 23
    assert post_length("x", f"see {link}") == 4 + 23
    assert post_length("x", "日本") == 4
    assert post_length("bluesky", "👩‍👩‍👧" * 300) == 300
    assert problem_of_post("bluesky", "👩‍👩‍👧" * 301)
    assert problem_of_post("mastodon", "x" * 501)
    assert problem_of_post("mastodon", "x" * 501, most=1_000) is None
    assert problem_of_post("unheard of", "x" * 100_000) is None
    assert all(longest_post(network) for network in NETWORKS)


def test_text_is_what_a_person_would_type() -> None:
    html = """<html><head><title>No</title><style>p{}</style></head><body>
      <div style="display:none">Preheader<br></div><!-- no -->
      <h1>Hello&nbsp;Ada</h1><p>Good   <b>day</b>.<br>See <a href="https://x.example/a?b=1&amp;c=2">the offer</a>,
      or <a href="https://x.example">https://x.example</a>.</p>
      <ul><li>one</li><li>two</li></ul><hr>
      <table><tr><td>Sum</td><td>3 €</td></tr></table><img src="cid:x" alt="Logo"><script>no()</script>
      <a href="mailto:a@example.com">write</a></body></html>"""

    assert text_of_html(html) == (
        "Hello Ada\n\nGood day.\nSee the offer (https://x.example/a?b=1&c=2), or https://x.example.\n\n"
        "- one\n- two\n\n---\n\nSum 3 €\nLogo write (a@example.com)"
    )


@pytest.mark.parametrize("html", ["", "<", "<<<>>>", "</p></p>", "<a><a><a>", "<style>p", "&#0;&#99999999;", "</div>x"])
def test_broken_html_still_makes_a_text(html: str) -> None:
    assert isinstance(text_of_html(html), str)


def test_styles_go_where_they_are_meant_and_what_depends_on_the_screen_stays() -> None:
    css = "<style>.a{color:red} @media (max-width:9px){.a{color:blue}}</style>"

    made = finish_email({"subject": "S", "html": f'{css}<p class="a">Hi</p>'})

    assert '<p class="a" style="color: red;">Hi</p>' in made["html"]
    assert "@media (max-width:9px)" in made["html"]
    assert made["body"] == "Hi"


def test_a_preheader_stands_hidden_before_everything_else() -> None:
    made = finish_email({"html": "<html><body class='x'><p>Hi</p></body></html>", "preheader": " 5 < 6 ", "body": "B"})

    assert "<body class='x'><div style=\"display:none" in made["html"]
    assert "5 &lt; 6" in made["html"]
    assert made["body"] == "B"
    assert "preheader" not in made


def test_a_given_text_part_stays() -> None:
    assert finish_email({"html": "<p>Hi</p>", "body": "Own"}) == {"html": "<p>Hi</p>", "body": "Own"}


def test_mjml_becomes_html_and_what_is_none_is_said() -> None:
    source = "<mjml><mj-body><mj-section><mj-column><mj-text>Hi Ada</mj-text></mj-column></mj-section></mj-body></mjml>"

    made = finish_email({"subject": "S", "mjml": source})

    assert made["html"].startswith("<!DOCTYPE html>")
    assert made["body"] == "Hi Ada"
    assert "mjml" not in made
    with pytest.raises(Unfinished, match="mjml: "):
        finish_email({"mjml": "<mjml><mj-body>"})


def test_a_file_is_never_read_into_a_page() -> None:
    for include in ("/etc/passwd", "file:///etc/passwd"):
        with pytest.raises(Unfinished):
            finish_email({"mjml": f"<mjml><mj-body><mj-include path='{include}'/></mj-body></mjml>"})
    made = finish_email({"html": '<style>p{}</style><link rel="stylesheet" href="file:///etc/passwd"><p>x</p>'})
    assert "root:" not in made["html"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"body": "B"}, False),
        ({"body": "B", "html": "<p>"}, False),
        ({"html": "<p>"}, True),
        ({"body": "B", "html": "<STYLE >"}, True),
        ({"body": "B", "mjml": "<mjml>"}, True),
        ({"body": "B", "preheader": "x"}, True),
    ],
)
def test_only_what_needs_it_is_finished(content: dict[str, object], expected: bool) -> None:
    assert needs_finishing(content) is expected
