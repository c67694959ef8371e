import asyncpg

from tests.cli.conftest import Command
from tidings.engine import Engine

WELCOME = {
    "entryNodeId": "hello",
    "nodes": [{"id": "hello", "type": "email", "to": "{{ email }}", "subject": "Hi", "body": "Welcome"}],
    "edges": [],
}


async def test_a_clean_database_passes(tidings: Command, engine: Engine) -> None:
    await engine.define("welcome", WELCOME)
    await engine.trigger("welcome", {"email": "ann@example.com"}, "k1")
    await engine.work_everything()

    shown, answer = tidings("verify"), tidings("verify", "--json")

    assert (shown.status, answer.status) == (0, 0)
    assert "every promise holds" in shown.out
    assert answer.json["holds"] is True
    assert all(check["offences"] == [] for check in answer.json["checks"])


async def test_a_broken_row_is_named_and_the_exit_status_says_so(
    tidings: Command, engine: Engine, sql: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await engine.define("welcome", WELCOME)
    lost = await engine.trigger("welcome", {"email": "ann@example.com"}, "k1")
    await sql.execute("delete from queue where id = $1", lost.id)

    shown, answer = tidings("verify"), tidings("verify", "--json")

    assert (shown.status, answer.status) == (1, 1)
    assert f"lost executions: {lost.id}" in shown.out
    assert "1 rows break a promise" in shown.out
    broken = [check for check in answer.json["checks"] if check["offences"]]
    assert [(check["name"], check["offences"][0]["id"]) for check in broken] == [("lost executions", str(lost.id))]
