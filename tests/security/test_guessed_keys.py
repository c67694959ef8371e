"""Wrong keys, one or a flood: limited by address, logged, counted, cheap; and a right key always works."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import ANY

import httpx2
import pytest
from structlog.testing import capture_logs

from tests.http.conftest import HOME, caller, listening
from tidings.config import Config
from tidings.domain.errors import StorageUnavailable
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.http import guesses, tries
from tidings.http.app import create_app
from tidings.http.guesses import REFUSAL, WRONG_AT_ONCE, Guesses, address_of
from tidings.resources import access
from tidings.storage import access as statements

WORKFLOWS = "/v1/workflows"
ENQUEUE = "/functions/v1/workflow-enqueue"


@dataclass
class Caller:
    """Somebody at an address."""

    http: httpx2.AsyncClient

    async def ask(self, secret: str, path: str = WORKFLOWS) -> httpx2.Response:
        return await self.http.get(path, headers={"Authorization": f"Bearer {secret}"})

    async def guess(self, count: int) -> list[int]:
        return [(await self.ask(f"tid_guess-{number}")).status_code for number in range(count)]


@asynccontextmanager
async def at(engine: Engine, *addresses: str) -> AsyncIterator[list[Caller]]:
    """The same server, met from several addresses."""
    app = create_app(engine, Config(rate_limit=0))
    clients = [
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app, client=(one, 1)), base_url="http://tidings")
        for one in addresses
    ]
    try:
        yield [Caller(one) for one in clients]
    finally:
        for one in clients:
            await one.aclose()


def count(monkeypatch: pytest.MonkeyPatch, *names: str) -> Counter[str]:
    """How often each of these statements is run from now on."""
    asked: Counter[str] = Counter()

    def counting(name: str, ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        def run(*given: Any, **named: Any) -> Awaitable[Any]:
            asked[name] += 1
            return ask(*given, **named)

        return run

    for name in names:
        monkeypatch.setattr(statements, name, counting(name, getattr(statements, name)))
    return asked


async def make_key(engine: Engine, role: Role = Role.SYSTEM_ADMIN) -> str:
    return (await engine.access.create_key(caller(HOME), "office", role)).secret


async def test_an_address_with_many_wrong_keys_is_told_to_wait_and_others_are_not(engine: Engine) -> None:
    async with at(engine, "192.0.2.1", "192.0.2.2") as (guesser, other):
        answers = await guesser.guess(WRONG_AT_ONCE + 10)
        refused = await guesser.ask("tid_one-more")
        elsewhere = await other.ask("tid_another")

    assert answers == [401] * WRONG_AT_ONCE + [429] * 10
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
    assert 1 <= int(refused.headers["retry-after"]) <= 3
    assert "tid_one-more" not in refused.text
    assert elsewhere.status_code == 401


async def test_a_right_key_works_from_the_address_of_a_guesser(engine: Engine) -> None:
    secret = await make_key(engine)
    fresh = Engine(engine.kernel)  # a process that has never seen the key
    async with at(fresh, "192.0.2.1") as [office]:
        await office.guess(WRONG_AT_ONCE + 10)
        right = await office.ask(secret)
        wrong = await office.ask("tid_wrong")
        new = await office.ask(await make_key(fresh))
        again = await office.ask(secret)

    assert [one.status_code for one in (right, wrong, new, again)] == [200, 429, 200, 200]


async def test_a_flood_of_wrong_keys_asks_the_database_next_to_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = count(monkeypatch, "find_key", "list_live_hashes")
    async with at(engine, "192.0.2.1") as [guesser]:
        await asyncio.gather(*(guesser.ask(f"tid_guess-{number}") for number in range(500)))

    assert WRONG_AT_ONCE <= asked["find_key"] <= WRONG_AT_ONCE + 5
    assert 1 <= asked["list_live_hashes"] <= 3


async def test_a_flood_from_very_many_addresses_asks_it_as_little(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesses, "ALL_WRONG_AT_ONCE", 50)
    monkeypatch.setattr(guesses, "ALL_WRONG_PER_SECOND", 0.0)
    secret = await make_key(engine)
    asked = count(monkeypatch, "find_key")
    async with at(Engine(engine.kernel), *(f"2001:db8:0:{n:x}::1" for n in range(200)), "192.0.2.1") as everybody:
        *guessers, office = everybody
        answers = [status for one in guessers for status in await one.guess(1)]
        right = await office.ask(secret)

    assert (answers.count(401), answers.count(429)) == (50, 150)
    assert asked["find_key"] == 51
    assert right.status_code == 200


async def test_the_endpoint_of_existing_front_ends_is_no_way_around(engine: Engine) -> None:
    secret = await make_key(engine)
    body = {"action": "status", "payload": {"execution_id": "x"}}
    async with at(Engine(engine.kernel), "192.0.2.1") as [guesser]:
        answers = [
            (await guesser.http.post(ENQUEUE, json=body, headers={"apikey": f"g-{number}"})).status_code
            for number in range(WRONG_AT_ONCE + 5)
        ]
        either = await guesser.http.post(
            ENQUEUE, json=body, headers={"apikey": "wrong", "Authorization": f"Bearer {secret}"}
        )

    assert answers == [401] * WRONG_AT_ONCE + [429] * 5
    assert (either.status_code, either.json()["error"]) == (400, "Execution not found: x")


async def test_health_is_answered_to_a_guesser_and_tells_nothing_and_counts(engine: Engine) -> None:
    async with at(engine, "192.0.2.1") as [guesser]:
        told = [await guesser.ask(f"tid_{number}", "/v1/health") for number in range(WRONG_AT_ONCE + 5)]
        limited = await guesser.ask("tid_wrong")

    assert {(one.status_code, one.json()["version"]) for one in told} == {(200, None)}
    assert limited.status_code == 429


async def test_failures_are_counted_for_the_operator_and_logged_now_and_then_without_the_key(engine: Engine) -> None:
    secret = await make_key(engine, Role.OPERATOR)
    with capture_logs() as lines:
        async with at(engine, "192.0.2.1") as [guesser]:
            await guesser.guess(WRONG_AT_ONCE + 10)
            metrics = (await guesser.ask(secret, "/metrics")).text

    assert f"tidings_failed_authentications_total {WRONG_AT_ONCE + 10:.1f}" in metrics
    told = [line for line in lines if line["event"] == "authentication_failed"]
    [first, *rest] = [(line["log_level"], line["address"], line["failures"], line["limited"]) for line in told]
    assert first == ("warning", "192.0.2.1", 1, False)
    assert len(rest) <= 1  # on a slow machine a second has passed, and it is also told of the limit
    assert "tid_guess" not in str(lines)


async def test_a_request_without_a_key_is_no_failure(engine: Engine) -> None:
    async with at(engine, "192.0.2.1") as [somebody]:
        answers = {(await somebody.http.get(WORKFLOWS)).status_code for _ in range(WRONG_AT_ONCE + 5)}

    assert answers == {401}


async def test_on_a_real_server_a_proxy_s_right_keys_work_beside_a_flood(engine: Engine) -> None:
    secret = await make_key(engine)
    async with listening(engine, Config(rate_limit=0)) as url, httpx2.AsyncClient(base_url=url) as http:
        office = Caller(http)
        answers = await asyncio.gather(
            *(office.ask(f"tid_guess-{number}") for number in range(100)), *(office.ask(secret) for _ in range(20))
        )

    statuses = [one.status_code for one in answers]
    assert set(statuses[:100]) == {401, 429}
    assert set(statuses[100:]) == {200}


# The tries themselves


@dataclass
class Keys:
    """Knows one key, and counts how often it was asked."""

    asked: list[str] = field(default_factory=list)
    is_away: bool = False

    def recall(self, _: str) -> None:
        return None

    async def authenticate(self, secret: str) -> Any:
        self.asked.append(secret)
        if self.is_away:
            raise StorageUnavailable("away")
        return "identity" if secret == "right" else None

    async def may_be_live(self, secret: str) -> bool:
        return secret == "right"


class Stage:
    """Tries under a clock of the test's own."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.access = Keys()
        self.failures = 0
        self.guesses = Guesses(self, self._fail, lambda: self.now)  # type: ignore[arg-type]

    def _fail(self) -> None:
        self.failures += 1

    async def come(self, address: str, secret: str = "wrong") -> bool:
        """Whether the database was asked."""
        scope, before = {"client": (address, 1)}, len(self.access.asked)
        await self.guesses.identify(scope, secret)
        assert (REFUSAL in scope) is (len(self.access.asked) == before)
        return len(self.access.asked) > before


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_tries_come_back_with_time(stage: Stage) -> None:
    at_once = sum([await stage.come("192.0.2.1") for _ in range(50)])
    stage.now += 30
    later = sum([await stage.come("192.0.2.1") for _ in range(50)])

    assert (at_once, later, stage.failures) == (WRONG_AT_ONCE, 10, 100)


