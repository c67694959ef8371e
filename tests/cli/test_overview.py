"""`tidings overview`: the numbers of now, for people and for scripts."""

from tests.cli.conftest import Command
from tests.cli.test_verify import WELCOME
from tidings.cli.overview import plot
from tidings.engine import Engine


async def test_it_shows_what_happens_just_now(tidings: Command, engine: Engine) -> None:
    await engine.define("welcome", WELCOME)
    await engine.trigger("welcome", {"email": "ann@example.com"}, "k1")
    await engine.work_everything()
    await engine.kernel.call_counts.write()

    shown, answer = tidings("overview"), tidings("overview", "--minutes", "1440", "--json")

    assert (shown.status, answer.status) == (0, 0)
    assert "sent today" in shown.out
    assert "no call has ended in these minutes" in shown.out  # by the test's clock it was long ago
    assert {"minutes", "lagSeconds", "queued", "sentToday", "failedToday", "resting", "waiting"} <= answer.json.keys()


def test_a_plot_is_as_high_as_its_largest_count() -> None:
    assert plot([0, 1, 4, 8]) == " ▁▄█"
    assert plot([]) == ""
