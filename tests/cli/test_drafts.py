"""`tidings workflows draft`, as a user runs it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_workflows import WELCOME


@pytest.fixture
def file(tidings: Command) -> Path:
    """A file with one workflow, of which something is wrong."""
    file = tidings.directory / "welcome.yaml"
    file.write_text(WELCOME.replace("PT1H", "soon"))
    return file


def test_a_draft_is_saved_whatever_is_wrong_mended_and_published(tidings: Command, file: Path) -> None:
    broken = tidings("workflows", "draft", "save", str(file))
    refused = tidings("workflows", "draft", "publish", "welcome")
    file.write_text(WELCOME)
    [mended] = tidings("workflows", "draft", "save", str(file), "--actor", "bob", "--json").json
    listed = tidings("workflows", "draft", "list", "--json").json
    published = tidings("workflows", "draft", "publish", "welcome")

    assert "welcome  draft never published · saved by cli" in broken.out
    assert "duration" in broken.out
    assert refused.status == 1
    assert (mended["valid"], mended["revision"], mended["savedBy"]) == (True, 2, "bob")
    assert [one["name"] for one in listed] == ["welcome"]
    assert "welcome is at version 1 (created)" in published.out
    assert "there is no draft" in tidings("workflows", "draft", "list").out


def test_what_somebody_published_since_is_not_overwritten(tidings: Command, file: Path) -> None:
    file.write_text(WELCOME)
    tidings("workflows", "apply", str(file))
    file.write_text(WELCOME.replace("PT1H", "PT3H"))
    tidings("workflows", "draft", "save", str(file))
    file.write_text(WELCOME.replace("PT1H", "PT2H"))
    tidings("workflows", "apply", str(file))

    shown = tidings("workflows", "draft", "show", "welcome")
    refused = tidings("workflows", "draft", "publish", "welcome")

    assert "version 2 was published since" in shown.out
    assert "version 2 of workflow 'welcome' was published after this draft" in refused.complaint


def test_a_draft_is_thrown_away_after_asking(tidings: Command, file: Path) -> None:
    tidings("workflows", "draft", "save", str(file))

    kept = tidings("workflows", "draft", "delete", "welcome", typed="n\n")
    gone = tidings("workflows", "draft", "delete", "welcome", "--yes")

    assert kept.status == 1
    assert "the draft of welcome is thrown away" in gone.out
    assert "'welcome' has no draft" in tidings("workflows", "draft", "show", "welcome").complaint