async def test_right_keys_and_an_absent_database_use_up_no_tries(stage: Stage) -> None:
    for _ in range(50):
        assert await stage.come("192.0.2.1", "right")
    stage.access.is_away = True
    for _ in range(50):
        with pytest.raises(StorageUnavailable):
            await stage.come("192.0.2.1")
    stage.access.is_away = False

    assert await stage.come("192.0.2.1")
    assert stage.failures == 1


async def test_one_ipv6_network_is_one_address_and_a_mapped_ipv4_is_itself(stage: Stage) -> None:
    for number in range(WRONG_AT_ONCE):
        await stage.come(f"2001:db8:1:2::{number:x}")

    assert not await stage.come("2001:db8:1:2:ffff::1")
    assert await stage.come("2001:db8:1:3::1")
    assert address_of({"client": ("::ffff:192.0.2.1", 1)}) == address_of({"client": ("192.0.2.1", 2)}) == "192.0.2.1"
    assert {address_of(scope) for scope in ({}, {"client": None}, {"client": ("", 0)}, {"client": ("unix", 0)})} == {
        "unknown"
    }


async def test_memory_is_bounded_however_many_addresses_come(stage: Stage) -> None:
    for number in range(tries.MOST_NAMES + 1_000):
        stage.now += 1
        await stage.come(f"2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::1")

    assert len(stage.guesses._addresses._names) == tries.MOST_NAMES


async def test_a_line_in_a_minute_for_an_address_and_in_a_second_for_all(stage: Stage) -> None:
    with capture_logs() as lines:
        for second in range(120):
            stage.now += 1
            for address in ("192.0.2.1", "192.0.2.2"):
                await stage.come(address)
                await stage.come(address, f"wrong-{second}")

    of_one = [(line["failures"], line["limited"]) for line in lines if line["address"] == "192.0.2.1"]
    assert of_one == [(1, False), (ANY, True), (120, True)]
    assert len(lines) == 6


async def test_the_list_of_live_keys_holds_neither_revoked_nor_expired_ones(engine: Engine) -> None:
    kept, gone = await make_key(engine), await engine.access.create_key(caller(HOME), "gone", Role.SYSTEM_ADMIN)
    await engine.access.revoke_key(caller(HOME), gone.id)
    fresh = access.Access(engine.kernel)

    assert await fresh.may_be_live(kept)
    assert not await fresh.may_be_live(gone.secret)
    assert not await fresh.may_be_live("tid_nobody")
