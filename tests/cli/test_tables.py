"""Tables as people see them: whole words, or each row field by field."""

import pytest
from rich.console import Console

from tidings.cli import output
from tidings.cli import screen as drawn

ID = "01a1ed79-6bd3-742a-9dea-85ae5d51fd9c"
RUN = {"id": ID, "campaign": "Spring news", "status": "completed, printed, not sent", "skipped": None}


@pytest.fixture
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Console:
    console = Console(width=request.param, record=True)
    monkeypatch.setattr(drawn, "console", console)
    return console


@pytest.mark.parametrize("screen", [80], indirect=True)
def test_a_table_breaks_lines_between_words(screen: Console) -> None:
    output.print_table("runs", [RUN], empty="there is no run")

    text = screen.export_text()
    assert f"│ {ID} │ Spring news │ completed, printed, not │" in text
    assert "skipped" not in text


@pytest.mark.parametrize("screen", [60], indirect=True)
def test_a_table_that_would_break_words_is_printed_field_by_field(screen: Console) -> None:
    output.print_table("runs", [RUN, RUN | {"skipped": drawn.lines_cell("one\ntwo")}], empty="there is no run")

    record = f"\nid:       {ID}\ncampaign: Spring news\nstatus:   completed, printed, not sent\nskipped:  "
    assert screen.export_text() == f"runs\n{record}\n{record}one\n          two\n"
