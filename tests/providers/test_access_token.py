"""A token is fetched once for many callers, and anew shortly before it ends."""

import asyncio
from datetime import timedelta

from tidings.domain.flow.outcome import Outcome, Unavailable
from tidings.providers.access_token import AccessToken, TokenCache

HOUR = timedelta(hours=1)


class Counting:
    def __init__(self, *answers: AccessToken | Outcome) -> None:
        self.answers, self.asked, self.may_answer = list(answers), 0, asyncio.Event()
        self.may_answer.set()

    async def __call__(self) -> AccessToken | Outcome:
        self.asked += 1
        await self.may_answer.wait()
        return self.answers[min(self.asked, len(self.answers)) - 1]


async def test_a_token_is_used_until_shortly_before_its_end() -> None:
    now = [0.0]
    cache, fetch = TokenCache(lambda: now[0]), Counting(AccessToken("a", HOUR), AccessToken("b", HOUR))

    seen = []
    for second in (0, 3_299, 3_301):
        now[0] = second
        seen.append(await cache.get(fetch))

    assert [one.text for one in seen if isinstance(one, AccessToken)] == ["a", "a", "b"]


async def test_callers_who_come_while_it_is_fetched_share_the_answer_even_if_it_fails() -> None:
    fetch = Counting(Unavailable("down"), AccessToken("a", HOUR))
    fetch.may_answer.clear()
    cache = TokenCache()
    waiting = [asyncio.create_task(cache.get(fetch)) for _ in range(5)]
    await asyncio.sleep(0)

    fetch.may_answer.set()

    assert await asyncio.gather(*waiting) == [Unavailable("down")] * 5
    assert fetch.asked == 1
    assert isinstance(await cache.get(fetch), AccessToken)


async def test_a_caller_who_is_cancelled_takes_the_token_from_nobody() -> None:
    fetch = Counting(AccessToken("a", HOUR))
    fetch.may_answer.clear()
    cache = TokenCache()
    first, second = (asyncio.create_task(cache.get(fetch)) for _ in range(2))
    await asyncio.sleep(0)

    first.cancel()
    fetch.may_answer.set()

    assert await second == AccessToken("a", HOUR)
    assert fetch.asked == 1


def test_a_token_is_not_shown() -> None:
    assert "canary" not in repr(AccessToken("canary", HOUR))
