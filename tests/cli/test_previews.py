"""`preview` on the command line, and the page that `--open` writes."""

import os
import re
from pathlib import Path

from tests.cli.conftest import Command
from tidings.cli.preview_page import page_of
from tidings.views.previews import Preview, SegmentCount

WORKFLOW = """
name: hello
entryNodeId: a
nodes:
  - id: a
    type: email
    to: "{{ email }}"
    subject: "Hi {{ name }}"
    html: "<p>Dear {{ name }}</p>"
edges: []
"""


def test_a_page_shows_each_message_and_runs_nothing_of_it() -> None:
    html = '<p onclick="x()">Hi</p><script>alert(1)</script><img src="cid:logo">"'
    mail = Preview(
        channel="email",
        part="<a>",
        recipients=["ada@example.com"],
        content={
            "subject": "<b>",
            "html": html,
            "body": "Text & more",
            "attachments": '[{"url": "https://x.example/l.png", "filename": "l.png", "contentId": "logo"}]',
        },
        problems=["{{ name }} is missing"],
        size=1234,
    )
    sms = Preview(
        channel="sms", content={"body": "Hi"}, segments=SegmentCount(encoding="gsm", units=2, segments=1), skipped="no"
    )

    page = page_of([mail, sms], "A </title> B")

    [frame] = re.findall(r'<iframe sandbox title="the message" srcdoc="([^"]*)"></iframe>', page)
    assert "&lt;script&gt;" in frame
    assert "https://x.example/l.png" in frame
    assert "<script>" not in page
    assert "A &lt;/title&gt; B" in page
    assert "<li>{{ name }} is missing</li>" in page
    assert "1 segment · 2 characters · gsm" in page
    assert "1,234 bytes" in page
    assert "not sent: no" in page
    assert "Text &amp; more" in page


def test_preview_prints_and_open_writes_a_page_for_its_writer_alone(tidings: Command, tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    file.write_text(WORKFLOW)
    tidings("workflows", "apply", str(file))

    data = '{"name": "Ada", "email": "ada@example.com"}'
    shown = tidings("workflows", "preview", "hello", "--node", "a", "--data", data, "--open", TMPDIR=str(tmp_path))
    lacking = tidings("workflows", "preview", "hello")

    assert shown.status == 0
    assert "to: ada@example.com" in shown.out
    assert "Dear Ada" in shown.out
    [page] = tmp_path.glob("tidings-preview-*.html")
    assert "Dear Ada" in page.read_text()
    assert os.stat(page).st_mode & 0o077 == 0
    assert str(page) in shown.err
    assert lacking.status == 1
    assert "{{ name }} is missing" in lacking.out
