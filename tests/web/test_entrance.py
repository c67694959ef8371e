"""Coming in and going out."""

from playwright.async_api import Browser, expect

from tests.web.people import PASSWORD, by, invite
from tests.web.visitor import Visitor
from tidings.domain.roles import Role
from tidings.engine import Engine


async def test_a_one_time_link_lets_the_first_person_in_once(engine: Engine, browser: Browser, url: str) -> None:
    linked = await engine.users.first_link()
    assert linked
    async with Visitor.arriving(browser, url) as first:
        with first.refused("/v1/session"):
            await first.page.goto(f"/welcome#{linked.token}")
        await first.page.get_by_label("Name").fill("Olga")
        await first.page.get_by_label("Password").fill(PASSWORD)
        await first.page.get_by_role("button").last.click()
        await expect(first.page.get_by_role("heading", name="Home")).to_be_visible()

        assert linked.token not in first.page.url

    async with Visitor.arriving(browser, url) as second:
        second.expected += ["/v1/session"]
        await second.page.goto(f"/welcome#{linked.token}")
        await second.page.get_by_role("button").last.click()
        await expect(second.page.get_by_role("alert")).to_be_visible()


async def test_a_wrong_password_says_so_and_the_right_one_opens(engine: Engine, stranger: Visitor) -> None:
    await invite(engine, "ann@example.com", Role.SYSTEM_ADMIN)
    with stranger.refused("/v1/session"):
        await stranger.page.goto("/")
        await stranger.page.get_by_label("E-mail").fill("ann@example.com")
        await stranger.page.get_by_label("Password", exact=True).fill("not this one at all")
        await stranger.page.get_by_role("button", name="Sign in").click()
        await expect(stranger.page.get_by_role("alert")).to_be_visible()

    await stranger.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await stranger.page.keyboard.press("Enter")

    await expect(stranger.page.get_by_role("heading", name="Home")).to_be_visible()


async def test_the_session_lasts_through_a_reload_and_ends_when_the_person_is_signed_out(
    engine: Engine, stranger: Visitor
) -> None:
    id = await invite(engine, "ann@example.com", Role.SYSTEM_ADMIN)
    await stranger.sign_in("ann@example.com", PASSWORD)
    await stranger.page.reload()
    await expect(stranger.page.get_by_role("heading", name="Home")).to_be_visible()
    cookies = await stranger.page.context.cookies()
    assert [(one["name"], one["httpOnly"], one["sameSite"]) for one in cookies] == [("tidings_session", True, "Lax")]

    await engine.users.sign_out(by(), id)
    stranger.expected += ["/v1/"]
    await stranger.page.reload()

    await expect(stranger.page.get_by_role("button", name="Sign in")).to_be_visible()
