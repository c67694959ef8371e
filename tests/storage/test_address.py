"""The database's address: a malformed one is refused without a word of it, a good one is shown without its password."""

import pytest

from tidings.domain.errors import ConfigInvalid
from tidings.storage.address import checked_address, without_password
from tidings.storage.database import Database

SECRET = "hunter2"
BEGIN = "does not begin with postgresql://"
PORT = "has a port that is not a number from 1 to 65535"
HOST = "has a host that cannot be read"
CONTROL = "has a line break or another control character"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (SECRET, BEGIN),
        ("", BEGIN),
        (f"ann:{SECRET}@host/db", BEGIN),
        (f"://ann:{SECRET}@host/db", BEGIN),
        (f"postgresql:/ann:{SECRET}@host/db", BEGIN),  # the driver would connect to this machine instead
        (f"postgresql:ann:{SECRET}@host/db", BEGIN),
        (f"postgresql//ann:{SECRET}@host/db", BEGIN),
        (f"postgresql+asyncpg://ann:{SECRET}@host/db", BEGIN),
        (f"jdbc:postgresql://host/db?user=ann&password={SECRET}", BEGIN),
        (f"'postgresql://ann:{SECRET}@host/db'", BEGIN),
        (f'"postgresql://ann:{SECRET}@host/db"', BEGIN),
        (f"DATABASE_URL=postgresql://ann:{SECRET}@host/db", BEGIN),
        (f"host=localhost password={SECRET}", BEGIN),
        (f"password: {SECRET}", BEGIN),
        (f"postgresql://ann:{SECRET}", PORT),
        (f"postgresql://ann:{SECRET}/db", PORT),
        (f"postgresql://ann:{SECRET}@host:port/db", PORT),
        (f"postgresql://ann:{SECRET}@host:0/db", PORT),
        (f"postgresql://ann:{SECRET}@host:99999/db", PORT),
        (f"postgresql://ann:{SECRET}@host:/db", PORT),
        (f"postgresql://ann:{SECRET}@host:1,host:x/db", PORT),
        (f"postgresql://ann:{SECRET}@host:1 /db", PORT),
        (f"postgresql://ann:{SECRET}@host:1:1/db", HOST),
        (f"postgresql://ann:{SECRET}@::1/db", HOST),
        (f"postgresql://ann:{SECRET}@[::1/db", HOST),
        (f"postgresql://ann:{SECRET}＠host/db", HOST),
        (f"postgresql://ann:{SECRET}@,/db", "has a comma without a host beside it"),
        (f"postgresql://ann:a@{SECRET}@host/db", "has more than one @"),
        (f"postgresql://ann:12/{SECRET}@host/db", "has an @ after its first /"),
        (f"postgresql://ann:12#{SECRET}@host/db", "has a # in it"),
        (f"postgresql://ann:12?{SECRET}@host/db", "has an option without ="),
        (f"postgresql://host/db?{SECRET}", "has an option without ="),
        (f"postgresql://ann:{SECRET}\n@host/db", CONTROL),
        (f"postgresql://ann:\x00{SECRET}@host/db", CONTROL),
    ],
)
def test_a_malformed_address_is_refused_with_what_is_wrong_and_without_a_word_of_it(given: str, problem: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        checked_address(given)

    message = str(refused.value)
    assert message.startswith(f"DATABASE_URL {problem}")
    assert "write it like postgresql://user:password@host:5432/database" in message
    assert SECRET not in message
    assert "\n" not in message
    assert refused.value.__context__ is None  # what was raised on the way quotes it, and a traceback would show that


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://ann:{SECRET}@..invalid/db",
        f"postgresql://ann:{SECRET}@{'a' * 300}/db",
    ],
)
async def test_what_only_the_driver_cannot_read_is_refused_in_the_same_way(given: str) -> None:
    with pytest.raises(ConfigInvalid, match="DATABASE_URL cannot be read; write it like ") as refused:
        await Database.open(given)

    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (f"postgresql://ann:{SECRET}@host:5432/db", "postgresql://ann@host:5432/db"),
        (f"\n postgres://ann:{SECRET}@host/db \n", "postgres://ann@host/db"),
        (f"postgresql://ann%3A{SECRET}@host/db", "postgresql://ann@host/db"),
        (f"postgresql://ann:%2F{SECRET}%40@[::1]:5432/db", "postgresql://ann@[::1]:5432/db"),
        (f"postgresql://ann:{SECRET}@one:1,two:2/db", "postgresql://ann@one:1,two:2/db"),
        (f"postgresql:///db?host=/run/pg&user=ann&password={SECRET}", "postgresql:///db?host=/run/pg&user=ann"),
        (f"postgresql://host/db?pass%77ord={SECRET}&sslmode=require", "postgresql://host/db?sslmode=require"),
        (f"postgresql://host/db?sslpassword={SECRET}", "postgresql://host/db"),
        ("postgresql://%2Frun%2Fpg/db", "postgresql://%2Frun%2Fpg/db"),
        ("postgresql://", "postgresql://"),
    ],
)
def test_an_address_is_shown_without_its_password(given: str, shown: str) -> None:
    assert without_password(checked_address(given)) == shown


def test_white_space_around_an_address_is_no_part_of_it() -> None:
    assert checked_address(" postgresql://host/db\n") == "postgresql://host/db"
