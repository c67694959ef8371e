"""What only a person can know: found, looked at and ended, by the keyboard alone."""

from playwright.async_api import expect

from tests.web.people import HOME, PASSWORD, invite
from tests.web.scene import Scene
from tests.web.visitor import Visitor
from tidings.domain.roles import Role
from tidings.engine import Engine
from tidings.resources.outbox import OutboxFilter


async def test_doubt_is_ended_by_keyboard_with_what_proves_it(engine: Engine, ann: Visitor, scene: Scene) -> None:
    page = ann.page
    await ann.open("/", "Home")
    await page.keyboard.press("g")
    await page.keyboard.press("d")
    await expect(page.get_by_role("heading", level=1, name="In doubt")).to_be_visible()
    await expect(page.get_by_text("doubtful@example.com").first).to_be_visible()

    await page.keyboard.press("j")
    await expect(page.locator("[data-row='0']")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Resolve", exact=True)).to_be_visible()
    await page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox").fill("seen in the mailbox")
    await expect(dialog.get_by_text("1 message will be resolved.")).to_be_visible()
    await dialog.get_by_role("button", name="Resolve 1").press("Enter")

    await expect(page.get_by_text("doubtful@example.com")).to_have_count(0)
    assert (await engine.outbox.list(HOME, OutboxFilter(in_doubt=True))).items == []


async def test_a_reader_sees_doubt_and_is_offered_no_end_of_it(engine: Engine, stranger: Visitor, scene: Scene) -> None:
    await invite(engine, "rea@example.com", Role.READER)
    await stranger.sign_in("rea@example.com", PASSWORD)
    await stranger.open("/in-doubt", "In doubt")

    await expect(stranger.page.get_by_text("doubtful@example.com").first).to_be_visible()
    await expect(stranger.page.get_by_role("button", name="Resolve all")).to_have_count(0)
    sections = stranger.page.get_by_role("navigation").get_by_role("link")
    assert "People and keys" not in await sections.all_inner_texts()
